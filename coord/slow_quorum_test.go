package coord_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
)

// An ensemble that takes long for each transaction, up to a quarter of the timeout,
// costs nothing that is held, and after the first of them no connection.
func TestSlowQuorum(t *testing.T) {
	for _, timeout := range []time.Duration{4 * time.Second, 10 * time.Second} {
		for _, percent := range []int{5, 12, 17, 20, 25} {
			t.Run(fmt.Sprintf("T=%v, %d %% of it for a transaction", timeout, percent), func(t *testing.T) {
				bubble(t, func(w *world) {
					two := newPair(w)
					c, err := coord.Dial(bg, []string{"one", "two"}, &coord.Options{Dial: two.dial, SessionTimeout: timeout})
					must(t, err)
					defer c.Close()
					h := take(c, "/lock", nil)
					must(t, h.Wait())
					var mu sync.Mutex
					connects := 0
					for _, l := range two.lines {
						l.OnFrame(func(f coordtest.Frame) coordtest.Action {
							mu.Lock()
							if f.Op == "connect" && f.Dir == coordtest.ToClient {
								connects++
							}
							mu.Unlock()
							if f.Dir == coordtest.ToClient && slices.Contains(transactions, f.Op) {
								time.Sleep(timeout * time.Duration(percent) / 100) // of the bubble
							}
							return coordtest.Pass
						})
					}
					time.Sleep(20 * timeout)
					must(t, h.Err())
					mu.Lock()
					defer mu.Unlock()
					if connects > 2 {
						t.Errorf("%d connections", connects)
					}
				})
			})
		}
	}
}

// A joining conn gives what has come as a stream does, not write by write.
type joining struct {
	net.Conn
	mu   sync.Mutex
	more *sync.Cond
	buf  []byte
	err  error
}

func newJoining(conn net.Conn) *joining {
	j := &joining{Conn: conn}
	j.more = sync.NewCond(&j.mu)
	go func() {
		b := make([]byte, 64<<10)
		for j.err == nil {
			n, err := conn.Read(b)
			j.mu.Lock()
			j.buf, j.err = append(j.buf, b[:n]...), err
			j.mu.Unlock()
			j.more.Signal()
		}
	}()
	return j
}

func (j *joining) Read(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for len(j.buf) == 0 && j.err == nil {
		j.more.Wait()
	}
	n := copy(b, j.buf)
	if j.buf = j.buf[n:]; n > 0 {
		return n, nil
	}
	return 0, j.err
}

// A flood of events on a slow line is a sign of life, for they come in pieces: the
// answers are behind it.
func TestEventsOnASlowLine(t *testing.T) {
	bubble(t, func(w *world) {
		const paths = 2000
		other := w.client(w.line(), coord.Options{})
		create(t, other, "/busy", "", 0)
		l := w.line()
		dials := 0
		c, err := coord.Dial(bg, []string{"server"}, &coord.Options{
			SessionTimeout: 4 * time.Second,
			Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
				dials++
				conn, err := l.Dial(ctx, network, addr)
				return narrow{newJoining(conn), 10 << 10}, err
			},
		})
		must(t, err)
		defer c.Close()
		var all []*event.Stream[event.Snapshot]
		for i := range paths {
			s := c.Watch(bg, fmt.Sprint("/busy/", i), event.Presence)
			<-s.Updates()
			all = append(all, s)
		}
		for i := range paths {
			create(t, other, fmt.Sprint("/busy/", i), "", 0)
		}
		for i, s := range all {
			select {
			case <-s.Updates():
			case <-time.After(5 * time.Minute):
				t.Fatalf("of event %d no word, and %d connections", i, dials)
			}
		}
		if dials != 1 {
			t.Errorf("%d connections", dials)
		}
	})
}

// A roomy conn takes any number of bytes at once, as the buffers of a socket do, and
// sends them on by and by.
type roomy struct {
	net.Conn
	out chan []byte
}

func newRoomy(conn net.Conn, rate int) *roomy {
	r := &roomy{conn, make(chan []byte, 1000)}
	go func() {
		for b := range r.out {
			if _, err := (narrow{conn, rate}).Write(b); err != nil {
				for range r.out {
				}
			}
		}
	}()
	return r
}

func (r *roomy) Write(b []byte) (int, error) {
	r.out <- slices.Clone(b)
	return len(b), nil
}

// A large request may take nearly the session's timeout to get through also if the
// kernel has taken all of it at once.
func TestLargeRequestInABuffer(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		var conns []*roomy
		c, err := coord.Dial(bg, []string{"server"}, &coord.Options{
			SessionTimeout: 4 * time.Second,
			Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := l.Dial(ctx, network, addr)
				if err != nil {
					return nil, err
				}
				conns = append(conns, newRoomy(conn, 300<<10))
				return conns[len(conns)-1], nil
			},
		})
		must(t, err)
		began := time.Now()
		create(t, c, "/big", string(make([]byte, 900<<10)), 0)
		if took := time.Since(began); took > 4*time.Second || len(conns) != 1 {
			t.Errorf("took %v, and %d connections", took, len(conns))
		}
		must(t, c.Close())
		for _, conn := range conns {
			close(conn.out)
		}
	})
}

// What is held beside a large answer is lost if that takes longer than the lease has
// left, for the renewal's answer comes behind it; and the answer arrives all the same.
func TestHoldBesideALargeAnswer(t *testing.T) {
	for _, timeout := range []time.Duration{4 * time.Second, 10 * time.Second} {
		bubble(t, func(w *world) {
			create(t, w.client(w.line(), coord.Options{}), "/big", string(make([]byte, 900<<10)), 0)
			l := w.line()
			c, err := coord.Dial(bg, []string{"server"}, &coord.Options{
				SessionTimeout: timeout,
				Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
					conn, err := l.Dial(ctx, network, addr)
					return narrow{conn, 300 << 10}, err
				},
			})
			must(t, err)
			defer c.Close()
			h := take(c, "/lock", nil)
			must(t, h.Wait())
			select {
			case snap := <-c.Watch(bg, "/big", event.Data).Updates():
				if len(snap.Data) != 900<<10 {
					t.Errorf("%d bytes", len(snap.Data))
				}
			case <-time.After(time.Minute):
				t.Fatal("not there after a minute")
			}
			if lost := isClosed(h.Lost()); lost != (timeout == 4*time.Second) {
				t.Errorf("T=%v: lost %v", timeout, lost)
			}
		})
	}
}
