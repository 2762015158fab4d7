package coord_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/jute"
)

// A history is what the hooks of a Trace were told.
type history struct {
	mu   sync.Mutex
	said []string
	ids  []coord.SessionID
}

func (h *history) add(id coord.SessionID, format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, fmt.Sprintf(format, args...))
	h.ids = append(h.ids, id)
}

func (h *history) trace() *coord.Trace {
	return &coord.Trace{
		Connected:    func(_ context.Context, i coord.SessionInfo) { h.add(i.ID, "connected") },
		SuspendBegin: func(_ context.Context, i coord.SessionInfo) { h.add(i.ID, "suspended") },
		Expired:      func(_ context.Context, i coord.SessionInfo) { h.add(i.ID, "expired") },
	}
}

// After an expiry there is a new session; the channel of the old one is closed
// and that of the new one is not, and states follow each other in order (R22).
func TestNewSessionAfterExpiry(t *testing.T) {
	for name, end := range map[string]func(w *world, l *coordtest.Link, c *coord.Client){
		"told by the server": func(w *world, l *coordtest.Link, c *coord.Client) { w.Fake.Expire(c.Kit().Session().ID()) },
		"without an answer": func(w *world, l *coordtest.Link, c *coord.Client) {
			heal := l.Stall(coordtest.Both)
			time.Sleep(time.Minute)
			heal()
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				l := w.line()
				var h history
				c := w.client(l, coord.Options{Trace: h.trace()})
				first, expired := c.Kit().Session(), c.Expired()
				end(w, l, c)
				<-expired
				must(t, within(w, func() error { _, _, err := c.Exists(bg, "/"); return err }))
				second := c.Kit().Session()
				if second == first || second.ID() == first.ID() || isClosed(c.Expired()) || isClosed(second.Done()) || !isClosed(first.Done()) {
					t.Errorf("sessions %v, then %v", first.ID(), second.ID())
				}
				if !errors.Is(first.Err(), coord.ErrExpired) || second.Err() != nil {
					t.Errorf("errors %v, then %v", first.Err(), second.Err())
				}
				if _, err := first.Exists(bg, "/"); !errors.Is(err, coord.ErrExpired) {
					t.Errorf("call in the old session: %v", err)
				}
				synctest.Wait()
				h.mu.Lock()
				defer h.mu.Unlock()
				if want := []string{"connected", "suspended", "expired", "connected"}; !slices.Equal(h.said, want) {
					t.Errorf("was told %q, want %q", h.said, want)
				}
			})
		})
	}
}

func within(w *world, f func() error) (err error) {
	w.Within(time.Minute, "request", func() { err = f() })
	return err
}

// R63, R22, R23, R17: of 1,000 flaps, expiries among them, none is missed and
// none is told twice; each session is connected before it is suspended, and
// nothing is heard of it after it has expired.
func TestThousandFlaps(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		var h history
		c := w.client(l, coord.Options{Trace: h.trace()})
		var expiries int
		for i := range 1000 {
			s := c.Kit().Session()
			switch i % 5 {
			case 4:
				expiries++
				w.Fake.Expire(s.ID())
				<-s.Done()
			case 3:
				heal := l.Cut()
				time.Sleep(time.Duration(i) * time.Millisecond)
				heal()
			default:
				l.Reset()
			}
			if i%2 == 0 { // else the next blow falls amid the reconnect
				if _, _, err := c.Exists(bg, "/"); err != nil {
					t.Fatal(err)
				}
			}
			if i%5 == 3 {
				w.Await(c, coord.Connected) // so that there is a session to expire
			}
		}
		w.Await(c, coord.Connected)
		synctest.Wait()
		h.mu.Lock()
		defer h.mu.Unlock()
		state, over := map[coord.SessionID]string{}, map[coord.SessionID]bool{}
		var present coord.SessionID
		for i, id := range h.ids {
			said := h.said[i]
			switch {
			case over[id]:
				t.Fatalf("session %v: %s after its end", id, said)
			case said == "connected" && state[id] == "connected", said == "suspended" && state[id] != "connected":
				t.Fatalf("session %v: %s after %q", id, said, state[id])
			case said == "connected" && state[id] == "" && present != 0 && !over[present]:
				t.Fatalf("session %v begins before %v is over", id, present)
			}
			state[id], present = said, id
			over[id] = said == "expired"
		}
		var ended int
		for _, o := range over {
			if o {
				ended++
			}
		}
		if ended != expiries || len(w.Fake.Sessions()) != 1 {
			t.Errorf("%d sessions have ended, want %d; at the server %d live", ended, expiries, len(w.Fake.Sessions()))
		}
	})
}

// R91: what is asked for in one session is never done in another. Calls made
// while the line is down end with ErrExpired when the session does, and are not
// carried out, nor are those that were in flight.
func TestNothingCrossesSessions(t *testing.T) {
	for _, cond := range conditions {
		if cond.state == coord.Expired {
			continue
		}
		t.Run(cond.name, func(t *testing.T) {
			bubble(t, func(w *world) {
				l := w.line()
				c := w.client(l, coord.Options{})
				s := c.Kit().Session()
				// The same states as elsewhere, except that they end.
				var heal func()
				switch cond.name {
				case "server frozen":
					heal = w.Fake.Freeze()
				case "handshake hangs":
					heal = w.Fake.Freeze()
					l.Reset()
				case "refused":
					heal = l.Cut()
				case "stalled to the server":
					heal = l.Stall(coordtest.ToServer)
				case "stalled to the client":
					heal = l.Stall(coordtest.ToClient)
				default:
					heal = l.Stall(coordtest.Both)
				}
				if !cond.up {
					w.Await(c, coord.Suspended)
				}
				var wg sync.WaitGroup
				for i := range 70 {
					wg.Go(func() {
						time.Sleep(time.Duration(i%7) * 500 * time.Millisecond)
						_, err := s.Txn(bg, coord.OpCreate(fmt.Sprintf("/e%d", i), nil, coord.Ephemeral))
						// What was in flight when the connection broke may have been done,
						// in its own session; the rest ends with that.
						if !errors.Is(err, coord.ErrExpired) && !cond.up {
							t.Errorf("call %d: %v, want ErrExpired", i, err)
						}
						if err == nil || refused(err) {
							t.Errorf("call %d: %v, want doubt", i, err)
						}
					})
				}
				<-s.Done()
				w.Within(soon, "calls, after the end", wg.Wait)
				time.Sleep(time.Minute)
				heal()
				w.Await(c, coord.Connected)
				time.Sleep(time.Minute)
				if c.Kit().Session() == s || strings.Contains(w.Tree(), "/e") {
					t.Errorf("in session %v, after %v, there is\n%s", c.Kit().Session().ID(), s.ID(), w.Tree())
				}
			})
		})
	}
}

// R94: a server that answers a resumption with another session, in place of a
// word of refusal, has ended the first one.
func TestAnotherSessionIDMeansExpiry(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		var tamper bool
		c, err := coord.Dial(bg, []string{"server"}, &coord.Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := l.Dial(ctx, network, addr)
			lie := tamper
			tamper = false
			return &harness.Tap{Conn: conn, Welcome: func(r *jute.ConnectResponse) {
				if lie {
					r.Session = 0xabc
				}
			}}, err
		}})
		must(t, err)
		defer c.Close()
		s := c.Kit().Session()
		tamper = true
		l.Reset()
		w.Within(time.Second, "expiry", func() { <-s.Done() })
		if !errors.Is(s.Err(), coord.ErrExpired) {
			t.Errorf("session ended with %v", s.Err())
		}
		w.Await(c, coord.Connected)
		if id := c.Kit().Session().ID(); id == s.ID() || id == 0xabc {
			t.Errorf("now in session %v", id)
		}
	})
}
