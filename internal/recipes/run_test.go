package recipes_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/rwlock"
)

// Work is what is done while something is held.
type work = func(context.Context, *coord.Hold) error

// A doer does f while it holds what is at path.
type doer = func(ctx context.Context, c *coord.Client, path string, f work) error

// A runner is a lock that can be held for the length of a function, once or again and
// again.
type runner struct {
	name    string
	do, run doer
	queued  bool   // in a directory at the path
	blocker seeker // who excludes it
}

var runners = []runner{
	{"Mutex", func(ctx context.Context, c *coord.Client, path string, f work) error {
		return lock.New(c, path).Do(ctx, f)
	},
		func(ctx context.Context, c *coord.Client, path string, f work) error {
			return lock.New(c, path).Run(ctx, f)
		},
		true, acquire},
	{"Unqueued", func(ctx context.Context, c *coord.Client, path string, f work) error {
		return lock.NewUnqueued(c, path).Do(ctx, f)
	},
		func(ctx context.Context, c *coord.Client, path string, f work) error {
			return lock.NewUnqueued(c, path).Run(ctx, f)
		},
		false, unqueued},
	{"RWMutex, reading", func(ctx context.Context, c *coord.Client, path string, f work) error {
		return rwlock.New(c, path).DoRead(ctx, f)
	},
		func(ctx context.Context, c *coord.Client, path string, f work) error {
			return rwlock.New(c, path).RunRead(ctx, f)
		},
		true, write},
	{"RWMutex, writing", func(ctx context.Context, c *coord.Client, path string, f work) error {
		return rwlock.New(c, path).DoWrite(ctx, f)
	},
		func(ctx context.Context, c *coord.Client, path string, f work) error {
			return rwlock.New(c, path).RunWrite(ctx, f)
		},
		true, read},
}

// A place is a world with one lock, at Dir.
type place struct {
	*harness.World
	runner
}

// noWork is what is never called, because the lock is not had.
func (p place) noWork(context.Context, *coord.Hold) error {
	p.Error("called without the lock")
	return nil
}

// node returns the path of the znode of the only contender.
func (p place) node() string {
	p.Helper()
	if !p.queued {
		return p.Dir
	}
	names := p.Children(p.Dir)
	if len(names) != 1 {
		p.Fatalf("contenders %q", names)
	}
	return p.Dir + "/" + names[0]
}

// free checks that c gets the lock without having to wait for anybody but those who
// leave, and that none of them is left then.
func (p place) free(c *harness.Client) {
	p.Helper()
	h := p.blocker(bg, c.Client, p.Dir)
	p.Wait("grant", h.Acquired())
	p.Must(h.Release(bg))
}

func TestRun(t *testing.T) {
	for _, r := range runners {
		t.Run(r.name, func(t *testing.T) {
			harness.Both(t, func(t *testing.T, in harness.Maker) {
				for _, x := range slices.Concat(runs, holds) {
					t.Run(x.name, func(t *testing.T) {
						in(t, func(w *harness.World) { x.run(place{w, r}) })
					})
				}
			})
		})
	}
}

// Run asks no more than once a second for what is taken from it as soon as it has it.
func TestRunPauses(t *testing.T) {
	for _, r := range runners {
		t.Run(r.name, func(t *testing.T) {
			harness.Bubble(t, func(w *harness.World) {
				c := w.Client(T)
				ctx, cancel := context.WithTimeout(bg, time.Minute)
				defer cancel()
				calls := 0
				w.Wants(r.run(ctx, c.Client, w.Dir, func(ctx context.Context, _ *coord.Hold) error {
					calls++
					w.Delete(place{w, r}.node())
					<-ctx.Done()
					return ctx.Err() // nil would be success, if this is what the minute's end meets
				}), context.DeadlineExceeded)
				if calls < 40 || calls > 200 {
					w.Errorf("called %d times in a minute", calls)
				}
			})
		})
	}
}

// Programs that Run the same are never in f at the same time, and there is always one
// again, though their connections break again and again until their sessions are over.
func TestRunInOnePlace(t *testing.T) {
	for _, r := range runners {
		if r.name == "RWMutex, reading" {
			continue // they may
		}
		t.Run(r.name, func(t *testing.T) {
			harness.Bubble(t, func(w *harness.World) {
				ctx, cancel := context.WithCancel(bg)
				var inside, turns atomic.Int32
				back := make(chan error, 3)
				clients := []*harness.Client{w.Client(T), w.Client(T), w.Client(T)}
				for _, c := range clients {
					go func() {
						back <- r.run(ctx, c.Client, w.Dir, func(ctx context.Context, _ *coord.Hold) error {
							if inside.Add(1) > 1 {
								w.Error("two inside")
							}
							turns.Add(1)
							<-ctx.Done()
							inside.Add(-1)
							return ctx.Err()
						})
					}()
				}
				for i := range 30 {
					w.Eventually("one inside", func() bool { return inside.Load() == 1 })
					c := clients[i%len(clients)]
					var heal func()
					if i/len(clients)%2 == 0 {
						heal = c.Link.Cut()
					} else {
						heal = c.Link.Stall(coordtest.Both)
					}
					time.Sleep(2 * T) // of the bubble: its session is over
					heal()
				}
				w.Eventually("one inside", func() bool { return inside.Load() == 1 })
				if n := turns.Load(); n < 10 {
					w.Errorf("%d turns", n)
				}
				cancel()
				for range clients {
					w.Wants(<-back, context.Canceled)
				}
			})
		})
	}
}
