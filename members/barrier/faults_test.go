package barrier_test

import (
	"context"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/members/barrier"
)

// A plot is what a client does while one frame of it meets a fault. It returns the holds
// of the client, and of others, who wait or are inside if it is not.
type plot struct {
	name string
	run  func(w *place, c, other *harness.Client) (holds, others []*coord.Hold)
}

var plots = []plot{
	{"enters as the last, and leaves as the lowest", func(w *place, c, other *harness.Client) (holds, others []*coord.Hold) {
		ho := w.enter(other, 2, "m")
		w.in(1)
		h := w.enter(c, 2, "a")
		if w.let(h, ho) {
			w.leaves(h)
			w.leaves(ho)
		}
		return []*coord.Hold{h}, []*coord.Hold{ho}
	}},
	{"waits, is let in, and leaves as the highest, before the other", func(w *place, c, other *harness.Client) (holds, others []*coord.Hold) {
		h := w.enter(c, 2, "z")
		time.Sleep(time.Second) // of the bubble: let it come to wait
		ho := w.enter(other, 2, "m")
		if w.let(h, ho) {
			_ = h.Release(over())
			time.Sleep(time.Second) // of the bubble
			_ = ho.Release(over())
		}
		return []*coord.Hold{h}, []*coord.Hold{ho}
	}},
	{"is let in, and leaves as the lowest, after the other", func(w *place, c, other *harness.Client) (holds, others []*coord.Hold) {
		ho := w.enter(other, 2, "m")
		w.in(1)
		h := w.enter(c, 2, "a")
		if w.let(h, ho) {
			_ = ho.Release(over())
			time.Sleep(time.Second) // of the bubble
		}
		return []*coord.Hold{h}, []*coord.Hold{ho}
	}},
	{"waits and is canceled", func(w *place, c, _ *harness.Client) (holds, others []*coord.Hold) {
		ctx, cancel := context.WithTimeout(bg, 2*time.Second)
		defer cancel()
		h := barrier.New(c.Client, w.Dir, 2).Enter(ctx, "a")
		w.Wait("done", h.Done())
		return []*coord.Hold{h}, nil
	}},
	{"is canceled at once", func(w *place, c, _ *harness.Client) (holds, others []*coord.Hold) {
		ctx, cancel := context.WithCancel(bg)
		h := barrier.New(c.Client, w.Dir, 1).Enter(ctx, "a")
		time.Sleep(time.Microsecond) // of the bubble: the first request is under way
		cancel()
		w.Wait("end of the wait", wait(h)) // it may have been let in
		return []*coord.Hold{h}, nil
	}},
	{"comes while a round is open, and is in the next", func(w *place, c, other *harness.Client) (holds, others []*coord.Hold) {
		ho := w.enter(other, 1, "m")
		w.acquired(ho)
		h := w.enter(c, 1, "z")
		time.Sleep(time.Second) // of the bubble
		w.IsOpen("acquired", h.Acquired())
		w.Must(ho.Release(bg))
		_ = h.Wait()
		return []*coord.Hold{h}, nil
	}},
	{"finds a round that all have died in", func(w *place, c, _ *harness.Client) (holds, others []*coord.Hold) {
		ho := w.enter(w.Operator(), 1, "m") // makes the directory
		w.acquired(ho)
		w.Must(ho.Release(bg))
		w.Create(w.Dir+"/ready", "")
		h := w.enter(c, 1, "z")
		_ = h.Wait()
		return []*coord.Hold{h}, nil
	}},
	{"is deleted inside by an operator", func(w *place, c, other *harness.Client) (holds, others []*coord.Hold) {
		ho := w.enter(other, 2, "m")
		w.in(1)
		h := w.enter(c, 2, "a")
		if w.let(h, ho) {
			_ = w.Op().Delete(w.Dir+"/a", -1)
			w.Wait("done", h.Done())
		}
		return []*coord.Hold{h}, []*coord.Hold{ho}
	}},
}

// over returns a ctx that has ended.
func over() context.Context {
	ctx, cancel := context.WithCancel(bg)
	cancel()
	return ctx
}

// let waits until h and the other are let in, and reports whether h is: its session may
// have ended first. Then the other waits for somebody else.
func (w *place) let(h, other *coord.Hold) bool {
	w.Helper()
	w.Wait("end of the wait", wait(h))
	if h.Err() == nil {
		w.acquired(other)
	}
	return h.Err() == nil
}

// TestFaults lets every frame of every plot meet every fault. Each Hold ends in the end,
// for a reason that fits, and nobody is kept from leaving; nothing is left in the
// directory, on the server or, as the bubble sees to, of goroutines; and the barrier can be
// used again.
func TestFaults(t *testing.T) {
	reasons := []error{coord.ErrReleased, coord.ErrExpired, coord.ErrDeleted, context.Canceled, context.DeadlineExceeded}
	var workloads []harness.Workload
	for _, p := range plots {
		workloads = append(workloads, harness.Workload{Name: p.name, Share: 4, Run: func(hw *harness.World, connect func() *harness.Client) {
			w := &place{hw}
			other := w.Client(harness.Long)
			c := connect()
			holds, others := p.run(w, c, other)
			for _, h := range holds {
				_ = h.Release(over())
			}
			for _, h := range others {
				_ = h.Release(over())
			}
			for _, h := range holds {
				w.Ends("a hold", h, reasons...)
			}
			for _, h := range others {
				w.Ends("the other's", h, coord.ErrReleased)
			}
			w.Rest()
			c.Exempt(func() {
				w.Must(c.Close())
				time.Sleep(3 * T) // of the bubble: sessions that were given up are over
				h := w.enter(other, 1, "again")
				w.acquired(h)
				w.Must(h.Release(bg))
				w.nothingLeft()
				w.Eventually("no watch left", func() bool { return w.Watches() == 0 })
			})
		}})
	}
	harness.Faults(t, workloads...)
}
