package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/locktest"
)

// allPlots are what a client does with two locks while one frame of it meets a fault. They
// return the hold that it made. The second lock, b, is held by other at first.
var allPlots = []struct {
	name string
	run  func(w place, c *locktest.Client, other *coord.Hold) *coord.Hold
}{
	{"takes two free locks and releases them", func(w place, c *locktest.Client, other *coord.Hold) *coord.Hold {
		w.Must(other.Release(bg))
		return w.all(c, "b", "a")
	}},
	{"waits for the second, and takes both", func(w place, c *locktest.Client, other *coord.Hold) *coord.Hold {
		h := w.all(c, "a", "b")
		time.Sleep(2 * time.Second) // of the bubble: let it come to wait
		w.Must(other.Release(bg))
		return h
	}},
	{"waits for the second, and is canceled", func(w place, c *locktest.Client, other *coord.Hold) *coord.Hold {
		ctx, cancel := context.WithTimeout(bg, 2*time.Second)
		defer cancel()
		h := lockAll(ctx, w, c, []string{"a", "b"})
		if w.Outcome(h) == nil {
			w.Error("granted beside the holder")
		}
		w.Wait("done", h.Done())
		w.Must(other.Release(bg))
		return h
	}},
	{"is canceled at once", func(w place, c *locktest.Client, other *coord.Hold) *coord.Hold {
		w.Must(other.Release(bg))
		ctx, cancel := context.WithCancel(bg)
		h := lockAll(ctx, w, c, []string{"a", "b"})
		time.Sleep(time.Microsecond) // of the bubble: the first request is under way
		cancel()
		_ = w.Outcome(h)
		w.Must(h.Release(bg))
		return h
	}},
	{"holds both until the second is deleted", func(w place, c *locktest.Client, other *coord.Hold) *coord.Hold {
		w.Must(other.Release(bg))
		h := w.all(c, "a", "b")
		if w.Outcome(h) == nil {
			for _, name := range w.World.World.Children(w.Dir + "/b") {
				_ = w.Op().Delete(w.Dir+"/b/"+name, -1) // it may be gone by now
			}
			w.Wait("lost", h.Lost())
		}
		return h
	}},
	{"closes while it waits for the second", func(w place, c *locktest.Client, other *coord.Hold) *coord.Hold {
		h := w.all(c, "a", "b")
		time.Sleep(time.Second) // of the bubble
		w.Must(c.Close())
		w.IsClosed("done", h.Done())
		w.Must(other.Release(bg))
		return h
	}},
}

// TestAllFaults lets every frame of every plot meet every fault. The hold ends in the end,
// for a reason that fits, and with it what it had of both locks; nothing is left, and both
// can be had.
func TestAllFaults(t *testing.T) {
	reasons := []error{
		coord.ErrReleased, coord.ErrExpired, coord.ErrClosed, coord.ErrDeleted, context.Canceled, context.DeadlineExceeded,
	}
	var workloads []harness.Workload
	for _, p := range allPlots {
		workloads = append(workloads, harness.Workload{Name: p.name, Run: func(world *harness.World, connect func() *harness.Client) {
			w := place{locktest.In(world, mutex)}
			other := w.all(w.Operator(), "b")
			w.Grant(other)
			c := connect()
			h := p.run(w, c, other)
			if w.Outcome(h) == nil {
				if len(h.Tokens()) != 2 {
					w.Errorf("tokens %v", h.Tokens())
				}
			}
			w.Must(h.Release(bg))
			w.Ends("the hold", h, reasons...)
			again := w.all(w.Operator(), "a", "b")
			w.Grant(again)
			w.Must(again.Release(bg))
			w.Rest()
			c.Exempt(func() {
				w.Must(c.Close())
				allGone(w)
			})
		}})
	}
	harness.Faults(t, workloads...)
}
