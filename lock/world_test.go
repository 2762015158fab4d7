package lock_test

import (
	"context"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/locktest"
	"github.com/zkcoord/zkcoord/lock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(locktest.Main(m)) }

const T = locktest.T

var bg = context.Background()

var mutex = locktest.Subject{
	Name: "mutex",
	Acquire: func(ctx context.Context, c *coord.Client, dir string) *coord.Hold {
		return lock.New(c, dir).Acquire(ctx)
	},
	Try: func(ctx context.Context, c *coord.Client, dir string) *coord.Hold {
		return lock.New(c, dir).TryAcquire(ctx)
	},
	Bind: func(c *coord.Client, dir string) func(context.Context) *coord.Hold {
		return lock.New(c, dir).Acquire
	},
}

var unqueued = locktest.Subject{
	Name: "unqueued",
	Acquire: func(ctx context.Context, c *coord.Client, path string) *coord.Hold {
		return lock.NewUnqueued(c, path).Acquire(ctx)
	},
	Try: func(ctx context.Context, c *coord.Client, path string) *coord.Hold {
		return lock.NewUnqueued(c, path).TryAcquire(ctx)
	},
}

// A place is a world with one lock of this package, at w.Dir.
type place struct{ *locktest.World }

// A scenario says in its name what is guaranteed, and which requirements that
// answers.
type scenario struct {
	name string
	run  func(w place)
}

// inBoth runs what is in table for s, in both worlds, and then left, which checks that
// nothing is.
func inBoth(t *testing.T, s locktest.Subject, table []scenario, left func(place)) {
	harness.Both(t, func(t *testing.T, in harness.Maker) {
		for _, sc := range table {
			t.Run(sc.name, func(t *testing.T) {
				in(t, func(w *harness.World) {
					p := place{locktest.In(w, s)}
					sc.run(p)
					if !w.Failed() {
						left(p)
					}
				})
			})
		}
	})
}

// nothingLeft is what a Mutex leaves.
func nothingLeft(w place) {
	w.Helper()
	w.NothingLeft()
}

// clean waits until there is nothing of an Unqueued but its directory. One watch a
// client may stay behind until the lock is next had.
func clean(w place) {
	w.Helper()
	w.Eventually("znodes gone", func() bool { return !w.Exists(w.Dir) && len(w.guards()) == 0 })
	looks := 0
	w.Eventually("no watch left", func() bool {
		if looks++; looks%20 == 0 {
			h := w.Held(w.Client(T))
			w.Must(h.Release(bg))
		}
		return w.Watches() == 0
	})
}

// guards returns the names in the directory beside an Unqueued's path.
func (w place) guards() []string {
	w.Helper()
	return w.World.World.Children(w.Dir + "-guard")
}

// waits starts to acquire the lock for c, and returns when the server has n
// watches.
func (w place) waits(ctx context.Context, c *locktest.Client, n int) *coord.Hold {
	w.Helper()
	h := w.Acquire(ctx, c.Client, w.Dir)
	w.Eventually(fmt.Sprintf("%d watches", n), func() bool { return w.Watches() == n })
	return h
}

// write makes a guarded write with c.
func (w place) write(c *locktest.Client, h *coord.Hold) error {
	_, err := c.Txn(bg, h.Guard(), coord.OpSet("/", nil, -1))
	return err
}
