package semaphore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/locktest"
	"github.com/zkcoord/zkcoord/lock/semaphore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(locktest.Main(m)) }

const T = harness.T

var bg = context.Background()

// A place is a world with one semaphore, at w.Dir.
type place struct{ *harness.World }

// A scenario says in its name what is guaranteed.
type scenario struct {
	name string
	run  func(w place)
}

// inBoth runs what is in table, in both worlds. Nothing may be left after each.
func inBoth(t *testing.T, table []scenario) {
	harness.Both(t, func(t *testing.T, in harness.Maker) {
		for _, sc := range table {
			t.Run(sc.name, func(t *testing.T) {
				in(t, func(w *harness.World) {
					p := place{w}
					sc.run(p)
					if !w.Failed() {
						p.nothingLeft()
					}
				})
			})
		}
	})
}

func (w place) leases() []string { w.Helper(); return w.Children(w.Dir + "/leases") }
func (w place) queue() []string  { w.Helper(); return w.Children(w.Dir + "/locks") }

// nothingLeft waits until nobody is in the queue or has a lease, and no watch is armed.
func (w place) nothingLeft() {
	w.Helper()
	w.Eventually("no lease", func() bool { return len(w.leases()) == 0 })
	w.Eventually("nobody in the queue", func() bool { return len(w.queue()) == 0 })
	w.Eventually("no watch left", func() bool { return w.Watches() == 0 })
}

// sem returns the semaphore with n permits for c.
func (w place) sem(c *harness.Client, n int) *semaphore.Semaphore {
	return semaphore.New(c.Client, w.Dir, n)
}

// grant waits until h is held.
func (w place) grant(h *coord.Hold) *coord.Hold {
	w.Helper()
	if err := w.outcome(h); err != nil {
		w.Fatalf("not acquired: %v\n%s", err, w.Tree())
	}
	return h
}

// outcome waits until h is held or over, and returns its Err.
func (w place) outcome(h *coord.Hold) error {
	w.Helper()
	known := make(chan struct{})
	var err error
	go func() {
		defer close(known)
		err = h.Wait()
	}()
	w.Wait("end of the wait", known)
	return err
}

// held acquires one of n permits for c, and waits until it has left the gate.
func (w place) held(c *harness.Client, n int) *coord.Hold {
	w.Helper()
	before := len(w.queue())
	h := w.grant(w.sem(c, n).Acquire(bg))
	w.Eventually("the gate is left", func() bool { return len(w.queue()) <= before })
	return h
}

// waits begins to acquire one of n permits for c, and returns when it is the k-th in the
// queue and, in a bubble, follows what it waits for.
func (w place) waits(ctx context.Context, c *harness.Client, n, k int) *coord.Hold {
	w.Helper()
	h := w.sem(c, n).Acquire(ctx)
	w.Eventually(fmt.Sprintf("%d in the queue", k), func() bool { return len(w.queue()) == k })
	w.Rest()
	return h
}

// rest lets time pass, in which something could happen that should not.
func (w place) rest(d time.Duration) { <-time.After(d) }
