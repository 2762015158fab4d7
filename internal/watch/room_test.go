package watch_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
)

// Once nobody looks, and no watch is left, nothing is kept for the many that were
// followed before.
func TestNobodyLooksAndNoRoomIsKept(t *testing.T) {
	bubble(t, func(w *world) {
		var cancels []context.CancelFunc
		before := w.Heap()
		for i := range 50_000 {
			ctx, cancel := context.WithCancel(bg)
			w.c.Kit().WatchUntilDeleted(ctx, fmt.Sprintf("/a%d", i)) // which leaves no watch
			cancels = append(cancels, cancel)
		}
		for _, cancel := range cancels {
			synctest.Wait() // goroutines leave room behind, too: so one at a time
			cancel()
		}
		cancels = nil
		w.Forget() // the requests
		if after := w.Heap(); after > before+3_000_000 {
			t.Errorf("heap grew from %d to %d bytes", before, after)
		}
	})
}
