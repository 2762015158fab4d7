package semaphore_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock/semaphore"
)

// A contender comes to the gate, reads the number of permits, and loses the answer to its
// question for the leases. Before it asks again the number becomes another one. It is told,
// though nothing changes any more behind the leases that it then sees.
func TestResizeBetweenTheReadsAtTheGate(t *testing.T) {
	harness.Bubble(t, func(hw *harness.World) {
		w := place{hw}
		w.held(w.Operator(), 2)
		w.held(w.Operator(), 2)
		c := w.Client(T)
		var number, resized atomic.Bool
		c.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			switch {
			case f.Dir != coordtest.ToClient || resized.Load():
			case f.Op == "connect":
				number.Store(false)
			case f.Op == "getData" && f.Path == w.Dir:
				number.Store(true)
			case f.Op == "getChildren2" && strings.HasSuffix(f.Path, "/leases"):
				if number.Load() {
					w.Must(w.sem(w.Operator(), 2).Resize(bg, 3))
					resized.Store(true)
				}
				return coordtest.HangUp // and both are asked for again, unless the number was read
			}
			return coordtest.Pass
		})
		w.Wants(w.outcome(w.sem(c, 2).Acquire(bg)), semaphore.ErrPermits)
		if !resized.Load() {
			w.Error("the number was never read first")
		}
	})
}
