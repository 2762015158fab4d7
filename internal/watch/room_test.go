package watch_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
)

// Once nobody looks, and no watch is left, nothing is kept for the many that were
// followed before.
func TestNobodyLooksAndNoRoomIsKept(t *testing.T) {
	bubble(t, func(w *world) {
		var cancels []context.CancelFunc
		before := w.Heap()
		for i := range 15_000 {
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
		if after := w.Heap(); after > before+1_000_000 {
			t.Errorf("heap grew from %d to %d bytes", before, after)
		}
	})
}

// While there is no connection, nothing is kept of what was followed in the meantime and
// is not followed any more, whether that was one znode or many.
func TestNothingIsKeptDuringASuspension(t *testing.T) {
	for name, path := range map[string]func(i int) string{
		"one znode":   func(int) string { return "/a" },
		"many znodes": func(i int) string { return fmt.Sprintf("/%s%d", strings.Repeat("a", 300), i) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.line.Cut()
				w.Await(w.c, coord.Suspended)
				before := w.Heap()
				for i := range 10_000 {
					ctx, cancel := context.WithCancel(bg)
					w.c.Watch(ctx, path(i), event.Data)
					cancel()
					if i%10 == 0 {
						synctest.Wait()
					}
				}
				if after := w.Heap(); after > before+400_000 {
					t.Errorf("heap grew from %d to %d bytes", before, after)
				}
			})
		})
	}
}
