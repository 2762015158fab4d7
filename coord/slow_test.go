package coord_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/ensemble"
)

// A narrow conn is one end of a line that carries so many bytes a second.
type narrow struct {
	net.Conn
	rate int
}

func (c narrow) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b[:min(len(b), 1400)]) // a packet
	time.Sleep(time.Duration(n) * time.Second / time.Duration(c.rate))
	return n, err
}

func (c narrow) Write(b []byte) (int, error) {
	for n := 0; n < len(b); n += 1400 {
		packet := b[n:min(n+1400, len(b))]
		time.Sleep(time.Duration(len(packet)) * time.Second / time.Duration(c.rate))
		if _, err := c.Conn.Write(packet); err != nil {
			return n, err
		}
	}
	return len(b), nil
}

// An answer may take any time to arrive on a slow line, as long as it does arrive:
// the connection is not given up, and no session is.
func TestLargeAnswersOnASlowLine(t *testing.T) {
	for _, x := range []struct {
		timeout time.Duration
		bytes   int
		rate    int
	}{
		{4 * time.Second, 900 << 10, 300 << 10},
		{4 * time.Second, 900 << 10, 30 << 10},
		{10 * time.Second, 530 << 10, 120 << 10},
	} {
		t.Run(fmt.Sprintf("T=%v, %d KiB at %d KiB/s", x.timeout, x.bytes>>10, x.rate>>10), func(t *testing.T) {
			bubble(t, func(w *world) {
				create(t, w.client(w.line(), coord.Options{}), "/big", string(make([]byte, x.bytes)), 0)
				l := w.line()
				dials := 0
				c, err := coord.Dial(bg, []string{"server"}, &coord.Options{
					SessionTimeout: x.timeout,
					Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
						dials++
						conn, err := l.Dial(ctx, network, addr)
						return narrow{conn, x.rate}, err
					},
				})
				must(t, err)
				defer c.Close()
				s := c.Kit().Session()
				began := time.Now()
				var snap event.Snapshot
				select {
				case snap = <-c.Watch(bg, "/big", event.Data).Updates():
				case <-time.After(time.Minute):
					t.Fatalf("not there after a minute, and %d connections", dials)
				}
				if took, least := time.Since(began), time.Duration(x.bytes)*time.Second/time.Duration(x.rate); took < least {
					t.Errorf("%d bytes arrived after %v", len(snap.Data), took)
				}
				if len(snap.Data) != x.bytes || snap.Suspended {
					t.Errorf("%d bytes, suspended %v", len(snap.Data), snap.Suspended)
				}
				if dials != 1 || s.Err() != nil {
					t.Errorf("%d connections; session %v", dials, s.Err())
				}
			})
		})
	}
}

// A request may take nearly the session's timeout to get through, in which no
// heartbeat does.
func TestLargeRequestOnASlowLine(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		dials := 0
		c, err := coord.Dial(bg, []string{"server"}, &coord.Options{
			SessionTimeout: 4 * time.Second,
			Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
				dials++
				conn, err := l.Dial(ctx, network, addr)
				return narrow{conn, 300 << 10}, err
			},
		})
		must(t, err)
		defer c.Close()
		began := time.Now()
		create(t, c, "/big", string(make([]byte, 900<<10)), 0)
		if took := time.Since(began); took < 3*time.Second || took > 4*time.Second || dials != 1 {
			t.Errorf("took %v, and %d connections", took, dials)
		}
	})
}

// From a real server, too: a value of 900 KiB at 300 KiB a second takes three of
// the four seconds of the session's timeout, and nothing is suspended meanwhile.
func TestLargeAnswerOfARealServer(t *testing.T) {
	t.Parallel()
	e := ensemble.Shared(t)
	writer, err := coord.Dial(bg, e.Servers(), nil)
	must(t, err)
	defer writer.Close()
	path := fmt.Sprintf("/slow-%d", time.Now().UnixNano())
	create(t, writer, path, string(make([]byte, 900<<10)), coord.Ephemeral)
	var suspended atomic.Int32
	c, err := coord.Dial(bg, e.Servers(), &coord.Options{
		SessionTimeout: 4 * time.Second,
		Trace:          &coord.Trace{SuspendBegin: func(context.Context, coord.SessionInfo) { suspended.Add(1) }},
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			return narrow{conn, 300 << 10}, err
		},
	})
	must(t, err)
	defer c.Close()
	s := c.Kit().Session()
	var snap event.Snapshot
	select {
	case snap = <-c.Watch(bg, path, event.Data).Updates():
	case <-time.After(time.Minute):
		t.Fatalf("not there after a minute; suspended %d times", suspended.Load())
	}
	if len(snap.Data) != 900<<10 || suspended.Load() > 0 || s.Err() != nil {
		t.Errorf("%d bytes; suspended %d times; session %v", len(snap.Data), suspended.Load(), s.Err())
	}
}

// Requests that wait for those before them are not lost, however long that takes.
func TestManyRequestsAnsweredInTurn(t *testing.T) {
	bubble(t, func(w *world) {
		const timeout = 10 * time.Second
		l := w.line()
		c := w.client(l, coord.Options{SessionTimeout: timeout})
		s := c.Kit().Session()
		var mu sync.Mutex
		connects := 0
		l.OnFrame(func(f coordtest.Frame) coordtest.Action {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case f.Op == "connect":
				connects++
			case f.Dir == coordtest.ToClient && f.Op == "exists":
				time.Sleep(5 * time.Millisecond) // of the bubble
			}
			return coordtest.Pass
		})
		conn := c.Conn() // which takes any number at a time
		var wg sync.WaitGroup
		failed := make(chan error, 2000)
		for range 2000 {
			wg.Go(func() {
				if _, _, err := conn.Exists("/"); err != nil {
					failed <- err
				}
			})
		}
		wg.Wait()
		if n := len(failed); n > 0 {
			t.Errorf("%d of 2000 fail, the first with %v", n, <-failed)
		}
		if connects > 0 || s.Err() != nil {
			t.Errorf("connected %d times more; session %v", connects, s.Err())
		}
	})
}

// A request whose answer is lost, while others are answered, is found out after a
// third of the timeout: the connection is left, and the request fails.
func TestLostAnswerIsFoundOut(t *testing.T) {
	for _, op := range []string{"getData", "setData"} {
		for i := range 10 {
			bubble(t, func(w *world) {
				const timeout = 6 * time.Second
				l := w.line()
				c := w.client(l, coord.Options{SessionTimeout: timeout})
				create(t, c, "/n", "", 0)
				time.Sleep(time.Duration(i) * timeout / 60)
				l.OnFrame(func(f coordtest.Frame) coordtest.Action {
					if f.Dir == coordtest.ToClient && f.Op == op {
						return coordtest.Drop
					}
					return coordtest.Pass
				})
				began := time.Now()
				done := make(chan error, 1)
				go func() {
					var err error
					if op == "getData" {
						_, _, err = c.Conn().Get("/n")
					} else {
						_, err = c.Conn().Set("/n", nil, -1)
					}
					done <- err
				}()
				tick := time.NewTicker(timeout / 50)
				defer tick.Stop()
				for {
					select {
					case err := <-done:
						if err == nil {
							t.Error("a lost answer has arrived")
						}
						if took := time.Since(began); took < timeout/3 || took > timeout/3+timeout/24+soon {
							t.Errorf("%s, phase %d: found out after %v", op, i, took)
						}
						return
					case <-tick.C:
						c.Conn().Exists("/") // is answered, or fails with the connection
					}
				}
			})
		}
	}
}
