package coord_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/jute"
	"github.com/zkcoord/zkcoord/lock"
)

// A bouncer stands at the door of a server. What real servers do when they are
// configured so it does while it is told to: as TestServersThatDemand shows, they
// grant a session, take any credential, and end it at the first request or
// heartbeat.
type bouncer struct {
	dial    func(ctx context.Context, network, addr string) (net.Conn, error)
	demands atomic.Bool  // authentication
	moody   atomic.Bool  // hangs up behind its first answer to a request
	dials   atomic.Int32 // so far
}

func (b *bouncer) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	b.dials.Add(1)
	conn, err := b.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &harness.Tap{Conn: conn, Reply: func(body []byte) []byte {
		xid := jute.NewDecoder(body).ReplyHeader().Xid
		switch {
		case b.demands.Load() && xid != jute.XidAuth:
			body = harness.Refuse(body, jute.CodeAuthenticationMissing)
			conn.Close()
		case b.moody.Load() && xid >= 0:
			conn.Close()
		}
		return body
	}}, nil
}

// stormless is how many connections a client may make in five seconds to servers
// that refuse it: what doubling from 20 ms to a second, less jitter, comes to.
const stormless = 20

// A server that demands authentication ends Dial, at once if there is no other,
// whether the client has some other credential or none. The error says why, and
// no secret.
func TestDialWhereAuthenticationIsRequired(t *testing.T) {
	for name, auth := range map[string][]coord.Auth{
		"no credential":    nil,
		"other credential": {{Scheme: "digest", Credential: []byte("u:" + secret)}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				b := &bouncer{dial: w.line().Dial}
				b.demands.Store(true)
				var j journal
				w.Within(soon, "Dial", func() {
					_, err := coord.Dial(bg, []string{"server"}, &coord.Options{Dial: b.Dial, Auth: auth, Logger: j.logger()})
					if !errors.Is(err, zk.ErrAuthFailed) || !strings.Contains(err.Error(), "server:2181: server ends sessions without the authentication") {
						t.Errorf("error %v", err)
						return
					}
					if strings.Contains(err.Error()+j.String(), secret) {
						t.Errorf("the secret is told: %v; log:\n%s", err, &j)
					}
				})
				if n := b.dials.Load(); n != 1 {
					t.Errorf("%d connections, want 1", n)
				}
			})
		})
	}
}

// While one server is down that might do, Dial goes on until its ctx ends. It does
// not storm those that refuse it, and says of each what is wrong: in its error
// with that of ctx, and in the log once.
func TestDialDoesNotStormServersThatRefuse(t *testing.T) {
	bubble(t, func(w *world) {
		b := &bouncer{dial: w.line().Dial}
		b.demands.Store(true)
		down := errors.New("connection refused")
		var j journal
		ctx, cancel := context.WithTimeout(bg, 5*time.Second)
		defer cancel()
		_, err := coord.Dial(ctx, []string{"insists", "down"}, &coord.Options{Logger: j.logger(), Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if strings.HasPrefix(addr, "down:") {
				return nil, down
			}
			return b.Dial(ctx, network, addr)
		}})
		for _, want := range []error{context.DeadlineExceeded, zk.ErrAuthFailed, down} {
			if !errors.Is(err, want) {
				t.Errorf("error %v, want that it is %v", err, want)
			}
		}
		if n := b.dials.Load(); n > stormless {
			t.Errorf("%d connections in 5 s", n)
		}
		if n := strings.Count(j.String(), `msg="no session from zookeeper server" server=insists:2181`); n != 1 {
			t.Errorf("the log says %d times that there is no session from the server:\n%s", n, &j)
		}
	})
}

// A server among others that refuse the client is found.
func TestDialFindsTheOneThatDoesNotRefuse(t *testing.T) {
	for range 20 { // the order is random
		bubble(t, func(w *world) {
			b, l := &bouncer{dial: w.line().Dial}, w.line()
			b.demands.Store(true)
			c, err := coord.Dial(bg, []string{"a", "b", "good"}, &coord.Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
				if strings.HasPrefix(addr, "good:") {
					return l.Dial(ctx, network, addr)
				}
				return b.Dial(ctx, network, addr)
			}})
			must(t, err)
			must(t, c.Close())
		})
	}
}

// Servers that come to refuse a client that they have served are not stormed
// either. Calls that wait go on, and if its ctx ends the error says why nothing
// has come, which must not be taken for an answer. When they serve the client
// again it is served.
func TestServersThatComeToRefuse(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		b := &bouncer{dial: l.Dial}
		var j journal
		c, err := coord.Dial(bg, []string{"server"}, &coord.Options{Dial: b.Dial, Logger: j.logger()})
		must(t, err)
		defer c.Close()
		create(t, c, "/a", "", 0)
		time.Sleep(time.Minute) // virtual: until the server is known to be good
		s := c.Watch(bg, "/a", event.Data)
		<-s.Updates()

		b.demands.Store(true)
		b.dials.Store(0)
		l.Reset()
		ctx, cancel := context.WithTimeout(bg, 5*time.Second)
		defer cancel()
		patient := lock.New(c, "/lock").Acquire(bg)
		h := lock.New(c, "/lock").Acquire(ctx)
		if err := h.Wait(); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, zk.ErrAuthFailed) {
			t.Errorf("Acquire ended with %v", err)
		}
		if n := b.dials.Load(); n > stormless {
			t.Errorf("%d connections in 5 s", n)
		}
		for _, wait := range waits {
			err := wait.wait(ctx, c)
			if wait.name != "Release" && (!errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "without the authentication that it requires")) {
				t.Errorf("%s: %v", wait.name, err)
			}
			if wait.name != "Watch" && wait.name != "Follow" && refused(err) {
				t.Errorf("%s: %v is taken for an answer", wait.name, err)
			}
		}
		if state, _ := c.State(); state != coord.Suspended {
			t.Errorf("state %v", state)
		}
		if n := strings.Count(j.String(), `msg="no session from zookeeper server"`); n != 1 {
			t.Errorf("the log says %d times that there is no session from the server:\n%s", n, &j)
		}

		b.demands.Store(false)
		must(t, patient.Wait())
		must(t, patient.Release(bg))
		set(t, c, "/a", "new")
		for snap, _ := s.Latest(); string(snap.Data) != "new"; snap, _ = s.Latest() {
			<-s.Updates()
		}
	})
}

// A server that serves the client and hangs up each time it is asked for something
// is not stormed either, though the session is resumed each time.
func TestServerThatHangsUpAgainAndAgain(t *testing.T) {
	for _, timeout := range []time.Duration{4 * time.Second, 10 * time.Second, time.Minute} {
		bubble(t, func(w *world) {
			b := &bouncer{dial: w.line().Dial}
			c, err := coord.Dial(bg, []string{"server"}, &coord.Options{Dial: b.Dial, SessionTimeout: timeout})
			must(t, err)
			defer c.Close()
			time.Sleep(time.Minute) // virtual: until the server is known to be good
			b.moody.Store(true)
			for _, span := range []time.Duration{5 * time.Second, time.Minute} {
				b.dials.Store(0)
				end := time.Now().Add(span)
				for time.Now().Before(end) {
					_, _ = c.Kit().Session().Txn(bg, coord.OpCheck("/", -1))
				}
				if n := b.dials.Load(); n > stormless+int32(span/time.Second) {
					t.Errorf("T=%v: %d connections in %v", timeout, n, span)
				}
			}
			b.moody.Store(false)
			_, _, err = c.Exists(bg, "/")
			must(t, err)
		})
	}
}

// What a server says that turns the client away is found in the error of what began
// meanwhile and ended with its ctx. Without such a word it is ctx's cause itself.
func TestReasonOfAWait(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		b := &bouncer{dial: l.Dial}
		c, err := coord.Dial(bg, []string{"server"}, &coord.Options{Dial: b.Dial})
		must(t, err)
		defer c.Close()
		heal := l.Cut()
		w.Await(c, coord.Suspended)
		ctx, cancel := context.WithTimeout(bg, time.Second)
		if _, err := c.Kit().Session().Exists(ctx, "/"); err != context.DeadlineExceeded {
			t.Errorf("Exists = %#v, want ctx's cause itself", err)
		}
		cancel()
		b.demands.Store(true)
		heal()
		for n := b.dials.Load(); b.dials.Load() < n+3; {
			time.Sleep(10 * time.Millisecond)
		}
		ctx, cancel = context.WithTimeout(bg, time.Second)
		defer cancel()
		h := lock.New(c, "/lock").Acquire(ctx)
		_, asked := c.Kit().Session().Exists(ctx, "/")
		for what, err := range map[string]error{"Acquire": h.Wait(), "Exists": asked} {
			if !errors.Is(err, zk.ErrAuthFailed) || !errors.Is(err, context.DeadlineExceeded) || refused(err) {
				t.Errorf("%s = %v; refused %v", what, err, refused(err))
			}
		}
	})
}

// R61: servers that ask for a permission to look at the root, for exists as well,
// as newer ones do, do not keep a client from connecting that has not got it.
func TestDialWhereTheRootIsClosed(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		auth := []coord.Auth{{Scheme: "digest", Credential: []byte("u:" + secret)}}
		ctx, cancel := context.WithTimeout(bg, 5*time.Second)
		defer cancel()
		c, err := coord.Dial(ctx, []string{"server"}, &coord.Options{Auth: auth, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := l.Dial(ctx, network, addr)
			return &harness.Tap{Conn: conn, Reply: func(body []byte) []byte {
				if jute.NewDecoder(body).ReplyHeader().Xid >= 0 {
					return harness.Refuse(body, jute.CodeNoAuth)
				}
				return body
			}}, err
		}})
		must(t, err)
		_, err = c.Kit().Session().Exists(bg, "/")
		if !errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("exists: %v", err)
		}
		must(t, c.Close())
	})
}

// R61: that an attempt to dial has run out of time is not to be mistaken for the
// end of Dial's ctx, though the error speaks of both.
func TestDialErrorIsThatOfItsContext(t *testing.T) {
	bubble(t, func(w *world) {
		ctx, cancel := context.WithCancelCause(bg)
		time.AfterFunc(time.Minute, func() { cancel(errFinal) })
		_, err := coord.Dial(ctx, []string{"blackhole"}, &coord.Options{Dial: dialBad})
		if !errors.Is(err, errFinal) || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "deadline exceeded") {
			t.Errorf("error %v, want %v for the end and not for a server", err, errFinal)
		}
	})
}
