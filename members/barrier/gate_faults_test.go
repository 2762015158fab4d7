package barrier_test

import (
	"context"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/members/barrier"
)

// gatePlots are what a client does with a gate while one frame of it meets a fault. The
// gate of others, by whom it is closed at first, is keeper. It is open in the end.
var gatePlots = []struct {
	name string
	run  func(w *place, c *harness.Client, g, keeper *barrier.Gate)
}{
	{"finds it open, closes it and opens it", func(w *place, c *harness.Client, g, keeper *barrier.Gate) {
		w.Must(keeper.Open(bg))
		w.Must(g.Wait(bg))
		w.Must(g.Close(bg))
		if !w.Exists(w.Dir + "/gate") {
			w.Error("closed, and there is none")
		}
		w.Must(g.Open(bg))
	}},
	{"waits, and goes when it opens", func(w *place, c *harness.Client, g, keeper *barrier.Gate) {
		passed := comes(bg, g)
		c.Calm(3 * T)
		w.stands(passed)
		w.Must(keeper.Open(bg))
		c.Rest(6 * T)
		w.has(passed)
	}},
	{"waits twice, is cut off as it opens, and both go", func(w *place, c *harness.Client, g, keeper *barrier.Gate) {
		first := comes(bg, g)
		time.Sleep(T / 2) // of the bubble
		second := comes(bg, g)
		heal := c.Link.Cut()
		w.stands(first)
		w.stands(second)
		w.Must(keeper.Open(bg))
		heal()
		c.Rest(6 * T)
		w.has(first)
		w.has(second)
	}},
	{"waits while it is opened and closed again, and goes in the end", func(w *place, c *harness.Client, g, keeper *barrier.Gate) {
		passed := comes(bg, g)
		time.Sleep(T / 2) // of the bubble
		w.stands(passed)
		w.Must(keeper.Open(bg))
		w.Must(keeper.Close(bg)) // it may have gone, or not
		c.Calm(T)
		w.Must(keeper.Open(bg))
		c.Rest(6 * T)
		w.has(passed)
	}},
	{"waits and is canceled", func(w *place, c *harness.Client, g, keeper *barrier.Gate) {
		ctx, cancel := context.WithTimeout(bg, T/2)
		defer cancel()
		w.WantsOp(g.Wait(ctx), "wait", w.Dir+"/gate", context.DeadlineExceeded)
		w.Must(keeper.Open(bg))
	}},
	{"closes its client while it waits", func(w *place, c *harness.Client, g, keeper *barrier.Gate) {
		passed := comes(bg, g)
		time.Sleep(T / 2) // of the bubble
		w.Must(c.Close())
		w.WantsOp(<-passed, "wait", w.Dir+"/gate", coord.ErrClosed)
		w.Must(keeper.Open(bg))
	}},
}

// stands checks that who comes has not passed.
func (w *place) stands(passed <-chan error) {
	w.Helper()
	select {
	case err := <-passed:
		w.Fatalf("has passed a closed gate: %v", err)
	default:
	}
}

// has checks that who came has passed.
func (w *place) has(passed <-chan error) {
	w.Helper()
	select {
	case err := <-passed:
		w.Must(err)
	default:
		w.Errorf("the gate has been open for long, and is not passed\n%s", w.Tree())
	}
}

// TestGateFaults lets every frame of every plot meet every fault. Nobody passes a gate that
// was never open, everybody passes one that has been open for a while, what is reported as
// done is done, and nothing is left.
func TestGateFaults(t *testing.T) {
	var workloads []harness.Workload
	for _, p := range gatePlots {
		workloads = append(workloads, harness.Workload{Name: p.name, Run: func(hw *harness.World, connect func() *harness.Client) {
			w := &place{hw}
			keeper := barrier.NewGate(w.Operator().Client, w.Dir+"/gate")
			w.Must(keeper.Close(bg))
			c := connect()
			p.run(w, c, barrier.NewGate(c.Client, w.Dir+"/gate"), keeper)
			w.Rest()
			c.Exempt(func() {
				time.Sleep(3 * T) // of the bubble: what can still happen has
				w.Must(c.Close())
				if w.Exists(w.Dir + "/gate") {
					w.Errorf("left\n%s", w.Tree())
				}
				w.Eventually("no watch left", func() bool { return w.Watches() == 0 })
			})
		}})
	}
	harness.Faults(t, workloads...)
}
