package semaphore_test

import (
	"context"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock/semaphore"
)

// A plot is what a client does with two permits, of which others hold the one, while one
// frame of it meets a fault. Run returns the holds that it has made.
type plot struct {
	name string
	run  func(w place, c *harness.Client, other *coord.Hold) []*coord.Hold
}

var plots = []plot{
	{"takes the last permit, waits for another, and releases both", func(w place, c *harness.Client, other *coord.Hold) []*coord.Hold {
		h := w.sem(c, 2).Acquire(bg)
		more := w.sem(c, 2).Acquire(bg)
		c.Calm(2 * time.Second) // it is at the gate, whatever it has met
		w.Must(other.Release(bg))
		for _, h := range []*coord.Hold{h, more} {
			_ = w.outcome(h)
		}
		w.Must(h.Release(bg))
		w.Must(more.Release(bg))
		return []*coord.Hold{h, more}
	}},
	{"waits at the gate, and is told of another number", func(w place, c *harness.Client, other *coord.Hold) []*coord.Hold {
		second := w.grant(w.sem(w.Operator(), 2).Acquire(bg))
		h := w.sem(c, 2).Acquire(bg)
		c.Calm(2 * time.Second) // it is at the gate, whatever it has met
		w.Must(w.sem(w.Operator(), 2).Resize(bg, 3))
		if err := w.outcome(h); err == nil {
			w.Error("acquired with the wrong number")
		}
		w.Must(w.sem(w.Operator(), 2).Resize(bg, 2))
		w.Must(second.Release(bg))
		w.Must(other.Release(bg))
		return []*coord.Hold{h}
	}},
	{"resizes, and acquires what that gives", func(w place, c *harness.Client, other *coord.Hold) []*coord.Hold {
		ctx, cancel := context.WithTimeout(bg, 20*T)
		defer cancel()
		w.Must(w.sem(c, 2).Resize(ctx, 1))
		w.Must(w.sem(c, 2).Resize(ctx, 2))
		h := w.sem(c, 2).Acquire(bg)
		_ = w.outcome(h)
		w.Must(h.Release(bg))
		w.Must(other.Release(bg))
		return []*coord.Hold{h}
	}},
	{"is revoked at the gate, and comes again", func(w place, c *harness.Client, other *coord.Hold) []*coord.Hold {
		second := w.grant(w.sem(w.Operator(), 2).Acquire(bg))
		h := w.sem(c, 2).Acquire(bg)
		c.Calm(2 * time.Second) // it is at the gate, whatever it has met
		for _, name := range w.queue() {
			_, _ = w.Op().Set(w.Dir+"/locks/"+name, []byte("__REVOKE__"), -1)
		}
		_ = w.outcome(h) // it may not have come to the gate
		w.Must(second.Release(bg))
		w.Must(other.Release(bg))
		again := w.sem(c, 2).Acquire(bg)
		_ = w.outcome(again)
		w.Must(h.Release(bg))
		w.Must(again.Release(bg))
		return []*coord.Hold{h, again}
	}},
}

// Whatever frame of a client meets which fault: each hold ends for a reason that fits, there
// are never more holders than permits, nothing is left, and all permits can be had.
func TestSeveralPermitsFaults(t *testing.T) {
	reasons := []error{coord.ErrReleased, coord.ErrExpired, coord.ErrRevoked, semaphore.ErrPermits}
	var all []harness.Workload
	for _, p := range plots {
		all = append(all, harness.Workload{Name: p.name, Share: 6, Run: func(hw *harness.World, connect func() *harness.Client) {
			w := place{hw}
			other := w.held(w.Operator(), 2)
			c := connect()
			for _, h := range p.run(w, c, other) {
				w.Ends("a hold", h, reasons...)
			}
			h1, h2 := w.held(w.Operator(), 2), w.held(w.Operator(), 2)
			if got := len(w.leases()); got != 2 {
				w.Errorf("%d leases", got)
			}
			w.Must(h1.Release(bg))
			w.Must(h2.Release(bg))
			w.Rest()
			c.Exempt(func() {
				w.Must(c.Close())
				w.nothingLeft()
			})
		}})
	}
	harness.Faults(t, all...)
}
