package sim

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// servers are the addresses of the ensemble.
var servers = []string{"s1:2181", "s2:2181", "s3:2181"}

// A client is one program, on a line of its own.
type client struct {
	*coord.Client
	w       *world
	n       int
	name    string
	timeout time.Duration
	link    *coordtest.Link

	mu     sync.Mutex // guards the rest
	server string     // that was dialed last
	dials  int
	// stopped is closed when the program, which stands still, goes on; nil if it runs.
	stopped chan struct{}
	snares  []*snare
	stalls  []*stall
}

// A snare catches one frame.
type snare struct {
	*fault
	dir    coordtest.Direction
	op     string
	action coordtest.Action
}

// A stall holds back frames. It was met if one comes through at the moment of its end, or
// the client has left the connection.
type stall struct {
	*fault
	dir   coordtest.Direction
	ended time.Time // zero while it lasts
}

// dial connects c, number n.
func (w *world) dial(n int, timeout time.Duration) *client {
	c := &client{w: w, n: n, name: fmt.Sprint("c", n), timeout: timeout, link: w.Fake.Link()}
	w.Cleanup(c.link.Close)
	c.link.OnFrame(c.frame)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var err error
	c.Client, err = coord.Dial(ctx, servers, &coord.Options{
		SessionTimeout: timeout,
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c.mu.Lock()
			c.server = addr
			c.dials++
			c.mu.Unlock()
			conn, err := c.link.Dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return newLine(c, conn), nil
		},
	})
	w.Must(err)
	w.Cleanup(func() { c.Close() })
	return c
}

// frame is the hook of c's link.
func (c *client) frame(f coordtest.Frame) coordtest.Action {
	c.mu.Lock()
	now := time.Now()
	c.stalls = slices.DeleteFunc(c.stalls, func(s *stall) bool {
		if s.dir&f.Dir != 0 && s.ended.Equal(now) {
			s.meet()
		}
		return !s.ended.IsZero() && !s.ended.Equal(now)
	})
	server := c.server
	c.mu.Unlock()
	c.w.passes(f, server)
	return c.caught(f)
}

// caught returns what becomes of a frame.
func (c *client) caught(f coordtest.Frame) coordtest.Action {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, s := range c.snares {
		if s.dir&f.Dir == 0 || s.op != f.Op && s.op != "any" {
			continue
		}
		c.snares = slices.Delete(c.snares, i, i+1)
		s.meet()
		if s.action == coordtest.Drop && f.Op == "event" {
			return coordtest.HangUp // TCP loses none alone
		}
		return s.action
	}
	return coordtest.Pass
}

// hash mixes numbers into one.
func hash(all ...uint64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, x := range all {
		h ^= x
		h *= 0xbf58476d1ce4e5b9
		h ^= h >> 29
		h *= 0x94d049bb133111eb
		h ^= h >> 32
	}
	return h
}

// up reports whether c has a connection.
func (c *client) up() bool {
	state, _ := c.State()
	return state == coord.Connected
}

// stop has the program stand still, as far as it acts by itself.
func (c *client) stop() (goOn func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped != nil {
		return nil
	}
	stopped := make(chan struct{})
	c.stopped = stopped
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.stopped = nil
		close(stopped)
	}
}

// still waits while the program stands still, and reports whether it did.
func (c *client) still() bool {
	c.mu.Lock()
	stopped := c.stopped
	c.mu.Unlock()
	if stopped == nil {
		return false
	}
	<-stopped
	return true
}
