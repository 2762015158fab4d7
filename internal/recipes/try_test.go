package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/rwlock"
)

// tries are all ways to try, each with what keeps it out, what waits for that, and the
// request that removes what is left of them.
var tries = []struct {
	name                 string
	try, blocker, waiter seeker
	removal              string
}{
	{"Mutex.TryAcquire", func(ctx context.Context, c *coord.Client, path string) held {
		return hold{lock.New(c, path).TryAcquire(ctx)}
	}, acquire, acquire, "delete"},
	{"RWMutex.TryAcquireRead", func(ctx context.Context, c *coord.Client, path string) held {
		return hold{rwlock.New(c, path).TryAcquireRead(ctx)}
	}, write, read, "delete"},
	{"RWMutex.TryAcquireWrite", func(ctx context.Context, c *coord.Client, path string) held {
		return hold{rwlock.New(c, path).TryAcquireWrite(ctx)}
	}, read, write, "delete"},
	{"Unqueued.TryAcquire", func(ctx context.Context, c *coord.Client, path string) held {
		return hold{lock.NewUnqueued(c, path).TryAcquire(ctx)}
	}, unqueued, unqueued, "multi"},
}

// What a client has released, or given up, or tried in vain, is not in the way of its
// next try, though what is left of it is not removed yet and nobody has waited for
// that. It is the word of the ensemble alone that decides.
func TestNoTryIsInTheWayOfTheNext(t *testing.T) {
	for _, x := range tries {
		for _, before := range []struct {
			name string
			// do leaves something behind on its own: what c has tried, or the like,
			// while the lock is another's, which then releases it. It calls lose
			// before the first request that may be the removal of that.
			do func(w *harness.World, c *harness.Client, other held, lose func()) held
			// queued says that only what queues leaves something to remove.
			queued bool
		}{
			{"a try", func(w *harness.World, c *harness.Client, other held, lose func()) held {
				lose()
				h := x.try(bg, c.Client, w.Dir)
				endedBy(w, h, coord.ErrLocked)
				w.Must(other.Release(bg))
				return h
			}, true},
			{"a wait that is given up", func(w *harness.World, c *harness.Client, other held, lose func()) held {
				ctx, cancel := context.WithCancel(bg)
				h := x.waiter(ctx, c.Client, w.Dir)
				w.Eventually("a waiter", func() bool { return len(w.Children(w.Dir)) != 1 })
				lose()
				cancel()
				endedBy(w, h, context.Canceled)
				w.Must(other.Release(bg))
				return h
			}, true},
			{"a hold", func(w *harness.World, c *harness.Client, other held, lose func()) held {
				w.Must(other.Release(bg))
				h := x.blocker(bg, c.Client, w.Dir)
				w.Must(wait(w, h))
				ctx, cancel := context.WithCancel(bg)
				cancel()
				lose()
				_ = h.Release(ctx)
				return h
			}, false},
		} {
			for _, lost := range []bool{false, true} {
				if lost && before.queued && x.removal == "multi" {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s, its removal lost: %v", x.name, before.name, lost), func(t *testing.T) {
					harness.Both(t, func(t *testing.T, in harness.Maker) {
						in(t, func(w *harness.World) {
							c, other := w.Client(harness.Long), w.Client(harness.Long)
							rounds := 4
							if harness.Stress {
								rounds = 10
							}
							if w.Real != nil && lost {
								rounds = 2 // each takes three reconnections
							}
							for range rounds {
								h := x.blocker(bg, other.Client, w.Dir)
								w.Must(wait(w, h))
								var losses atomic.Int32
								lose := func() {
									c.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
										// More than one, so that the next try is before it.
										if f.Dir == coordtest.ToServer && f.Op == x.removal && losses.Add(1) <= 3 {
											return coordtest.HangUp
										}
										return coordtest.Pass
									})
								}
								if !lost {
									lose = func() {}
								}
								left := before.do(w, c, h, lose)
								next := x.try(bg, c.Client, w.Dir)
								if err := wait(w, next); err != nil {
									w.Errorf("the lock is free, and yet: %v\n%s", err, w.Tree())
								}
								c.Link.OnFrame(nil)
								if lost && losses.Load() == 0 {
									w.Error("no removal was lost")
								}
								w.Must(next.Release(bg))
								w.Wait("done", left.Done())
							}
						})
					})
				})
			}
		}
	}
}

// wait waits until h is held or has ended, and returns its Err.
func wait(w *harness.World, h held) error {
	w.Helper()
	known := make(chan struct{})
	go func() {
		defer close(known)
		select {
		case <-h.Acquired():
		case <-h.Done():
		}
	}()
	w.Wait("grant or end", known)
	return h.Err()
}

// endedBy waits until h has ended for this reason, though something may be
// left of it.
func endedBy(w *harness.World, h held, reason error) {
	w.Helper()
	w.Eventually("the end", func() bool { return h.Err() != nil })
	if err := h.Err(); !errors.Is(err, reason) {
		w.Fatalf("ended with %v", err)
	}
}
