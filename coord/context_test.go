package coord_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// conditions are states of a connection in which nothing is answered. Each
// function brings about its state and returns when it is reached.
var conditions = []struct {
	name  string
	state coord.State
	up    bool // the client has not noticed yet
	cause func(w *world, l *coordtest.Link, c *coord.Client)
}{
	{"stalled", coord.Connected, true, func(w *world, l *coordtest.Link, c *coord.Client) { l.Stall(coordtest.Both) }},
	{"stalled to the server", coord.Connected, true, func(w *world, l *coordtest.Link, c *coord.Client) { l.Stall(coordtest.ToServer) }},
	{"stalled to the client", coord.Connected, true, func(w *world, l *coordtest.Link, c *coord.Client) { l.Stall(coordtest.ToClient) }},
	{"server frozen", coord.Connected, true, func(w *world, l *coordtest.Link, c *coord.Client) { w.Fake.Freeze() }},
	{"stall noticed", coord.Suspended, false, func(w *world, l *coordtest.Link, c *coord.Client) {
		l.Stall(coordtest.Both)
		w.Await(c, coord.Suspended)
	}},
	{"refused", coord.Suspended, false, func(w *world, l *coordtest.Link, c *coord.Client) {
		l.Cut()
		w.Await(c, coord.Suspended)
	}},
	{"handshake hangs", coord.Suspended, false, func(w *world, l *coordtest.Link, c *coord.Client) {
		w.Fake.Freeze()
		l.Reset()
		w.Await(c, coord.Suspended)
	}},
	{"expired, refused", coord.Expired, false, func(w *world, l *coordtest.Link, c *coord.Client) {
		l.Cut()
		w.Await(c, coord.Expired)
	}},
	{"expired, dial hangs", coord.Expired, false, func(w *world, l *coordtest.Link, c *coord.Client) {
		l.Stall(coordtest.Both)
		w.Await(c, coord.Expired)
	}},
	{"expired, handshake hangs", coord.Expired, false, func(w *world, l *coordtest.Link, c *coord.Client) {
		w.Fake.Freeze()
		w.Await(c, coord.Expired)
	}},
}

// waits are all the ways to wait for an answer, bounded by a ctx.
var waits = []struct {
	name string
	up   bool // ends at once while the client thinks that it is connected
	wait func(ctx context.Context, c *coord.Client) error
}{
	{"Session.Txn", false, func(ctx context.Context, c *coord.Client) error {
		_, err := c.Kit().Session().Txn(ctx, coord.OpCheck("/", -1))
		return err
	}},
	{"Session.Exists", false, func(ctx context.Context, c *coord.Client) error {
		_, err := c.Kit().Session().Exists(ctx, "/")
		return err
	}},
	{"Client.Exists", false, func(ctx context.Context, c *coord.Client) error {
		_, _, err := c.Exists(ctx, "/")
		return err
	}},
	{"MakeDir", false, func(ctx context.Context, c *coord.Client) error { return c.Kit().Session().MakeDir(ctx, "/a/b") }},
	{"Await", true, func(ctx context.Context, c *coord.Client) error {
		_, err := c.Kit().Await(ctx)
		return err
	}},
	{"Watch", false, func(ctx context.Context, c *coord.Client) error {
		s := c.Watch(ctx, "/a", event.Data)
		<-s.Done()
		return s.Err()
	}},
	{"Follow", false, func(ctx context.Context, c *coord.Client) error {
		s := c.Kit().WatchUntilDeleted(ctx, "/a")
		<-s.Done()
		return s.Err()
	}},
	{"Release", false, func(ctx context.Context, c *coord.Client) error {
		h := c.Kit().NewHold(bg, "hold", "/a", func(k *coord.Keeper) error {
			<-c.Kit().Session().Done() // it will take long to be rid of it
			return coord.ErrReleased
		})
		return h.Release(ctx)
	}},
}

// R61, R54: whatever the state of the connection, a wait ends with its ctx, and
// with the cause.
func TestContextEndsEveryWait(t *testing.T) {
	cause := errors.New("lost interest")
	for _, cond := range conditions {
		t.Run(cond.name, func(t *testing.T) {
			for _, wait := range waits {
				if cond.up && wait.up {
					continue
				}
				t.Run(wait.name, func(t *testing.T) {
					bubble(t, func(w *world) {
						l := w.line()
						c := w.client(l, coord.Options{})
						cond.cause(w, l, c)
						if state, _ := c.State(); state != cond.state {
							t.Fatalf("state is %v, want %v", state, cond.state)
						}
						// Close is checked elsewhere; here it shall not end the waits.
						for _, d := range []time.Duration{0, time.Millisecond, 700 * time.Millisecond, 2 * time.Second} {
							ctx, cancel := context.WithCancelCause(bg)
							time.AfterFunc(d, func() { cancel(cause) })
							w.Within(d+soon, "wait", func() {
								if err := wait.wait(ctx, c); !errors.Is(err, cause) {
									t.Errorf("error %v, want %v", err, cause)
								}
							})
						}
						ctx, cancel := context.WithCancelCause(bg)
						cancel(cause)
						w.Within(0, "wait with a ctx that is over", func() {
							if err := wait.wait(ctx, c); !errors.Is(err, cause) {
								t.Errorf("error %v, want %v", err, cause)
							}
						})
					})
				})
			}
		})
	}
}

// A ctx that is over lets nothing through, though an answer would come at once
// (R74: no error means that it was done).
func TestContextThatIsOver(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		c := w.client(l, coord.Options{})
		r := harness.RecordLink(l)
		ctx, cancel := context.WithCancel(bg)
		cancel()
		for _, wait := range waits {
			for range 50 {
				if wait.name == "Release" {
					continue // has its own hold going on
				}
				if err := wait.wait(ctx, c); !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v, want canceled", wait.name, err)
				}
			}
		}
		if got := r.Requests(); len(got) > 0 {
			t.Errorf("requests %q", got)
		}
	})
}

// A request whose answer is lost ends with ctx, and does not block later ones.
func TestContextEndsACallWhoseReplyIsLost(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		c := w.client(l, coord.Options{})
		l.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Dir == coordtest.ToClient && f.Op == "exists" && f.Path == "/lost" {
				return coordtest.Drop
			}
			return coordtest.Pass
		})
		for range 20 { // more than are let in at a time
			ctx, cancel := context.WithTimeout(bg, 10*time.Millisecond)
			w.Within(10*time.Millisecond+soon, "Call", func() {
				if _, err := c.Kit().Session().Exists(ctx, "/lost"); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v", err)
				}
			})
			cancel()
		}
		w.Within(10*time.Second, "the next call", func() {
			_, err := c.Kit().Session().Get(bg, "/")
			must(t, err)
		})
	})
}

// The end of a ctx ends what is sought, and nothing that has been acquired.
func TestGiveUp(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client(w.line(), coord.Options{})
		try := func(name string, acquire, over bool, want error) {
			h := c.Kit().NewHold(bg, "hold", "/a", func(k *coord.Keeper) error {
				if acquire {
					must(t, c.Kit().Session().Renew(bg, "/a"))
					must(t, k.Acquired(c.Kit().Session(), "/a", 1))
				}
				if k.GiveUp(errFinal) != over {
					t.Errorf("%s: over: %v, want %v", name, !over, over)
				}
				<-k.Released()
				if !k.GiveUp(errFinal) {
					t.Errorf("%s: released, and not over", name)
				}
				return coord.ErrReleased
			})
			synctest.Wait()
			if err := h.Err(); !errors.Is(err, want) || isClosed(h.Lost()) {
				t.Errorf("%s: %v, want %v", name, err, want)
			}
			must(t, h.Release(bg))
		}
		try("sought", false, true, errFinal)
		try("held", true, false, nil)
	})
}
