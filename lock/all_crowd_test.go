package lock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/locktest"
	"github.com/zkcoord/zkcoord/lock"
)

// An inside says who holds which locks.
type inside struct {
	mu sync.Mutex
	by map[string]int
}

// enter adds n to the holders of each of names, and checks that there is at most one.
func (in *inside) enter(w place, n int, names []string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, name := range names {
		if in.by[name] += n; in.by[name] > 1 {
			w.Errorf("%d hold %s", in.by[name], name)
		}
	}
}

// TestAllInAnyOrder: contenders that ask for two to four of the same locks, each in an order
// of its own, never wait for each other forever and never hold one at the same time; and when
// some of them give up at any moment, nothing is left.
func TestAllInAnyOrder(t *testing.T) {
	t.Parallel()
	harness.Both(t, func(t *testing.T, in harness.Maker) {
		for _, x := range []struct {
			name        string
			cancels     bool
			daily, long int
		}{
			{"everybody waits", false, 10, 300},
			{"some give up", true, 40, 1250}, // times eight
		} {
			t.Run(x.name, func(t *testing.T) {
				in(t, func(world *harness.World) {
					w := place{locktest.In(world, mutex)}
					clients := []*locktest.Client{w.Client(harness.Long), w.Client(harness.Long), w.Client(harness.Long)}
					holders := &inside{by: make(map[string]int)}
					var all sync.WaitGroup
					for i := range 8 {
						all.Go(func() {
							w := place{locktest.In(w.Aside(), mutex)}
							for range harness.Times(x.daily, x.long) {
								w.turn(clients[i%len(clients)], holders, x.cancels)
							}
						})
					}
					over := make(chan struct{})
					go func() {
						all.Wait()
						close(over)
					}()
					select {
					case <-over:
					case <-time.After(10 * time.Minute):
						w.Fatalf("they wait for each other\n%s", w.Tree())
					}
					if !w.Failed() {
						allGone(w)
					}
				})
			})
		}
	})
}

// TestAllNoOverlap: a holder of two locks that is cut off from real servers in any way is told
// before the next has the first of them. That the session ends for all that it holds at once
// is tested every day with one lock, in TestNoOverlap.
func TestAllNoOverlap(t *testing.T) {
	if !harness.Stress {
		t.Skip("in the long form")
	}
	locktest.NoOverlap(t, locktest.Subject{
		Name: "all",
		Acquire: func(ctx context.Context, c *coord.Client, dir string) *coord.Hold {
			return lock.All(ctx, lock.New(c, dir+"-z"), lock.New(c, dir))
		},
		Try: mutex.Try,
	})
}

// turn seeks some locks in any order. If it may cancel, it does so in half of all cases, at
// any moment of the acquisition.
func (w place) turn(c *locktest.Client, holders *inside, cancels bool) {
	names := []string{"a", "b", "c", "d"}
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:2+rand.IntN(3)]
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	if cancels && rand.IntN(2) == 0 {
		defer time.AfterFunc(rand.N(20*time.Millisecond), cancel).Stop()
	}
	h := lockAll(ctx, w, c, names)
	if err := h.Wait(); err != nil {
		w.Wants(err, context.Canceled)
		w.Must(h.Release(bg))
		return
	}
	holders.enter(w, 1, names)
	if tokens := h.Tokens(); len(tokens) != len(names) || slices.Contains(tokens, 0) {
		w.Errorf("tokens %v of %d locks", tokens, len(names))
	}
	if err := h.Err(); err != nil && !errors.Is(err, coord.ErrReleased) {
		w.Error(err)
	}
	holders.enter(w, -1, names)
	w.Must(h.Release(bg))
}
