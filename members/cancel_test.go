package members_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/members"
)

// R29: a member that leaves right after joining leaves nothing, at whatever moment that
// hits the request that makes the znode.
func TestCancelAtOnce(t *testing.T) {
	rounds := harness.Times(1000, 5000)
	bubble(t, func(w *place) {
		c := w.client(term)
		g := members.New(c, dir)
		w.Must(w.join(c, "first", "").Release(bg)) // so that there is the directory
		for n := range rounds {
			ctx, cancel := context.WithCancel(bg)
			h := g.Join(ctx, members.Member{ID: "self"})
			go func() {
				for range n % 7 {
					runtime.Gosched()
				}
				if n%2 == 0 {
					cancel()
				} else {
					_ = h.Release(bg)
				}
			}()
			if n%2 == 0 {
				_ = h.Wait()
				w.Must(h.Release(bg))
			}
			w.Wait("done", h.Done())
			cancel()
			if err := h.Err(); !errors.Is(err, coord.ErrReleased) && !errors.Is(err, context.Canceled) {
				w.Fatalf("round %d ended with %v", n, err)
			}
			if w.owner("self") != 0 || len(w.guards()) > 0 {
				w.Fatalf("round %d left its znodes\n%s", n, w.Tree())
			}
		}
	})
}
