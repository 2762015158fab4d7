package coordtest

import (
	"cmp"
	"net"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// maxRequest is the real server's default jute.maxbuffer.
const maxRequest = 0xfffff

// A conn is one connection. The server's mutex guards its fields.
type conn struct {
	server   *Server
	replica  *replica // of the server at the other end
	addr     string   // that was dialed
	line     int      // of its Link among those of the server, 0 if it has none
	number   int      // among the connections of the server
	net      net.Conn
	accepted bool     // the handshake has come
	modern   bool     // the client knows of servers that only answer reads
	session  *session // nil until accepted
	ids      []identity

	out  []byte     // frames to be written; it may grow without bound
	more *sync.Cond // out or over has changed
	over bool       // nothing more is executed or sent; the writer ends after what is in out
}

// serve starts the two goroutines of a connection to addr. It closes nc and reports
// false if the server is closed.
func (s *Server) serve(nc net.Conn, addr string, line int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		nc.Close()
		return false
	}
	s.dialed++
	c := &conn{server: s, replica: s.replica, addr: addr, line: line, number: s.dialed,
		net: nc, ids: []identity{local}, more: sync.NewCond(&s.mu)}
	c.replica.conns[c] = struct{}{}
	s.wg.Go(c.read)
	s.wg.Go(c.write)
	return true
}

// compareConns orders connections by their Links, and then as they were made.
func compareConns(a, b *conn) int {
	return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.number, b.number))
}

// live reports whether c has a session or waits for one.
func (c *conn) live() bool { return c.accepted && !c.over }

// read reads for as long as there is a peer, in every state of the server: a
// pipe has no buffer of its own in which a client's requests could wait.
func (c *conn) read() {
	s := c.server
	for {
		frame, err := jute.ReadFrame(c.net, maxRequest)
		s.mu.Lock()
		if err != nil {
			c.net.Close() // after a bad length nothing can be made of what follows
			s.arrive(c, c.drop)
			s.mu.Unlock()
			return
		}
		s.arrive(c, func() { c.receive(frame) })
		s.mu.Unlock()
	}
}

// write writes what is sent, and closes the connection when it is over.
func (c *conn) write() {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for len(c.out) == 0 && !c.over {
			c.more.Wait()
		}
		if len(c.out) == 0 {
			c.net.Close()
			return
		}
		out := c.out
		c.out = nil
		s.mu.Unlock()
		// If it fails the client is gone, and the reader finds out after it
		// has executed what the client sent before.
		c.net.Write(out)
		s.mu.Lock()
	}
}

// send queues a frame.
func (c *conn) send(e *jute.Encoder) {
	if c.over {
		return
	}
	c.out = append(c.out, e.Frame()...)
	c.more.Signal()
}

func (c *conn) sendEvent(kind zk.EventType, path string) {
	e := jute.NewReply(jute.XidEvent, -1, jute.OK)
	e.Event(jute.Event{Type: int32(kind), State: int32(zk.StateSyncConnected), Path: path})
	c.send(e)
}

// finish hangs up after what has been sent.
func (c *conn) finish() {
	c.over = true
	c.more.Signal()
	c.replica.watches.drop(c)
}

// drop hangs up at once. Nothing that the client has sent and the server has
// not yet executed has any effect.
func (c *conn) drop() {
	c.finish()
	c.out = nil
	c.net.Close()
	delete(c.replica.conns, c)
}

// receive executes one frame from the client, or begins to.
func (c *conn) receive(frame []byte) {
	switch {
	case c.over:
	case !c.accepted:
		c.server.meet(c, frame)
	default:
		d := jute.NewDecoder(frame)
		h := d.RequestHeader()
		if d.Bad() {
			c.drop()
			return
		}
		if h.Op == jute.OpAuth { // which no other request holds up
			c.auth(h.Xid, d)
			return
		}
		c.replica.touch(c.session)
		c.replica.submit(&request{c, h.Xid, h.Op, d})
	}
}

// meet executes the first frame of a connection, which decides what server it is to: the
// one that has the address by now.
func (s *Server) meet(c *conn, frame []byte) {
	r := s.at(c.addr)
	if s.leaderless > 0 && r.kind != isolated {
		c.drop()
		return
	}
	if r != c.replica {
		r.take(c)
	}
	r.handshake(c, frame)
}
