package coord_test

import (
	"context"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/jute"
)

// A moody server grants no more than most, of what a client wishes for a session
// timeout: that is what a client meets when a server's configuration is changed.
// What is less than the real one would grant is only said.
type moody struct {
	line *coordtest.Link
	most atomic.Int64 // in nanoseconds
}

func (m *moody) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := m.line.Dial(ctx, network, addr)
	return &harness.Tap{
		Conn:    conn,
		Connect: func(r *jute.ConnectRequest) { r.Timeout = min(r.Timeout, time.Duration(m.most.Load())) },
		Welcome: func(r *jute.ConnectResponse) { r.Timeout = min(r.Timeout, time.Duration(m.most.Load())) },
	}, err
}

func (w *world) moody(wish, most time.Duration, servers ...string) (*moody, *coord.Client) {
	m := &moody{line: w.line()}
	m.most.Store(int64(most))
	c, err := coord.Dial(bg, servers, &coord.Options{Dial: m.dial, SessionTimeout: wish})
	must(w, err)
	w.Cleanup(func() { c.Close() })
	return m, c
}

// A server that resumes a session may grant another timeout. Heartbeats and lease
// go by it at once, but for what is more than the session was opened with, of which
// a later leader would not know. All that is held lives on as long as all is well,
// and is lost in time.
func TestResumedWithAnotherTimeout(t *testing.T) {
	const long, short, least = 40 * time.Second, 4 * time.Second, 2 * time.Second
	for _, grants := range [][]time.Duration{{long, short}, {long, least}, {short, long}, {long, short, long}} {
		for i := range 12 {
			bubble(t, func(w *world) {
				m, c := w.moody(long, grants[0], "one", "two")
				h := take(c, "/lock", nil)
				must(t, h.Wait())
				s := c.Kit().Session()
				timeout := grants[0]
				for _, granted := range grants[1:] {
					// The next renewal is due in 1/6 of the former timeout, which may be
					// more than the lease of the new one. It is asked for at once.
					time.Sleep(timeout + time.Duration(i)*timeout/12/6)
					timeout = min(granted, grants[0])
					m.most.Store(int64(granted))
					w.Flap(c, m.line.Reset)
					if s.Timeout() != timeout {
						t.Fatalf("%v, phase %d: timeout %v, want %v", grants, i, s.Timeout(), timeout)
					}
					time.Sleep(timeout / 100)
					if left := time.Until(h.Until()); left < timeout*47/100 || left > timeout*64/100 {
						t.Errorf("%v, phase %d: good for %v", grants, i, left)
					}
					time.Sleep(5 * timeout)
					if isClosed(h.Lost()) || c.Kit().Session() != s {
						t.Fatalf("%v, phase %d: %v", grants, i, h.Err())
					}
				}
				m.line.Stall(coordtest.Both)
				promised := h.Until()
				if left := time.Until(promised); left > timeout*64/100 {
					t.Errorf("%v, phase %d: good for %v", grants, i, left)
				}
				<-h.Lost()
				if d := time.Since(promised); d < 0 || d > time.Millisecond {
					t.Errorf("lost %v after it should have been", d)
				}
				if left := len(w.Fake.Sessions()); left != 1 {
					t.Errorf("%d sessions at the server when it is lost", left)
				}
			})
		}
	}
}

// A server may have resumed a session with a shorter timeout, and its answer was
// lost. The client finds out from the next, which it asks for within a second: so it
// does not take for held what the server has ended.
func TestShorterTimeoutWhoseAnswerIsLost(t *testing.T) {
	for i := range 10 {
		bubble(t, func(w *world) {
			m, c := w.moody(40*time.Second, 40*time.Second, "one")
			h := take(c, "/lock", nil)
			must(t, h.Wait())
			time.Sleep(time.Minute + time.Duration(i)*time.Second)
			lost := false
			m.line.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if f.Dir == coordtest.ToClient && f.Op == "connect" && !lost {
					lost = true
					return coordtest.Drop
				}
				return coordtest.Pass
			})
			m.most.Store(int64(4 * time.Second))
			began := time.Now()
			m.line.Reset()
			for time.Since(began) < time.Minute {
				time.Sleep(10 * time.Millisecond)
				if !slices.Contains(w.Fake.Sessions(), c.Kit().Session().ID()) && h.Err() == nil {
					t.Fatalf("phase %d: held %v after the reset, and the session is over at the server", i, time.Since(began))
				}
			}
			if !lost {
				t.Error("no answer was lost")
			}
			must(t, h.Err()) // it was found out in time to go on
		})
	}
}

// What is granted on an old lease is lost when Until says, and no later.
func TestLostWhenUntilSays(t *testing.T) {
	for i := range 20 {
		bubble(t, func(w *world) {
			const timeout = 24 * time.Second
			l := w.line()
			c := w.client(l, coord.Options{SessionTimeout: timeout})
			s := c.Kit().Session()
			must(t, s.Renew(bg, "/none"))
			time.Sleep(timeout*time.Duration(i)/20/3 - time.Millisecond) // the lease is still fresh
			l.Stall(coordtest.Both)
			h := seek(c, now)
			must(t, h.Wait())
			until := h.Until()
			<-h.Lost()
			if late := time.Since(until); late < 0 || late > time.Millisecond {
				t.Errorf("phase %d: lost %v after Until", i, late)
			}
		})
	}
}
