package locktest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
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
		w.Must(other.Release(bg))
		h := w.Acquire(bg, c.Client, w.Dir)
		if w.Outcome(h) == nil {
			w.Must(h.Release(bg))
		}
		return []*coord.Hold{h}
	}},
	{"waits, takes the lock and releases it", func(w *World, c *Client, other *coord.Hold) []*coord.Hold {
		h := w.Acquire(bg, c.Client, w.Dir)
		time.Sleep(2 * time.Second) // of the bubble: let it come to wait
		w.Must(other.Release(bg))
		if w.Outcome(h) == nil {
			w.Must(h.Release(bg))
		}
		return []*coord.Hold{h}
	}},
	{"waits and is canceled", func(w *World, c *Client, other *coord.Hold) []*coord.Hold {
		ctx, cancel := context.WithTimeout(bg, 2*time.Second)
		defer cancel()
		h := w.Acquire(ctx, c.Client, w.Dir)
		if w.Outcome(h) == nil {
			w.Error("granted beside the holder")
		}
		w.Must(other.Err())
		w.Wait("done", h.Done())
		w.Must(other.Release(bg))
		return []*coord.Hold{h}
	}},
	{"is canceled at once", func(w *World, c *Client, other *coord.Hold) []*coord.Hold {
		ctx, cancel := context.WithCancel(bg)
		h := w.Acquire(ctx, c.Client, w.Dir)
		time.Sleep(time.Microsecond) // of the bubble: the first request is under way
		cancel()
		_ = w.Outcome(h)
		w.Wait("done", h.Done())
		w.Must(other.Release(bg))
		return []*coord.Hold{h}
	}},
	{"tries, and tries again as soon as it has failed", func(w *World, c *Client, other *coord.Hold) []*coord.Hold {
		before := c.Kit().Session()
		h := w.Try(bg, c.Client, w.Dir)
		if w.Outcome(h) == nil {
			w.Error("granted beside the holder")
		}
		w.Must(other.Release(bg))
		return []*coord.Hold{h, w.tryFree(c, before)}
	}},
	{"gives up, and tries as soon as it has", func(w *World, c *Client, other *coord.Hold) []*coord.Hold {
		before := c.Kit().Session()
		ctx, cancel := context.WithTimeout(bg, 2*time.Second)
		defer cancel()
		h := w.Acquire(ctx, c.Client, w.Dir)
		if w.Outcome(h) == nil {
			w.Error("granted beside the holder")
		}
		w.Must(other.Release(bg))
		return []*coord.Hold{h, w.tryFree(c, before)}
	}},
	{"releases without waiting for it, and tries", func(w *World, c *Client, other *coord.Hold) []*coord.Hold {
		before := c.Kit().Session()
		w.Must(other.Release(bg))
		h := w.Acquire(bg, c.Client, w.Dir)
		_ = w.Outcome(h)
		ctx, cancel := context.WithCancel(bg)
		cancel()
		_ = h.Release(ctx)
		return []*coord.Hold{h, w.tryFree(c, before)}
	}},
	{"closes while it waits", func(w *World, c *Client, other *coord.Hold) []*coord.Hold {
		h := w.Acquire(bg, c.Client, w.Dir)
		time.Sleep(time.Second) // of the bubble
		w.Must(c.Close())
		w.IsClosed("done", h.Done())
		w.Must(other.Release(bg))
		return []*coord.Hold{h}
	}},
}

// tryFree makes c try to get the lock, which no other client has, and release it.
// What c itself has given up is not in its way, unless it was in a session that c has
// given up too, and is not the one before: that the ensemble may keep for a while.
func (w *World) tryFree(c *Client, before *coord.Session) *coord.Hold {
	w.Helper()
	h := w.Try(bg, c.Client, w.Dir)
	if err := w.Outcome(h); err == nil {
		w.Must(h.Release(bg))
	} else if errors.Is(err, coord.ErrLocked) && c.Kit().Session() == before {
		w.Errorf("the lock is free, and yet %v\n%s", err, w.Tree())
	}
	return h
}

// reasons are those for which a hold may end in a plot.
var reasons = []error{
	coord.ErrReleased, coord.ErrExpired, coord.ErrLocked, coord.ErrClosed, context.Canceled, context.DeadlineExceeded,
}

// Faults lets every frame of every plot, and of those given besides, meet every
// fault, each in a bubble of its own. Each hold ends in the end, for a
// reason that fits; nobody holds beside another; nothing is left in the directory,
// on the server or, as the bubble sees to, of goroutines; and the lock can be had.
// (R4, R5, R7, R28, R60, R79, R93.)
func Faults(t *testing.T, s Subject, more ...Plot) {
	var all []harness.Workload
	for _, p := range slices.Concat(plots, more) {
		all = append(all, harness.Workload{Name: p.Name, Share: s.Share, Run: func(w *harness.World, connect func() *Client) {
			In(w, s).play(connect, p)
		}})
	}
	harness.Faults(t, all...)
}

// play has a client play p, and checks what became of it.
func (w *World) play(connect func() *Client, p Plot) {
	other := w.Held(w.Operator())
	c := connect()
	for _, h := range p.Run(w, c, other) {
		w.Ends("a hold", h, reasons...)
	}
	h := w.Held(w.Operator())
	w.Must(h.Release(bg))
	w.Rest()
	c.Exempt(func() {
		w.Must(c.Close())
		w.NothingLeft()
	})
}
