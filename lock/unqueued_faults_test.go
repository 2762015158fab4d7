package lock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/locktest"
)

// plots are what a contender does while one frame of it meets a fault. They
// return the holds that they made. The lock is held by other at first.
var plots = []struct {
	name string
	run  func(w place, c *locktest.Client, other *coord.Hold) []*coord.Hold
}{
	{"takes a free lock and releases it", func(w place, c *locktest.Client, other *coord.Hold) []*coord.Hold {
		w.must(other.Release(bg))
		h := w.Acquire(bg, c.Client, w.Dir)
		if w.Settled(h) == nil {
			w.must(h.Release(bg))
		}
		return []*coord.Hold{h}
	}},
	{"waits with another of its client, and both take the lock", func(w place, c *locktest.Client, other *coord.Hold) []*coord.Hold {
		holds := []*coord.Hold{w.Acquire(bg, c.Client, w.Dir), w.Acquire(bg, c.Client, w.Dir)}
		time.Sleep(2 * time.Second) // of the bubble: let them come to wait
		w.must(other.Release(bg))
		held := make(chan int, 2)
		for i, h := range holds {
			go func() {
				_ = h.Wait()
				held <- i
			}()
		}
		for range holds {
			w.must(holds[<-held].Release(bg))
		}
		return holds
	}},
	{"waits and is canceled", func(w place, c *locktest.Client, other *coord.Hold) []*coord.Hold {
		ctx, cancel := context.WithTimeout(bg, 2*time.Second)
		defer cancel()
		h := w.Acquire(ctx, c.Client, w.Dir)
		if w.Settled(h) == nil {
			w.Error("granted beside the holder")
		}
		w.Wait("done", h.Done())
		w.must(other.Release(bg))
		return []*coord.Hold{h}
	}},
	{"takes a lock whose holder an operator has removed, is removed, and is canceled", func(w place, c *locktest.Client, other *coord.Hold) []*coord.Hold {
		w.must(w.Op().Delete(w.Dir, -1))
		ctx, cancel := context.WithTimeout(bg, 5*time.Second)
		defer cancel()
		h := w.Acquire(ctx, c.Client, w.Dir)
		if w.Settled(h) == nil {
			_ = w.Op().Delete(w.Dir, -1)
		}
		w.Wait("done", h.Done())
		w.must(other.Release(bg))
		return []*coord.Hold{h}
	}},
	{"releases without waiting for it, and tries", func(w place, c *locktest.Client, other *coord.Hold) []*coord.Hold {
		before := c.Session()
		w.must(other.Release(bg))
		h := w.Acquire(bg, c.Client, w.Dir)
		_ = w.Settled(h)
		ctx, cancel := context.WithCancel(bg)
		cancel()
		_ = h.Release(ctx)
		again := w.Try(bg, c.Client, w.Dir)
		switch err := w.Settled(again); {
		case err == nil:
			w.must(again.Release(bg))
		case errors.Is(err, coord.ErrLocked) && c.Session() == before: // else it may be the former session's
			w.Errorf("the lock is free, and yet %v\n%s", err, w.Tree())
		}
		return []*coord.Hold{h, again}
	}},
	{"is canceled at once, tries, and closes while it waits", func(w place, c *locktest.Client, other *coord.Hold) []*coord.Hold {
		ctx, cancel := context.WithCancel(bg)
		first := w.Acquire(ctx, c.Client, w.Dir)
		time.Sleep(time.Microsecond) // of the bubble: the first request is under way
		cancel()
		try := w.Try(bg, c.Client, w.Dir)
		if w.Settled(try) == nil {
			w.Error("granted beside the holder")
		}
		h := w.Acquire(bg, c.Client, w.Dir)
		time.Sleep(time.Second) // of the bubble
		w.must(c.Close())
		w.must(other.Err())
		w.must(other.Release(bg))
		return []*coord.Hold{first, try, h}
	}},
}

// faults are what one frame meets.
var faults = []struct {
	name string
	meet func(w place, c *locktest.Client) coordtest.Action
}{
	{"lost", func(place, *locktest.Client) coordtest.Action { return coordtest.Drop }},
	{"lost with the connection", func(place, *locktest.Client) coordtest.Action { return coordtest.HangUp }},
	{"the last of its connection", func(place, *locktest.Client) coordtest.Action { return coordtest.PassAndHangUp }},
	{"delayed by T/4", stall(coordtest.Both, T/4)},
	{"delayed on the way there beyond the session's end", stall(coordtest.ToServer, 2*T)},
	{"delayed on the way back beyond the session's end", stall(coordtest.ToClient, 2*T)},
	{"followed by the session's expiry", func(w place, c *locktest.Client) coordtest.Action {
		w.Fake.Expire(c.Session().ID())
		return coordtest.Pass
	}},
	{"there while the server freezes", func(w place, c *locktest.Client) coordtest.Action {
		time.AfterFunc(T/4, w.Fake.Freeze())
		return coordtest.Pass
	}},
}

func stall(d coordtest.Direction, long time.Duration) func(place, *locktest.Client) coordtest.Action {
	return func(_ place, c *locktest.Client) coordtest.Action {
		time.AfterFunc(long, c.Link.Stall(d))
		return coordtest.Pass
	}
}

// TestUnqueuedFaults lets every frame of every plot meet every fault. Whatever
// happens, each hold comes to its end for a reason that fits, nothing is left,
// and the lock can be had. (R4, R5, R7, R13, R28, R60, R79, R93.)
func TestUnqueuedFaults(t *testing.T) {
	reasons := []error{
		coord.ErrReleased, coord.ErrExpired, coord.ErrLocked, coord.ErrClosed, coord.ErrDeleted,
		context.Canceled, context.DeadlineExceeded,
	}
	for _, p := range plots {
		play := func(t *testing.T, hook func(place, *locktest.Client, coordtest.Frame) coordtest.Action) {
			locktest.InBubble(t, unqueued, func(world *locktest.World) {
				w := place{world}
				first, last := w.Client(10*T), w.Client(10*T)
				other := w.Held(first)
				c := w.Client(T)
				start := map[coordtest.Direction]int{}
				c.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
					if f.N == 0 {
						return coordtest.Pass // a heartbeat
					}
					if _, ok := start[f.Dir]; !ok {
						start[f.Dir] = f.N - 1
					}
					f.N -= start[f.Dir]
					return hook(w, c, f)
				})
				for _, h := range p.run(w, c, other) {
					w.Wait("done", h.Done())
					if err := h.Err(); !slices.ContainsFunc(reasons, func(r error) bool { return errors.Is(err, r) }) {
						w.Errorf("ended with %v", err)
					}
				}
				w.Eventually("names gone", func() bool { return len(w.guards()) == 0 })
				h := w.Held(last)
				w.must(w.write(last, h))
				w.must(h.Release(bg))
				c.Link.OnFrame(nil)
				w.clean()
			})
		}
		t.Run(p.name, func(t *testing.T) {
			frames := map[coordtest.Direction]int{} // learned without a fault
			play(t, func(_ place, _ *locktest.Client, f coordtest.Frame) coordtest.Action {
				frames[f.Dir] = max(frames[f.Dir], f.N)
				return coordtest.Pass
			})
			t.Logf("%d frames to the server and %d back", frames[coordtest.ToServer], frames[coordtest.ToClient])
			for dir, n := range frames {
				for i := range n {
					for _, x := range faults {
						way := map[coordtest.Direction]string{coordtest.ToServer: "there", coordtest.ToClient: "back"}[dir]
						t.Run(fmt.Sprintf("frame %d %s %s", i+1, way, x.name), func(t *testing.T) {
							t.Parallel()
							met := false
							play(t, func(w place, c *locktest.Client, f coordtest.Frame) coordtest.Action {
								if met || f.Dir != dir || f.N != i+1 {
									return coordtest.Pass
								}
								met = true
								action := x.meet(w, c)
								if action == coordtest.Drop && f.Op == "event" {
									action = coordtest.HangUp // TCP loses no frame alone
								}
								return action
							})
						})
					}
				}
			}
		})
	}
}
