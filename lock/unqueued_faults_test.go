package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/locktest"
)

// plots are what a contender does while one frame of it meets a fault. They
// return the holds that they made. The lock is held by other at first.
var plots = []struct {
	name string
	run  func(w place, c *locktest.Client, other *coord.Hold) []*coord.Hold
}{
	{"takes a free lock and releases it", func(w place, c *locktest.Client, other *coord.Hold) []*coord.Hold {
		w.Must(other.Release(bg))
		h := w.Acquire(bg, c.Client, w.Dir)
		if w.Outcome(h) == nil {
			w.Must(h.Release(bg))
		}
		return []*coord.Hold{h}
	}},
	{"waits with another of its client, and both take the lock", func(w place, c *locktest.Client, other *coord.Hold) []*coord.Hold {
		holds := []*coord.Hold{w.Acquire(bg, c.Client, w.Dir), w.Acquire(bg, c.Client, w.Dir)}
		time.Sleep(2 * time.Second) // of the bubble: let them come to wait
		w.Must(other.Release(bg))
		held := make(chan int, 2)
		for i, h := range holds {
			go func() {
				_ = h.Wait()
				held <- i
			}()
		}
		for range holds {
			w.Must(holds[<-held].Release(bg))
		}
		return holds
	}},
	{"waits and is canceled", func(w place, c *locktest.Client, other *coord.Hold) []*coord.Hold {
		ctx, cancel := context.WithTimeout(bg, 2*time.Second)
		defer cancel()
		h := w.Acquire(ctx, c.Client, w.Dir)
		if w.Outcome(h) == nil {
			w.Error("granted beside the holder")
		}
		w.Wait("done", h.Done())
		w.Must(other.Release(bg))
		return []*coord.Hold{h}
	}},
	{"takes a lock whose holder an operator has removed, is removed, and is canceled", func(w place, c *locktest.Client, other *coord.Hold) []*coord.Hold {
		w.Must(w.Op().Delete(w.Dir, -1))
		ctx, cancel := context.WithTimeout(bg, 5*time.Second)
		defer cancel()
		h := w.Acquire(ctx, c.Client, w.Dir)
		if w.Outcome(h) == nil {
			_ = w.Op().Delete(w.Dir, -1)
		}
		w.Wait("done", h.Done())
		w.Must(other.Release(bg))
		return []*coord.Hold{h}
	}},
	{"releases without waiting for it, and tries", func(w place, c *locktest.Client, other *coord.Hold) []*coord.Hold {
		before := c.Kit().Session()
		w.Must(other.Release(bg))
		h := w.Acquire(bg, c.Client, w.Dir)
		_ = w.Outcome(h)
		ctx, cancel := context.WithCancel(bg)
		cancel()
		_ = h.Release(ctx)
		again := w.Try(bg, c.Client, w.Dir)
		switch err := w.Outcome(again); {
		case err == nil:
			w.Must(again.Release(bg))
		case errors.Is(err, coord.ErrLocked) && c.Kit().Session() == before: // else it may be the former session's
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
		if w.Outcome(try) == nil {
			w.Error("granted beside the holder")
		}
		h := w.Acquire(bg, c.Client, w.Dir)
		time.Sleep(time.Second) // of the bubble
		w.Must(c.Close())
		w.Must(other.Err())
		w.Must(other.Release(bg))
		return []*coord.Hold{first, try, h}
	}},
}

// TestUnqueuedFaults lets every frame of every plot meet every fault. Each hold ends in
// the end, for a reason that fits, nothing is left, and the lock can be had. (R4, R5,
// R7, R13, R28, R60, R79, R93.)
func TestUnqueuedFaults(t *testing.T) {
	reasons := []error{
		coord.ErrReleased, coord.ErrExpired, coord.ErrLocked, coord.ErrClosed, coord.ErrDeleted,
		context.Canceled, context.DeadlineExceeded,
	}
	var all []harness.Workload
	for _, p := range plots {
		all = append(all, harness.Workload{Name: p.name, Run: func(world *harness.World, connect func() *harness.Client) {
			w := place{locktest.In(world, unqueued)}
			other := w.Held(w.Operator())
			c := connect()
			for _, h := range p.run(w, c, other) {
				w.Ends("a hold", h, reasons...)
			}
			w.Eventually("names gone", func() bool { return len(w.guards()) == 0 })
			h := w.Held(w.Operator())
			w.Must(w.write(w.Operator(), h))
			w.Must(h.Release(bg))
			w.Rest()
			c.Exempt(func() { clean(w) })
		}})
	}
	harness.Faults(t, all...)
}
