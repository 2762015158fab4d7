package coord_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/jute"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// seek is a recipe that asks the server for nothing but a renewal: it is held when
// granted is closed and the lease fresh, until it is released.
func seek(c *coord.Client, granted <-chan struct{}) *coord.Hold {
	return c.Kit().NewHold(bg, "seek", "/sought", func(k *coord.Keeper) error {
		s := c.Kit().Session()
		select {
		case <-granted:
			if err := s.Renew(k.Context(), "/sought"); err != nil {
				return err
			}
			if err := k.Acquired(s, "/sought", 1); err != nil {
				return err
			}
		case <-k.Context().Done():
			return context.Cause(k.Context())
		}
		select {
		case <-k.Released():
			return coord.ErrReleased
		case <-s.Done():
			return s.Err()
		}
	})
}

// now is closed.
var now = func() <-chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}()

// passed is a frame, and when it passed a line.
type passed struct {
	coordtest.Frame
	at time.Time
}

// An orphan is a line to a server that loses its leader: it goes on to answer
// heartbeats and reads, and nothing else.
type orphan struct {
	mu       sync.Mutex
	orphaned bool
	frames   []passed
}

func orphanage(l *coordtest.Link) *orphan {
	o := new(orphan)
	l.OnFrame(func(f coordtest.Frame) coordtest.Action {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.orphaned && f.Dir == coordtest.ToClient && slices.Contains(passLeader, f.Op) {
			return coordtest.Drop
		}
		o.frames = append(o.frames, passed{f, time.Now()})
		return coordtest.Pass
	})
	return o
}

func (o *orphan) lose() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.orphaned = true
}

// passed returns when frames of op passed in direction d.
func (o *orphan) passed(d coordtest.Direction, op string) []time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	var at []time.Time
	for _, p := range o.frames {
		if p.Dir == d && p.Op == op {
			at = append(at, p.at)
		}
	}
	return at
}

// renewed returns when the newest request was written of those whose answers have
// passed the leader and reached the client.
func (o *orphan) renewed() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	var newest time.Time
	asked := map[string][]time.Time{}
	for _, p := range o.frames {
		key := p.Op + p.Path
		switch {
		case !slices.Contains(passLeader, p.Op):
		case p.Dir == coordtest.ToServer:
			asked[key] = append(asked[key], p.at)
		default:
			newest = asked[key][0]
			asked[key] = asked[key][1:]
		}
	}
	return newest
}

// A server without a leader answers heartbeats and reads for a while, and renews
// nothing. While something is held it is left for another at T/3.
func TestServerWithoutLeaderIsLeft(t *testing.T) {
	for _, timeout := range []time.Duration{4 * time.Second, 10 * time.Second, 40 * time.Second} {
		for i := range 20 {
			bubble(t, func(w *world) {
				two := newPair(w)
				c, err := coord.Dial(bg, []string{"one", "two"}, &coord.Options{Dial: two.dial, SessionTimeout: timeout})
				must(t, err)
				defer c.Close()
				first := two.present()
				var second *coordtest.Link
				for _, l := range two.lines {
					if l != first {
						second = l
					}
				}
				o, other := orphanage(first), orphanage(second)
				h := take(c, "/lock", nil)
				must(t, h.Wait())
				time.Sleep(timeout + timeout*time.Duration(i)/(6*20))
				o.lose()
				for range 50 { // reads are answered all the while
					c.Conn().Exists("/")
					time.Sleep(timeout / 50)
				}
				moved := other.passed(coordtest.ToServer, "connect")
				if len(moved) != 1 {
					t.Fatalf("T=%v, phase %d: %d connections to the other server", timeout, i, len(moved))
				}
				if age := moved[0].Sub(o.renewed()); age < timeout/3-time.Microsecond || age > timeout/3+timeout/100 {
					t.Errorf("T=%v, phase %d: left %v after the last word from the leader", timeout, i, age)
				}
				if n := len(o.passed(coordtest.ToClient, "exists")); n < 10 {
					t.Errorf("T=%v, phase %d: %d reads answered", timeout, i, n)
				}
				time.Sleep(3 * timeout)
				if isClosed(h.Lost()) || h.Err() != nil {
					t.Errorf("T=%v, phase %d: %v", timeout, i, h.Err())
				}
				must(t, h.Release(bg))
			})
		}
	}
}

// If all servers are without a leader, what is held is lost when the lease runs
// out that began with its last word, though heartbeats are answered meanwhile.
func TestNoLeaderAnywhere(t *testing.T) {
	for _, timeout := range []time.Duration{4 * time.Second, 10 * time.Second} {
		for i := range 20 {
			bubble(t, func(w *world) {
				l := w.line()
				o := orphanage(l)
				c := w.client(l, coord.Options{SessionTimeout: timeout})
				h := take(c, "/lock", nil)
				must(t, h.Wait())
				time.Sleep(timeout + timeout*time.Duration(i)/(6*20))
				o.lose()
				lost := time.Now()
				<-h.Lost()
				age, lease := time.Since(o.renewed()), timeout*64/100
				if age > lease || age < lease-timeout/100 {
					t.Errorf("T=%v, phase %d: lost %v after the last word from the leader, want %v", timeout, i, age, lease)
				}
				if pings := o.passed(coordtest.ToClient, "ping"); !pings[len(pings)-1].After(lost) {
					t.Errorf("T=%v, phase %d: no heartbeat was answered", timeout, i)
				}
				if !errors.Is(h.Err(), coord.ErrExpired) {
					t.Errorf("T=%v, phase %d: %v", timeout, i, h.Err())
				}
			})
		}
	}
}

// Without a hold nothing depends on the leader, and nothing is asked of it: the
// session lives on heartbeats, even with a server that has no leader.
func TestIdleSessionIsNotRenewed(t *testing.T) {
	bubble(t, func(w *world) {
		const timeout = 6 * time.Second
		l := w.line()
		o := orphanage(l)
		c := w.client(l, coord.Options{SessionTimeout: timeout})
		s := c.Kit().Session()
		o.lose()
		time.Sleep(10 * timeout)
		o.mu.Lock()
		for _, p := range o.frames {
			if p.Op != "connect" && p.Op != "ping" {
				t.Errorf("an idle client and its server say %q", p.Op)
			}
		}
		o.mu.Unlock()
		if n := len(o.passed(coordtest.ToServer, "connect")); n != 1 || s.Err() != nil || c.Kit().Session() != s {
			t.Errorf("%d connections; session %v", n, s.Err())
		}
		if n := len(o.passed(coordtest.ToServer, "ping")); n < 55 {
			t.Errorf("%d heartbeats in ten session timeouts", n)
		}
	})
}

// While something is sought, and nothing held, syncs are no more than T/6 apart.
// While anything is held, renewals are, and no less either: one for the session,
// however much is held in it, and none while other transactions do. With the last
// of it they stop.
func TestRenewalsWhileHeld(t *testing.T) {
	for _, timeout := range []time.Duration{4 * time.Second, 10 * time.Second} {
		bubble(t, func(w *world) {
			l := w.line()
			o := orphanage(l)
			c := w.client(l, coord.Options{SessionTimeout: timeout})
			create(t, c, "/busy", "", 0)
			s := c.Kit().Session()
			var from time.Time
			begin := func() { from = time.Now() }
			// every checks that frames of op have been sent each T/6 since begin.
			every := func(what, op string) {
				t.Helper()
				last, n := from, 0
				for _, at := range append(o.passed(coordtest.ToServer, op), time.Now()) {
					if at.Before(from) {
						continue
					}
					if gap := at.Sub(last); gap > timeout/6+time.Millisecond {
						t.Errorf("T=%v: %s, and no %s for %v", timeout, what, op, gap)
					}
					last = at
					n++
				}
				if most := int(time.Since(from)*6/timeout) + 3; n > most {
					t.Errorf("T=%v: %s, and %d times %s, want %d at most", timeout, what, n, op, most)
				}
			}
			none := func(what string, ops ...string) {
				t.Helper()
				for _, op := range ops {
					for _, at := range o.passed(coordtest.ToServer, op) {
						if !at.Before(from) {
							t.Errorf("T=%v: %s, and %s", timeout, what, op)
							return
						}
					}
				}
			}
			for range 3 {
				time.Sleep(2*timeout + 7*time.Millisecond)
				granted := make(chan struct{})
				begin()
				first := seek(c, granted)
				time.Sleep(5 * timeout)
				every("sought", "sync")
				none("sought", "check")
				close(granted)
				must(t, first.Wait())
				begin()
				time.Sleep(5 * timeout)
				every("held", "check")
				none("held", "sync")
				second := take(c, "/lock", nil)
				must(t, second.Wait())
				begin()
				time.Sleep(5 * timeout)
				every("two are held", "check")
				begin()
				for range 50 {
					set(t, c, "/busy", "")
					time.Sleep(timeout / 10)
				}
				none("held while other transactions are made", "check", "sync")
				must(t, first.Release(bg))
				begin()
				time.Sleep(5 * timeout)
				every("one is still held", "check")
				must(t, second.Release(bg))
				synctest.Wait()
				time.Sleep(timeout / 6) // what is under way
				begin()
				time.Sleep(5 * timeout)
				none("nothing is held", "check", "sync")
			}
			if s.Err() != nil {
				t.Errorf("T=%v: %v", timeout, s.Err())
			}
		})
	}
}

// In a session that has long been idle, so that its lease has run out, something can
// be acquired: what is old ends nothing.
func TestAcquireAfterIdleness(t *testing.T) {
	bubble(t, func(w *world) {
		const timeout = 6 * time.Second
		l := w.line()
		o := orphanage(l)
		c := w.client(l, coord.Options{SessionTimeout: timeout})
		s := c.Kit().Session()
		for i := range 10 {
			time.Sleep(10*timeout + time.Duration(i)*timeout/60)
			h := take(c, "/lock", nil)
			must(t, h.Wait())
			if left := time.Until(h.Until()); left < timeout/2 {
				t.Errorf("acquired, and good for %v", left)
			}
			time.Sleep(3 * timeout)
			if isClosed(h.Lost()) {
				t.Fatal(h.Err())
			}
			must(t, h.Release(bg))

			granted := make(chan struct{})
			time.Sleep(10 * timeout)
			h = seek(c, granted)
			time.Sleep(timeout) // it is renewed meanwhile
			close(granted)
			must(t, h.Wait())
			must(t, h.Release(bg))
		}
		if n := len(o.passed(coordtest.ToServer, "connect")); n != 1 || c.Kit().Session() != s {
			t.Errorf("%d connections; session %v", n, s.Err())
		}
	})
}

// A recipe that asks for nothing, not even a renewal, in a session in which no
// transaction has been carried out for too long, is granted nothing, though
// heartbeats are answered. Nothing else comes of it.
func TestNoGrantWithoutRenewal(t *testing.T) {
	bubble(t, func(w *world) {
		const timeout = 10 * time.Second
		c := w.client(w.line(), coord.Options{SessionTimeout: timeout})
		s := c.Kit().Session()
		time.Sleep(10*timeout + time.Millisecond)
		h := c.Kit().NewHold(bg, "seek", "/sought", func(k *coord.Keeper) error { return k.Acquired(s, "/sought", 1) })
		if err := h.Wait(); !errors.Is(err, coord.ErrExpired) {
			t.Errorf("Wait = %v, want ErrExpired", err)
		}
		<-h.Done()
		if isClosed(h.Acquired()) || isClosed(h.Lost()) || s.Err() != nil {
			t.Errorf("acquired %v, lost %v; session %v", isClosed(h.Acquired()), isClosed(h.Lost()), s.Err())
		}
		must(t, take(c, "/lock", nil).Wait())
	})
}

// What a server would hang up on is not sent.
func TestLongPaths(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		c := w.client(l, coord.Options{})
		r := harness.RecordLink(l)
		good := "/" + strings.Repeat("ü", 8191) + "x"
		if err := zkpath.Check(good); len(good) != 16<<10 || err != nil {
			t.Errorf("Check of %d bytes = %v", len(good), err)
		}
		for _, bad := range []string{good + "x", "/" + strings.Repeat("a/", 1<<20) + "a"} {
			err := zkpath.Check(bad)
			if !errors.Is(err, coord.ErrInvalidPath) || len(err.Error()) > 1000 {
				t.Errorf("Check of %d bytes = %.1000v", len(bad), err)
			}
			for _, s := range []*event.Stream[event.Snapshot]{c.Watch(bg, bad, event.Data), c.Kit().WatchUntilDeleted(bg, bad)} {
				if !errors.Is(s.Err(), coord.ErrInvalidPath) {
					t.Errorf("a stream on %d bytes: %.1000v", len(bad), s.Err())
				}
			}
		}
		synctest.Wait()
		if got := r.Requests(); len(got) > 0 {
			t.Errorf("asked for %.100q", got)
		}
	})
}

// When a server says that the session has moved, the connection is left and the session
// resumed; when it says that it has expired, it is over. So it is in answers to requests
// of every kind.
func TestSessionWords(t *testing.T) {
	const expired, moved = jute.CodeSessionExpired, jute.CodeSessionMoved
	for _, code := range []jute.Code{expired, moved} {
		for _, sync := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d, sync %v", code, sync), func(t *testing.T) {
				bubble(t, func(w *world) {
					l := w.line()
					var inject atomic.Int32
					c, err := coord.Dial(bg, []string{"server"}, &coord.Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
						conn, err := l.Dial(ctx, network, addr)
						return &harness.Tap{Conn: conn, Reply: func(body []byte) []byte {
							if jute.NewDecoder(body).ReplyHeader().Xid >= 0 {
								if code := jute.Code(inject.Swap(0)); code != jute.OK {
									return harness.Refuse(body, code)
								}
							}
							return body
						}}, err
					}})
					must(t, err)
					defer c.Close()
					s, r := c.Kit().Session(), harness.RecordLink(l)
					h := take(c, "/lock", nil)
					must(t, h.Wait())
					synctest.Wait() // until no sync is under way
					until := h.Until()
					inject.Store(int32(code))
					if sync {
						time.Sleep(s.Timeout() / 5) // none but the next sync
					} else {
						_, err := s.Multi(bg, coord.OpDelete("/none", -1))
						if code == moved && !errors.Is(err, zk.ErrSessionMoved) || code == expired && !errors.Is(err, coord.ErrExpired) {
							t.Errorf("error %v", err)
						}
					}
					w.Await(c, coord.Connected)
					synctest.Wait()
					if code == expired {
						if !errors.Is(s.Err(), coord.ErrExpired) || c.Kit().Session() == s || !isClosed(h.Lost()) {
							t.Errorf("session %v, lost %v", s.Err(), isClosed(h.Lost()))
						}
						if h.Until().After(until) {
							t.Error("by the word that the session has expired, the lease is longer")
						}
						return
					}
					if !slices.Contains(r.Requests(), "connect") {
						t.Error("the connection has not been left")
					}
					time.Sleep(time.Minute)
					if s.Err() != nil || c.Kit().Session() != s || isClosed(h.Lost()) {
						t.Errorf("session %v, lost %v", s.Err(), isClosed(h.Lost()))
					}
					must(t, h.Release(bg))
				})
			})
		}
	}
}
