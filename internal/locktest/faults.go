package locktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// A Plot is what a contender does while one frame of it meets a fault. Run
// returns the holds that it has made. The lock is held by another, whose hold it
// must release.
type Plot struct {
	Name string
	Run  func(w *World, c *Client, other *coord.Hold) []*coord.Hold
}

var plots = []Plot{
	{"takes a free lock and releases it", func(w *World, c *Client, other *coord.Hold) []*coord.Hold {
		must(w, other.Release(bg))
		h := w.Acquire(bg, c.Client, w.Dir)
		if w.Settled(h) == nil {
			must(w, h.Release(bg))
		}
		return []*coord.Hold{h}
	}},
	{"waits, takes the lock and releases it", func(w *World, c *Client, other *coord.Hold) []*coord.Hold {
		h := w.Acquire(bg, c.Client, w.Dir)
		time.Sleep(2 * time.Second) // of the bubble: let it come to wait
		must(w, other.Release(bg))
		if w.Settled(h) == nil {
			must(w, h.Release(bg))
		}
		return []*coord.Hold{h}
	}},
	{"waits and is canceled", func(w *World, c *Client, other *coord.Hold) []*coord.Hold {
		ctx, cancel := context.WithTimeout(bg, 2*time.Second)
		defer cancel()
		h := w.Acquire(ctx, c.Client, w.Dir)
		if w.Settled(h) == nil {
			w.Error("granted beside the holder")
		}
		must(w, other.Err())
		w.Wait("done", h.Done())
		must(w, other.Release(bg))
		return []*coord.Hold{h}
	}},
	{"is canceled at once", func(w *World, c *Client, other *coord.Hold) []*coord.Hold {
		ctx, cancel := context.WithCancel(bg)
		h := w.Acquire(ctx, c.Client, w.Dir)
		time.Sleep(time.Microsecond) // of the bubble: the first request is under way
		cancel()
		_ = w.Settled(h)
		w.Wait("done", h.Done())
		must(w, other.Release(bg))
		return []*coord.Hold{h}
	}},
	{"tries, and tries again as soon as it has failed", func(w *World, c *Client, other *coord.Hold) []*coord.Hold {
		before := c.Session()
		h := w.Try(bg, c.Client, w.Dir)
		if w.Settled(h) == nil {
			w.Error("granted beside the holder")
		}
		must(w, other.Release(bg))
		return []*coord.Hold{h, w.tryFree(c, before)}
	}},
	{"gives up, and tries as soon as it has", func(w *World, c *Client, other *coord.Hold) []*coord.Hold {
		before := c.Session()
		ctx, cancel := context.WithTimeout(bg, 2*time.Second)
		defer cancel()
		h := w.Acquire(ctx, c.Client, w.Dir)
		if w.Settled(h) == nil {
			w.Error("granted beside the holder")
		}
		must(w, other.Release(bg))
		return []*coord.Hold{h, w.tryFree(c, before)}
	}},
	{"releases without waiting for it, and tries", func(w *World, c *Client, other *coord.Hold) []*coord.Hold {
		before := c.Session()
		must(w, other.Release(bg))
		h := w.Acquire(bg, c.Client, w.Dir)
		_ = w.Settled(h)
		ctx, cancel := context.WithCancel(bg)
		cancel()
		_ = h.Release(ctx)
		return []*coord.Hold{h, w.tryFree(c, before)}
	}},
	{"closes while it waits", func(w *World, c *Client, other *coord.Hold) []*coord.Hold {
		h := w.Acquire(bg, c.Client, w.Dir)
		time.Sleep(time.Second) // of the bubble
		must(w, c.Close())
		closed(w, "done", h.Done())
		must(w, other.Release(bg))
		return []*coord.Hold{h}
	}},
}

// tryFree has c try to get the lock, which nobody has who is not c, and release it.
// What c itself has given up is not in its way, unless it was in a session that c has
// given up too, and is not the one before: that the ensemble may keep for a while.
func (w *World) tryFree(c *Client, before *coord.Session) *coord.Hold {
	w.Helper()
	h := w.Try(bg, c.Client, w.Dir)
	if err := w.Settled(h); err == nil {
		must(w, h.Release(bg))
	} else if errors.Is(err, coord.ErrLocked) && c.Session() == before {
		w.Errorf("the lock is free, and yet %v\n%s", err, w.Tree())
	}
	return h
}

// A fault is what one frame meets.
type fault struct {
	name string
	meet func(w *World, c *Client) coordtest.Action
}

var faults = []fault{
	{"lost", func(*World, *Client) coordtest.Action { return coordtest.Drop }},
	{"lost with the connection", func(*World, *Client) coordtest.Action { return coordtest.HangUp }},
	{"the last of its connection", func(*World, *Client) coordtest.Action { return coordtest.PassAndHangUp }},
	{"delayed by T/4", stall(coordtest.Both, T/4)},
	{"delayed on the way there beyond the session's end", stall(coordtest.ToServer, 2*T)},
	{"delayed on the way back beyond the session's end", stall(coordtest.ToClient, 2*T)},
	{"followed by the session's expiry", func(w *World, c *Client) coordtest.Action {
		w.Fake.Expire(c.Session().ID())
		return coordtest.Pass
	}},
	{"there while the server freezes", func(w *World, c *Client) coordtest.Action {
		time.AfterFunc(T/4, w.Fake.Freeze())
		return coordtest.Pass
	}},
}

func stall(d coordtest.Direction, long time.Duration) func(*World, *Client) coordtest.Action {
	return func(_ *World, c *Client) coordtest.Action {
		time.AfterFunc(long, c.Link.Stall(d))
		return coordtest.Pass
	}
}

// reasons are those for which a hold may end in a plot.
var reasons = []error{
	coord.ErrReleased, coord.ErrExpired, coord.ErrLocked, coord.ErrClosed, context.Canceled, context.DeadlineExceeded,
}

// Faults lets every frame of every plot, and of those given besides, meet every
// fault, each in a bubble of its own. Whatever happens, each hold comes to its end, and for a reason that
// fits; nobody holds beside another; nothing is left in the directory, on the
// server or, as the bubble sees to, of goroutines; and the lock can be had.
// (R4, R5, R7, R28, R60, R79, R93.)
func Faults(t *testing.T, s Subject, more ...Plot) {
	for _, p := range slices.Concat(plots, more) {
		t.Run(p.Name, func(t *testing.T) {
			// Once without a fault, to learn what frames there are.
			frames := map[coordtest.Direction]int{}
			play(t, s, p, func(w *World, c *Client, f coordtest.Frame) coordtest.Action {
				frames[f.Dir] = max(frames[f.Dir], f.N)
				return coordtest.Pass
			})
			t.Logf("%d frames to the server and %d back", frames[coordtest.ToServer], frames[coordtest.ToClient])
			for dir, n := range frames {
				for i := range n {
					for _, x := range faults {
						name := fmt.Sprintf("frame %d %s %s", i+1, map[coordtest.Direction]string{
							coordtest.ToServer: "there", coordtest.ToClient: "back"}[dir], x.name)
						t.Run(name, func(t *testing.T) {
							met := false
							play(t, s, p, func(w *World, c *Client, f coordtest.Frame) coordtest.Action {
								if met || f.Dir != dir || f.N != i+1 {
									return coordtest.Pass
								}
								met = true
								action := x.meet(w, c)
								if action == coordtest.Drop && f.Op == "event" {
									// TCP loses no frame alone. A request or reply may
									// be lost in a server; an event goes with its
									// connection, and no client could tell.
									action = coordtest.HangUp
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

// play runs p in a bubble, with hook on the frames that c sends and receives
// once it is connected.
func play(t *testing.T, s Subject, p Plot, hook func(*World, *Client, coordtest.Frame) coordtest.Action) {
	InBubble(t, s, func(w *World) {
		first, last := w.Client(40*time.Second), w.Client(40*time.Second)
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
		for _, h := range p.Run(w, c, other) {
			w.Wait("done", h.Done())
			if err := h.Err(); !slices.ContainsFunc(reasons, func(r error) bool { return errors.Is(err, r) }) {
				w.Errorf("ended with %v", err)
			}
		}
		h := w.Held(last)
		must(w, h.Release(bg))
		c.Link.OnFrame(nil)
		must(w, c.Close())
		w.NothingLeft()
	})
}
