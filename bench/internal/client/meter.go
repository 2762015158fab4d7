package client

import (
	"context"
	"encoding/binary"
	"net"
	"sync"
	"time"
)

// A meter counts what passes on the connections of one client of ZooKeeper. Heartbeats
// and their answers do not count.
type meter struct {
	mu       sync.Mutex
	conn     net.Conn // the newest
	sent     int      // frames
	received int      // bytes
	pending  int      // requests on the newest connection that are not answered
	last     time.Time
}

// dial opens a connection that is metered.
func (m *meter) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil || m == nil {
		return conn, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.conn, m.pending = conn, 0
	return &meteredConn{Conn: conn, m: m}, nil
}

// clear begins to count anew.
func (m *meter) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent, m.received, m.last = 0, 0, time.Time{}
}

// reset breaks the connection as a failing network would.
func (m *meter) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	_ = m.conn.(*net.TCPConn).SetLinger(0)
	_ = m.conn.Close()
}

// answered waits until something has been received since the last clear and no answer is
// outstanding, and returns when the last came.
func (m *meter) answered() time.Time {
	var last time.Time
	eventually("all is answered", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		last = m.last
		return !last.IsZero() && m.pending <= 0
	})
	return last
}

// A meteredConn has one goroutine that writes and one that reads.
type meteredConn struct {
	net.Conn
	m       *meter
	out, in frames
}

// NetConn returns the connection below.
func (c *meteredConn) NetConn() net.Conn { return c.Conn }

func (c *meteredConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	c.out.add(b[:n], func(xid int32) {
		if xid != heartbeat {
			c.m.sent++
			c.m.pending++
		}
	})
	return n, err
}

func (c *meteredConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	c.m.received += n
	c.in.add(b[:n], func(xid int32) {
		if xid != heartbeat {
			c.m.last = time.Now()
		}
		if xid != heartbeat && xid != anEvent {
			c.m.pending--
		}
	})
	return n, err
}

// frames tells the frames of one direction apart: each has its length in front, and
// then the number of the request.
type frames struct {
	head []byte // of the frame at hand, as far as it has come
	left int    // of the frame at hand, behind its head
}

// The numbers of what is no request, or no answer to one.
const (
	anEvent   = -1
	heartbeat = -2
)

// add takes the next bytes, and calls begun for each frame that begins in them.
func (f *frames) add(b []byte, begun func(xid int32)) {
	for len(b) > 0 {
		if f.left > 0 {
			k := min(f.left, len(b))
			f.left -= k
			b = b[k:]
			continue
		}
		k := min(8-len(f.head), len(b))
		f.head = append(f.head, b[:k]...)
		b = b[k:]
		if len(f.head) == 8 {
			begun(int32(binary.BigEndian.Uint32(f.head[4:])))
			f.left = int(binary.BigEndian.Uint32(f.head)) - 4
			f.head = f.head[:0]
		}
	}
}
