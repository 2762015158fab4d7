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
	m.conn = conn
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

// quiet waits until something has been received since the last clear, and then nothing
// for a while, and returns when the last was.
func (m *meter) quiet() time.Time {
	var last time.Time
	eventually("quiet", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		last = m.last
		return !last.IsZero() && time.Since(last) > settle
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
	sent := c.out.add(b[:n])
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	c.m.sent += sent
	return n, err
}

func (c *meteredConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	received := c.in.add(b[:n])
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	c.m.received += n
	if received > 0 {
		c.m.last = time.Now()
	}
	return n, err
}

// frames tells the frames of one direction apart: each has its length in front, and
// then the number of the request, which for heartbeats is -2.
type frames struct {
	head []byte // of the frame at hand, as far as it has come
	left int    // of the frame at hand, behind its head
}

const heartbeat = -2

// add takes the next bytes, and returns the number of frames begun in them that are no
// heartbeats.
func (f *frames) add(b []byte) (n int) {
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
			if int32(binary.BigEndian.Uint32(f.head[4:])) != heartbeat {
				n++
			}
			f.left = int(binary.BigEndian.Uint32(f.head)) - 4
			f.head = f.head[:0]
		}
	}
	return n
}
