package coord_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
)

// closing is how long Close may take at most.
const closing = 2*time.Second + soon

// R47: a closed client says so at once, whatever is asked of it.
func TestClosedClient(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client(w.line(), coord.Options{})
		s, before := c.Kit().Session(), c.Expired()
		must(t, c.Close())
		w.Within(0, "a closed client", func() {
			for range 50 { // a select that has a choice takes any
				for _, wait := range waits {
					err := wait.wait(bg, c)
					if wait.name == "Release" {
						if err != nil { // it was over already
							t.Errorf("Release: %v", err)
						}
						continue
					}
					if !errors.Is(err, coord.ErrClosed) || errors.Is(err, coord.ErrExpired) {
						t.Errorf("%s: %v, want ErrClosed", wait.name, err)
					}
				}
			}
			h := c.Kit().NewHold(bg, "hold", "/a", func(*coord.Keeper) error {
				t.Error("a hold ran on a closed client")
				return nil
			})
			if err := h.Wait(); !errors.Is(err, coord.ErrClosed) || !isClosed(h.Done()) || isClosed(h.Acquired()) || isClosed(h.Lost()) {
				t.Errorf("hold: %v, want it over with ErrClosed", err)
			}
			if c.Kit().Go(func(context.Context) { t.Error("Go ran") }) {
				t.Error("Go = true")
			}
			if state, _ := c.State(); state != coord.Closed {
				t.Errorf("state %v", state)
			}
			if !isClosed(before) || !isClosed(c.Expired()) || !isClosed(s.Done()) || c.Kit().Session() != s {
				t.Error("the session is not over")
			}
			if err := s.Err(); !errors.Is(err, coord.ErrClosed) {
				t.Errorf("Session.Err = %v", err)
			}
			if _, _, err := c.Conn().Get("/"); err == nil {
				t.Error("the Conn answers")
			}
		})
	})
}

// Close takes at most two seconds in every state of the connection, with
// requests in flight and without; called again and at the same time it returns
// when all is done. That no goroutine is left the bubble checks.
func TestCloseInEveryState(t *testing.T) {
	conds := append(conditions[:len(conditions):len(conditions)], conditions[0])
	conds[len(conds)-1].name, conds[len(conds)-1].cause = "connected", func(*world, *coordtest.Link, *coord.Client) {}
	for _, cond := range conds {
		for _, calls := range []int{0, 1, 7, 50} {
			t.Run(fmt.Sprintf("%s, %d calls", cond.name, calls), func(t *testing.T) {
				bubble(t, func(w *world) {
					l := w.line()
					c := w.client(l, coord.Options{})
					var wg sync.WaitGroup
					cond.cause(w, l, c)
					start := time.Now()
					ended := func(what string, err error) {
						if !errors.Is(err, coord.ErrClosed) && !isServed(cond.name, err) {
							t.Errorf("%s: %v, want ErrClosed", what, err)
						}
						if since := time.Since(start); since > soon {
							t.Errorf("%s ended %v after Close", what, since)
						}
					}
					for i := range calls {
						wg.Go(func() {
							_, _, err := c.Exists(bg, "/")
							ended("Exists", err)
						})
						wg.Go(func() {
							_, err := c.Create(bg, fmt.Sprintf("/x%d", i), nil, coord.Container)
							ended("Create", err)
						})
						wg.Go(func() {
							s := c.Watch(bg, fmt.Sprintf("/w%d", i), event.Data)
							<-s.Done()
							ended("Watch", s.Err())
						})
						if i < 3 { // the program's own, outside our count
							wg.Go(func() { c.Conn().Get("/") })
						}
					}
					synctest.Wait()
					start = time.Now()
					for range 3 {
						wg.Go(func() { w.Within(closing, "Close", func() { must(t, c.Close()) }) })
					}
					wg.Wait()
					if state, _ := c.State(); state != coord.Closed {
						t.Errorf("state %v", state)
					}
					w.Within(0, "Close again", func() { must(t, c.Close()) })
				})
			})
		}
	}
}

// isServed reports whether an error is what a request may get where the server
// answers.
func isServed(cond string, err error) bool { return cond == "connected" && err == nil }

// What cannot be told to the ensemble takes no time: without a connection
// Close does not wait.
func TestCloseDoesNotWaitForNothing(t *testing.T) {
	for _, cond := range conditions {
		if cond.up {
			continue
		}
		t.Run(cond.name, func(t *testing.T) {
			for range 20 {
				bubble(t, func(w *world) {
					l := w.line()
					c := w.client(l, coord.Options{})
					cond.cause(w, l, c)
					w.Within(soon, "Close", func() { c.Close() })
				})
			}
		})
	}
}

// Closing a connected client ends its session, and the ephemeral nodes in it, at
// once, be there requests in flight or not (R28).
func TestCloseEndsTheSessionAtOnce(t *testing.T) {
	for _, calls := range []int{0, 1, 5, 40} {
		bubble(t, func(w *world) {
			c := w.client(w.line(), coord.Options{})
			create(t, c, "/mine", "", coord.Ephemeral)
			var wg sync.WaitGroup
			for i := range calls {
				wg.Go(func() { c.Create(bg, fmt.Sprintf("/e%d", i), nil, coord.Ephemeral) })
			}
			w.Within(soon, "Close", func() { c.Close() })
			if tree := w.Tree(); strings.Contains(tree, "/") || len(w.Fake.Sessions()) != 0 {
				t.Errorf("with %d calls: sessions %v, tree\n%s", calls, w.Fake.Sessions(), tree)
			}
			wg.Wait()
		})
	}
}

// The library, closed while a server hangs in the handshake, comes back to life
// when the server does: it takes up the session again, carries out what was
// queued and keeps on pinging. The client must not.
func TestNoZombieAfterClose(t *testing.T) {
	for _, expired := range []bool{false, true} {
		for _, calls := range []int{1, 16, 40} {
			bubble(t, func(w *world) {
				l := w.line()
				c := w.client(l, coord.Options{})
				thaw := w.Fake.Freeze()
				l.Reset()
				if expired {
					w.Await(c, coord.Expired)
				} else {
					w.Await(c, coord.Suspended)
				}
				time.Sleep(100 * time.Millisecond) // virtual: amid the handshake
				for i := range calls {
					go c.Conn().Create(fmt.Sprintf("/zombie%d", i), nil, 0, zk.WorldACL(zk.PermAll))
					go c.Create(bg, fmt.Sprintf("/undead%d", i), nil, coord.Persistent)
				}
				synctest.Wait()
				w.Within(closing, "Close", func() { c.Close() })
				thaw()
				time.Sleep(time.Minute) // virtual: any session of ours that nobody keeps alive is over
				if len(w.Fake.Sessions()) != 0 || strings.Contains(w.Tree(), "/") {
					t.Errorf("expired %v, %d calls: sessions %v, tree\n%s", expired, calls, w.Fake.Sessions(), w.Tree())
				}
			})
		}
	}
}

// Close can be called while the session is being opened anew, at any moment.
func TestCloseAmidReconnect(t *testing.T) {
	for i := range 200 {
		bubble(t, func(w *world) {
			l := w.line()
			c := w.client(l, coord.Options{})
			create(t, c, "/a", "", 0)
			s := c.Watch(bg, "/a", event.Data)
			<-s.Updates()
			if i%2 == 0 {
				w.Fake.Expire(c.Kit().Session().ID())
			} else {
				l.Reset()
			}
			time.Sleep(time.Duration(i) * time.Microsecond) // virtual
			w.Within(closing, "Close", func() { c.Close() })
			if !errors.Is(s.Err(), coord.ErrClosed) {
				t.Errorf("stream: %v", s.Err())
			}
		})
	}
}
