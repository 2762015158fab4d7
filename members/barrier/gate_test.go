package barrier_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/members/barrier"
)

func TestGate(t *testing.T) { run(t, gates) }

// passes waits until Wait has returned nil.
func (w *place) passes(passed <-chan error) {
	w.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := <-passed; err != nil {
			w.Error(err)
		}
	}()
	w.Wait("gate", done)
}

// One whose server lags does not pass a gate that was closed before it came.
func TestGateBehind(t *testing.T) {
	harness.Bubble(t, func(w *harness.World) {
		const behind = "behind:2181"
		keeper := barrier.NewGate(w.Client(T).Client, "/gate")
		c := w.Dial([]string{behind}, &coord.Options{SessionTimeout: T})
		g := barrier.NewGate(c.Client, "/gate")
		w.Must(g.Wait(bg))
		catchUp := w.Fake.Lag(behind)
		w.Must(keeper.Close(bg))
		passed := comes(bg, g)
		time.Sleep(T / 4) // of the bubble
		catchUp()
		time.Sleep(time.Minute)
		select {
		case err := <-passed:
			w.Fatalf("has passed a closed gate: %v", err)
		default:
		}
		w.Must(keeper.Open(bg))
		w.Must(<-passed)
	})
}

// comes waits in front of g.
func comes(ctx context.Context, g *barrier.Gate) <-chan error {
	passed := make(chan error, 1)
	go func() { passed <- g.Wait(ctx) }()
	return passed
}

var gates = []scenario{
	{"everybody waits while it is closed, and goes when it opens", func(w *place) {
		keeper := barrier.NewGate(w.Client(T).Client, w.Dir+"/gate")
		w.Must(keeper.Wait(bg)) // open from the beginning
		w.Must(keeper.Close(bg))
		w.Must(keeper.Close(bg))
		var all []<-chan error
		for range 2 {
			c := w.Client(T)
			for range 2 {
				all = append(all, comes(bg, barrier.NewGate(c.Client, w.Dir+"/gate")))
			}
		}
		w.Eventually("one watch for each client", func() bool { return w.Watches() == 2 })
		for _, passed := range all {
			select {
			case err := <-passed:
				w.Fatalf("has passed a closed gate: %v", err)
			default:
			}
		}
		w.Must(keeper.Open(bg))
		w.Must(keeper.Open(bg))
		for _, passed := range all {
			w.passes(passed)
		}
	}},
	{"one that comes asks its server to catch up before it looks", func(w *place) {
		c := w.Client(T)
		g := barrier.NewGate(c.Client, w.Dir+"/gate")
		for range 2 { // the second follows what is followed already
			record := harness.RecordLink(c.Link)
			w.Must(g.Wait(bg))
			asked := record.Requests()
			look := slices.IndexFunc(asked, func(r string) bool { return r == "exists "+w.Dir+"/gate" })
			if sync := slices.Index(asked, "sync "+w.Dir+"/gate"); sync < 0 || 0 <= look && look < sync {
				w.Errorf("it asks %q", asked)
			}
		}
	}},
	{"a ctx bounds the wait", func(w *place) {
		g := barrier.NewGate(w.Client(T).Client, w.Dir+"/gate")
		w.Must(g.Close(bg))
		ctx, cancel := context.WithTimeout(bg, 50*time.Millisecond)
		defer cancel()
		w.WantsOp(g.Wait(ctx), "wait", w.Dir+"/gate", context.DeadlineExceeded)
		w.Must(g.Open(bg))
	}},
	{"a gate that opens while one is cut off, or between two sessions, is passed", func(w *place) {
		keeper := barrier.NewGate(w.Client(T).Client, w.Dir+"/gate")
		w.Must(keeper.Close(bg))
		c := w.Client(T)
		passed := comes(bg, barrier.NewGate(c.Client, w.Dir+"/gate"))
		w.Eventually("watched", func() bool { return w.Watches() == 1 })
		heal := c.Link.Cut()
		w.Await(c.Client, coord.Suspended)
		w.Must(keeper.Open(bg))
		heal()
		w.passes(passed)

		w.Must(keeper.Close(bg))
		passed = comes(bg, barrier.NewGate(c.Client, w.Dir+"/gate"))
		w.Eventually("watched", func() bool { return w.Watches() == 1 })
		w.Expire(c)
		w.Must(keeper.Open(bg))
		w.passes(passed)
	}},
	{"what cannot be is refused", func(w *place) {
		c := w.Client(T)
		g := barrier.NewGate(c.Client, "gate")
		w.WantsOp(g.Close(bg), "close", "gate", coord.ErrInvalidPath)
		w.WantsOp(g.Open(bg), "open", "gate", coord.ErrInvalidPath)
		w.WantsOp(g.Wait(bg), "wait", "gate", coord.ErrInvalidPath)
		w.Must(c.Close())
		g = barrier.NewGate(c.Client, w.Dir)
		w.WantsOp(g.Close(bg), "close", w.Dir, coord.ErrClosed)
		w.WantsOp(g.Open(bg), "open", w.Dir, coord.ErrClosed)
		w.WantsOp(g.Wait(bg), "wait", w.Dir, coord.ErrClosed)
	}},
}
