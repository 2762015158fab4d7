package coord_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// A relay carries one TCP connection after the other to a server. While it is stopped it
// takes nothing from the client.
type relay struct {
	net.Listener
	to    string
	conns atomic.Int32
	mu    sync.Mutex // held while stopped
	wg    sync.WaitGroup
}

func newRelay(t *testing.T, to string) *relay {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	r := &relay{Listener: l, to: to}
	r.wg.Go(r.serve)
	t.Cleanup(func() {
		_ = l.Close()
		r.wg.Wait()
	})
	return r
}

func (r *relay) serve() {
	for {
		client, err := r.Accept()
		if err != nil {
			return
		}
		r.conns.Add(1)
		server, err := net.Dial("tcp", r.to)
		if err != nil {
			_ = client.Close()
			continue
		}
		r.wg.Go(func() {
			_, _ = io.Copy(client, server)
			_ = client.Close()
		})
		r.wg.Go(func() {
			defer server.Close()
			b := make([]byte, 32<<10)
			for {
				n, err := client.Read(b)
				if err != nil {
					return
				}
				r.mu.Lock()
				_, err = server.Write(b[:n])
				r.mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
}

// While a TCP connection takes no more bytes a request ends with its ctx all the same,
// though it is written on the goroutine of its caller. When the connection takes them again,
// what was written in part is written to its end, and what was not is written behind it,
// each request once.
func TestRequestsOnATCPConnectionThatTakesNoMore(t *testing.T) {
	server, err := coordtest.Start()
	must(t, err)
	defer server.Close()
	r := newRelay(t, server.Addr())
	c, err := coord.Dial(bg, []string{r.Addr().String()}, &coord.Options{
		SessionTimeout: 40 * time.Second, // nothing is given up
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err == nil {
				err = conn.(*net.TCPConn).SetWriteBuffer(40 << 10) // so that it is full soon, within a request
			}
			return conn, err
		},
	})
	must(t, err)
	defer c.Close()
	must1(t)(c.Create(bg, "/a", nil, coord.Persistent))
	r.mu.Lock()
	data := make([]byte, 30<<10)
	unknown, unsent := 0, 0
	for unsent < 3 && unknown < 1000 {
		ctx, cancel := context.WithTimeout(bg, 10*time.Millisecond)
		began := time.Now()
		_, err := c.Set(ctx, "/a", data, -1)
		cancel()
		if took := time.Since(began); took > soonOnReal || !errors.Is(err, context.DeadlineExceeded) {
			r.mu.Unlock()
			t.Fatalf("Set = %v after %v", err, took)
		}
		if errors.Is(err, coord.ErrUnknown) {
			unknown++
		} else {
			unsent++
		}
	}
	results := make(chan error, 20)
	for i := range cap(results) {
		go func() {
			_, err := c.Create(bg, "/a/"+strconv.Itoa(i), data, coord.Persistent)
			results <- err
		}()
	}
	r.mu.Unlock()
	for range cap(results) {
		must(t, <-results)
	}
	_, stat, err := c.Get(bg, "/a")
	must(t, err)
	if int(stat.Version) != unknown || unsent < 3 {
		t.Errorf("set %d times, want %d; %d were not sent", stat.Version, unknown, unsent)
	}
	if n := r.conns.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func must1(t *testing.T) func(any, error) {
	return func(_ any, err error) {
		t.Helper()
		must(t, err)
	}
}
