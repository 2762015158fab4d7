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
)

// take is a recipe as its author writes one: it creates an ephemeral znode and
// holds it until it is released or lost; gone has it end with ErrDeleted.
func take(c *coord.Client, path string, gone <-chan struct{}) *coord.Hold {
	return c.Kit().NewHold(bg, "take", path, func(k *coord.Keeper) error {
		s, err := k.Await(bg)
		if err != nil {
			return err
		}
		if _, err = s.Create(k.Context(), path, nil, coord.Ephemeral); err != nil {
			return err
		}
		n, err := s.Exists(bg, path)
		if err != nil {
			return err
		}
		if err := k.Acquired(s, path, coord.Token(n.Czxid)); err != nil {
			return err
		}
		select {
		case <-s.Done():
			return s.Err()
		case <-gone:
			return coord.ErrDeleted
		case <-k.Released():
		}
		if err := s.Delete(bg, path, -1); refused(err) {
			k.NotRemoved(err)
		}
		return coord.ErrReleased
	})
}

// errFinal is the cause with which tests cancel.
var errFinal = errors.New("lost interest")

// However a Hold ends, its channels, its one cause and its contexts agree.
func TestHoldEnds(t *testing.T) {
	for _, tt := range []struct {
		name           string
		end            func(w *world, l *coordtest.Link, c *coord.Client, h *coord.Hold, gone chan struct{})
		acquired, lost bool
		want           error
	}{
		{"released", func(w *world, _ *coordtest.Link, _ *coord.Client, h *coord.Hold, _ chan struct{}) {
			must(w, h.Wait())
			must(w, h.Release(bg))
		}, true, false, coord.ErrReleased},
		{"released while sought", func(w *world, l *coordtest.Link, _ *coord.Client, h *coord.Hold, _ chan struct{}) {
			heal := l.Stall(coordtest.Both)
			must(w, h.Release(bg))
			heal()
		}, false, false, coord.ErrReleased},
		{"expired by the server", func(w *world, _ *coordtest.Link, c *coord.Client, h *coord.Hold, _ chan struct{}) {
			must(w, h.Wait())
			w.Fake.Expire(c.Kit().Session().ID())
		}, true, true, coord.ErrExpired},
		{"cut off", func(w *world, l *coordtest.Link, c *coord.Client, h *coord.Hold, _ chan struct{}) {
			must(w, h.Wait())
			l.Stall(coordtest.Both)
		}, true, true, coord.ErrExpired},
		{"client closed", func(w *world, _ *coordtest.Link, c *coord.Client, h *coord.Hold, _ chan struct{}) {
			must(w, h.Wait())
			c.Close()
		}, true, true, coord.ErrClosed},
		{"client closed while sought", func(w *world, l *coordtest.Link, c *coord.Client, h *coord.Hold, _ chan struct{}) {
			l.Stall(coordtest.Both)
			c.Close()
		}, false, false, coord.ErrClosed},
		{"deleted", func(w *world, _ *coordtest.Link, c *coord.Client, h *coord.Hold, gone chan struct{}) {
			must(w, h.Wait())
			close(gone)
		}, true, true, coord.ErrDeleted},
		{"refused", func(w *world, _ *coordtest.Link, c *coord.Client, h *coord.Hold, gone chan struct{}) {
		}, false, false, zk.ErrNodeExists},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(w *world) {
				l := w.line()
				c := w.client(l, coord.Options{})
				if tt.want == zk.ErrNodeExists {
					create(t, c, "/lock", "", 0)
				}
				if !tt.acquired && tt.want != zk.ErrNodeExists {
					l.Cut() // before it is sought
					w.Await(c, coord.Suspended)
				}
				gone := make(chan struct{})
				h := take(c, "/lock", gone)
				work := h.Context(bg)
				go tt.end(w, l, c, h, gone)
				select {
				case <-h.Lost():
					if h.Err() == nil {
						t.Error("lost, and Err = nil")
					}
				case <-h.Done():
					if isClosed(h.Lost()) != tt.lost {
						t.Errorf("done, and lost = %v, want %v", isClosed(h.Lost()), tt.lost)
					}
				}
				<-h.Done()
				<-work.Done()
				if isClosed(h.Acquired()) != tt.acquired || isClosed(h.Lost()) != tt.lost {
					t.Errorf("acquired %v, lost %v; want %v, %v", isClosed(h.Acquired()), isClosed(h.Lost()), tt.acquired, tt.lost)
				}
				err := h.Err()
				op := "take"
				switch {
				case tt.lost:
					op = "lost"
				case tt.want == coord.ErrReleased:
					op = "release"
				}
				var e *coord.Error
				if !errors.Is(err, tt.want) || !errors.As(err, &e) || e.Op != op || e.Path != "/lock" {
					t.Errorf("Err = %#v, want an *Error of %s /lock: %v", err, op, tt.want)
				}
				for _, other := range []error{coord.ErrReleased, coord.ErrExpired, coord.ErrClosed, coord.ErrDeleted, coord.ErrLocked, coord.ErrRevoked, coord.ErrExhausted} {
					if errors.Is(err, other) != (other == tt.want) {
						t.Errorf("Err = %v is also %v", err, other)
					}
				}
				if h.Wait() != err || context.Cause(work) != err || context.Cause(h.Context(bg)) != err {
					t.Errorf("Wait %v, cause %v, cause of a later context %v; want %v", h.Wait(), context.Cause(work), context.Cause(h.Context(bg)), err)
				}
				if err := h.Release(bg); err != nil {
					t.Errorf("Release of what is over: %v", err)
				}
				if (h.Token() != 0) != tt.acquired {
					t.Errorf("token %d", h.Token())
				}
			})
		})
	}
}

// A Hold that is released first is never lost, whatever happens then; Release is
// idempotent, also at the same time, and gives the hold up though its ctx ends.
func TestReleasedIsNeverLost(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		c := w.client(l, coord.Options{})
		h := take(c, "/lock", nil)
		must(t, h.Wait())
		heal := l.Stall(coordtest.Both)
		ctx, cancel := context.WithCancelCause(bg)
		cancel(errFinal)
		err := h.Release(ctx)
		var e *coord.Error
		if !errors.Is(err, errFinal) || !errors.As(err, &e) || e.Op != "release" || e.Path != "/lock" {
			t.Errorf("Release = %#v, want the cause of ctx", err)
		}
		if !errors.Is(h.Err(), coord.ErrReleased) || isClosed(h.Done()) {
			t.Errorf("released, Err = %v, done %v", h.Err(), isClosed(h.Done()))
		}
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { must(t, h.Release(bg)) })
		}
		time.Sleep(time.Minute) // the session ends meanwhile
		wg.Wait()
		heal()
		if isClosed(h.Lost()) || !errors.Is(h.Err(), coord.ErrReleased) {
			t.Errorf("lost %v, Err = %v", isClosed(h.Lost()), h.Err())
		}
	})
}

// A znode that may not be removed is reported by Release, each time.
func TestReleaseReportsALeftover(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client(w.line(), coord.Options{})
		create(t, c, "/dir", "", 0)
		h := take(c, "/dir/lock", nil)
		must(t, h.Wait())
		_, err := c.Conn().SetACL("/dir", zk.WorldACL(zk.PermAll&^zk.PermDelete), -1)
		must(t, err)
		for range 2 {
			if err := h.Release(bg); !errors.Is(err, zk.ErrNoAuth) {
				t.Errorf("Release = %v, want %v", err, zk.ErrNoAuth)
			}
		}
		if !errors.Is(h.Err(), coord.ErrReleased) || isClosed(h.Lost()) || !isClosed(h.Done()) {
			t.Errorf("Err = %v, lost %v, done %v", h.Err(), isClosed(h.Lost()), isClosed(h.Done()))
		}
	})
}

// R40, R77: what is guarded happens only while the hold is held: not before, and
// not after, even if another client asks.
func TestGuard(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		c, other := w.client(l, coord.Options{}), w.client(w.line(), coord.Options{})
		write := func(c *coord.Client, h *coord.Hold, data string) error {
			_, err := c.Txn(bg, h.Guard(), coord.OpSet("/store", []byte(data), -1))
			return err
		}
		create(t, c, "/store", "", 0)
		heal := l.Cut()
		w.Await(c, coord.Suspended)
		h := take(c, "/lock", nil)
		if err := write(other, h, "too early"); !errors.Is(err, zk.ErrNoNode) {
			t.Errorf("guarded write before the hold: %v, want %v", err, zk.ErrNoNode)
		}
		heal()
		must(t, h.Wait())
		must(t, write(c, h, "held"))
		l.Stall(coordtest.Both)
		<-h.Done()
		must(t, write(other, h, "still there")) // the server keeps the session a little longer
		for len(w.Fake.Sessions()) > 1 {
			time.Sleep(time.Second)
		}
		if err := write(other, h, "too late"); !errors.Is(err, zk.ErrNoNode) {
			t.Errorf("guarded write after the hold: %v, want %v", err, zk.ErrNoNode)
		}
		if !strings.Contains(w.Tree(), "still there") {
			t.Errorf("tree\n%s", w.Tree())
		}
	})
}

// The context of a hold ends with its parent, with the parent's cause, and does
// not keep the hold from being forgotten.
func TestHoldContextEndsWithItsParent(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client(w.line(), coord.Options{})
		h := take(c, "/lock", nil)
		must(t, h.Wait())
		parent, cancel := context.WithCancelCause(bg)
		work, rest := h.Context(parent), h.Context(bg)
		cancel(errFinal)
		synctest.Wait()
		if context.Cause(work) != errFinal || rest.Err() != nil || h.Err() != nil {
			t.Errorf("cause %v; other context %v; hold %v", context.Cause(work), rest.Err(), h.Err())
		}
		must(t, h.Release(bg))
		if !errors.Is(context.Cause(rest), coord.ErrReleased) {
			t.Errorf("cause %v, want ErrReleased", context.Cause(rest))
		}
	})
}

// A hundred holds are all lost at the moment at which their session is, before a request
// that waits in it is seen to fail.
func TestLostComesFirst(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		c := w.client(l, coord.Options{})
		var holds []*coord.Hold
		for i := range 100 {
			h := take(c, fmt.Sprintf("/lock%d", i), nil)
			must(t, h.Wait())
			holds = append(holds, h)
		}
		s := c.Kit().Session()
		heal := l.Cut()
		w.Await(c, coord.Suspended)
		w.Fake.Expire(s.ID())
		time.AfterFunc(time.Second, heal)
		if _, err := s.Txn(bg, coord.OpCheck("/", -1)); !errors.Is(err, coord.ErrExpired) {
			t.Errorf("request of a session that has expired: %v", err)
		}
		for i, h := range holds {
			if !isClosed(h.Lost()) {
				t.Fatalf("a request has failed with the session, and hold %d is not lost", i)
			}
		}
	})
}
