package harness

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/jute"
)

// A Client is a program that uses the library, over a link that can be broken.
type Client struct {
	*coord.Client
	Link *coordtest.Link

	timeout time.Duration // of its session, as asked for
	exempt  atomic.Int32  // Exempts that run
	resting atomic.Int32  // Rests that run
	struck  atomic.Int64  // when a frame met a fault last, in nanoseconds of Unix time

	mu  sync.Mutex
	key jute.ConnectResponse // of the session
}

// Client returns a new client with a session of the timeout given.
func (w *World) Client(timeout time.Duration) *Client {
	w.Helper()
	return w.Dial(nil, &coord.Options{SessionTimeout: timeout})
}

// Dial is like Client, with the options, which may be nil and of which Dial is
// overwritten, and the servers given; no servers mean all there are. The client is
// closed with the test.
func (w *World) Dial(servers []string, opts *coord.Options) *Client {
	w.Helper()
	return w.DialThrough(nil, servers, opts)
}

// DialThrough is like Dial, for a client that sees its connections as wrap makes
// them.
func (w *World) DialThrough(wrap func(net.Conn) net.Conn, servers []string, opts *coord.Options) *Client {
	w.Helper()
	var o coord.Options
	if opts != nil {
		o = *opts
	}
	c := &Client{timeout: o.SessionTimeout}
	if w.Fake != nil && wrap == nil {
		c.Client = w.Fake.Client(w, &o, servers...)
		c.Link = w.Fake.LinkOf(c.Client)
		return c
	}
	if w.Fake != nil {
		c.Link, servers = w.Fake.Link(), []string{"coordtest:2181"}
	} else {
		c.Link = coordtest.NewLink(nil)
	}
	w.Cleanup(c.Link.Close)
	if servers == nil {
		servers = w.Real.Servers()
	}
	o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := c.Link.Dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		conn = &Tap{Conn: conn, Welcome: func(r *jute.ConnectResponse) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.key = *r
		}}
		if wrap != nil {
			conn = wrap(conn)
		}
		return conn, nil
	}
	c.Client = Dial(w, servers, &o)
	return c
}

// Dial connects a client without a link, and closes it with the test.
func Dial(tb testing.TB, servers []string, opts *coord.Options) *coord.Client {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := coord.Dial(ctx, servers, opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	return c
}

// Exempt runs f. The frames of c that pass meanwhile meet no fault, and [Faults] does
// not count them.
func (c *Client) Exempt(f func()) {
	c.exempt.Add(1)
	defer c.exempt.Add(-1)
	f()
}

// Rest lets time pass until for d no frame of c has met a fault, so that what did is got
// over. The frames of c that pass meanwhile do not count, and meet no first fault; a second
// one may strike while c recovers from the first.
func (c *Client) Rest(d time.Duration) {
	c.resting.Add(1)
	defer c.resting.Add(-1)
	c.Calm(d)
}

// Calm is like Rest, but the frames count.
func (c *Client) Calm(d time.Duration) {
	for began := time.Now(); ; {
		since := time.Unix(0, c.struck.Load())
		if since.Before(began) {
			since = began
		}
		left := d - time.Since(since)
		if left <= 0 {
			return
		}
		time.Sleep(left)
	}
}
