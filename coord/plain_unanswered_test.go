package coord_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// The end of ctx ends every request at once, in every state of the connection, and
// so does Close. The error then tells whether a write may have been carried out.
func TestPlainRequestsEndWithContext(t *testing.T) {
	for _, state := range []struct {
		name string
		make func(w *world, l *coordtest.Link, c *coord.Client)
		sent bool // a request is
	}{
		{"ctx has ended", nil, false},
		{"connected, and the server is silent", func(_ *world, l *coordtest.Link, _ *coord.Client) { l.Stall(coordtest.ToClient) }, true},
		{"connected, and the line takes nothing", func(_ *world, l *coordtest.Link, _ *coord.Client) { l.Stall(coordtest.ToServer) }, true},
		{"connected, with many requests before it", func(_ *world, l *coordtest.Link, c *coord.Client) {
			l.Stall(coordtest.ToServer)
			for range 100 { // more than are let in at a time
				go c.Exists(bg, "/a") // ends with c
			}
			synctest.Wait()
		}, false},
		{"suspended", func(w *world, l *coordtest.Link, c *coord.Client) {
			l.Cut()
			w.Await(c, coord.Suspended)
		}, false},
		{"expired", func(w *world, l *coordtest.Link, c *coord.Client) {
			l.Cut()
			w.Await(c, coord.Expired)
		}, false},
		{"expired, and the server does not greet", func(w *world, l *coordtest.Link, c *coord.Client) {
			l.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if f.Op == "connect" {
					return coordtest.Drop
				}
				return coordtest.Pass
			})
			w.Fake.Expire(c.Kit().Session().ID())
			w.Await(c, coord.Expired)
		}, false},
		{"closed", func(_ *world, _ *coordtest.Link, c *coord.Client) { c.Close() }, false},
	} {
		for _, p := range plains {
			t.Run(state.name+", "+p.op, func(t *testing.T) {
				bubble(t, func(w *world) {
					l := w.line()
					c := w.client(l, coord.Options{})
					_, err := c.Create(bg, "/a", []byte("1"), 0)
					must(t, err)
					r := harness.RecordLink(l)
					ctx, cancel := context.WithCancelCause(bg)
					want := errEnough
					if state.make == nil {
						cancel(errEnough)
					} else {
						state.make(w, l, c)
						time.AfterFunc(time.Second, func() { cancel(errEnough) })
					}
					if state.name == "closed" {
						want = coord.ErrClosed
					}
					before := len(r.Requests())
					w.Within(time.Second+soon, p.op, func() { err = p.do(ctx, c) })
					var e *coord.Error
					if !errors.As(err, &e) || e.Op != p.op || !errors.Is(err, want) || refused(err) {
						t.Errorf("error %v, want %v", err, want)
					}
					if unknown := errors.Is(err, coord.ErrUnknown); unknown != (p.write && state.sent) {
						t.Errorf("error %v; is unknown: %v", err, unknown)
					}
					// What was not sent never will be.
					time.Sleep(time.Minute)
					for _, op := range r.Requests()[before:] {
						if p.write && !state.sent && (strings.HasPrefix(op, p.op) || strings.HasPrefix(op, "multi")) {
							t.Errorf("sent after all: %q", op)
						}
					}
				})
			})
		}
	}
	// Close ends what is under way.
	for _, p := range plains {
		t.Run("closing, "+p.op, func(t *testing.T) {
			bubble(t, func(w *world) {
				l := w.line()
				c := w.client(l, coord.Options{})
				_, err := c.Create(bg, "/a", []byte("1"), 0)
				must(t, err)
				l.Stall(coordtest.ToClient)
				began := time.Now()
				time.AfterFunc(time.Second, func() { c.Close() })
				if err = p.do(bg, c); !errors.Is(err, coord.ErrClosed) || errors.Is(err, coord.ErrUnknown) != p.write || time.Since(began) > time.Second+soon {
					t.Errorf("after %v: %v", time.Since(began), err)
				}
			})
		})
	}
}

// Whatever happens at any frame, a read is answered, and a write is carried out once or
// not at all: the error tells, or says that it cannot.
func TestPlainRequestsFaults(t *testing.T) {
	var all []harness.Workload
	for _, p := range plains {
		all = append(all, harness.Workload{Name: p.op, Run: func(w *harness.World, connect func() *harness.Client) {
			w.Create("/a", "1")
			c := connect()
			err := p.do(bg, c.Client)
			switch {
			case !p.write && err != nil, refused(err):
				w.Errorf("error %v", err)
			case p.write && err != nil && !errors.Is(err, coord.ErrUnknown):
				w.Errorf("not sent, with a connection: %v", err)
			}
			w.Must(c.Sync(bg, "/"))
			_, a, errA := c.Get(bg, "/a")
			_, thereB, errB := c.Exists(bg, "/b")
			w.Must(errB)
			done := 0
			switch p.op {
			case "create":
				done = map[bool]int{true: 1}[thereB]
			case "delete":
				done = map[bool]int{true: 1}[errors.Is(errA, coord.ErrNoNode)]
			default:
				done = int(a.Version)
			}
			if done > 1 || p.write && err == nil && done != 1 || !p.write && done != 0 {
				w.Errorf("carried out %d times, with the error %v", done, err)
			}
		}})
	}
	harness.Faults(t, all...)
}

// What was not sent before its session expired is done in the next, where nothing is
// read that is older than what has been seen.
func TestPlainRequestsInTheNextSession(t *testing.T) {
	for _, p := range plains {
		t.Run(p.op, func(t *testing.T) {
			bubble(t, func(w *world) {
				l := w.line()
				c := w.client(l, coord.Options{})
				_, err := c.Create(bg, "/a", []byte("1"), 0)
				must(t, err)
				s := c.Kit().Session()
				heal := l.Cut()
				w.Await(c, coord.Suspended)
				time.AfterFunc(time.Minute, func() { heal() })
				r := harness.RecordLink(l)
				if must(t, p.do(bg, c)); s.Err() == nil {
					t.Error("the session has not ended")
				}
				got := slices.DeleteFunc(r.Requests(), func(op string) bool { return op == "connect" })
				if !p.write && p.op != "sync" && (len(got) != 2 || got[0] != "sync /") {
					t.Errorf("asked for %q, want a sync first", got)
				}
			})
		})
	}
}

// The error of a transaction whose answer is lost names no path, though an op of it was
// refused when it was first tried, because the chroot was missing.
func TestLostTransactionNamesNoPath(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		c := w.client(l, coord.Options{Chroot: "/root"})
		answers := 0
		l.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Op == "multi" && f.Dir == coordtest.ToClient {
				if answers++; answers == 2 {
					return coordtest.HangUp
				}
			}
			return coordtest.Pass
		})
		_, err := c.Txn(bg, coord.OpCreate("/x", nil, 0), coord.OpCreate("/y", nil, 0))
		var e *coord.Error
		if !errors.As(err, &e) || e.Op != "txn" || e.Path != "" || !errors.Is(err, coord.ErrUnknown) || answers != 2 {
			t.Errorf("after %d answers: %v", answers, err)
		}
	})
}
