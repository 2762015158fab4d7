package coord

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"time"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// A tappedConn is between go-zookeeper and one connection, and sees every frame. The
// library writes each frame with one Write. The tap reads frames whole, and hands them on
// to the library in the pieces that it asks for.
//
// It notes when each request was written, which one an answer is for, and whether a quorum
// has carried it out. The lease is computed from that.
//
// The session's own requests are made by the tap alone: see outgoing.go. The library
// knows neither them nor their answers. It makes the connections, ends the session, and
// serves the program that uses [Client.Conn].
//
// And the tap changes what the library does in four ways:
//
//   - The library sends heartbeats whether they are needed or not. It is told a session
//     timeout of weeks, and keepLease sends them. The server is told the true timeout.
//   - The library gives up on a server that takes long over one frame. The tap takes no
//     deadlines from it: keepLease decides, by everything that comes.
//   - The library's record of the newest zxid races with its own reading of it when it
//     reconnects, which can lose events for good. So it is never told a zxid. The session
//     keeps the record, and the tap inserts it where the library would send it.
//   - Credentials are presented by the tap, directly after the handshake, because the
//     library deadlocks if the connection fails while it presents them.
type tappedConn struct {
	net.Conn
	s *Session
	dialing
	// seen is the newest zxid that the session had seen when the connection was made. What
	// it sees later must not be in SetWatches: there would be no event for a change before
	// it, though the change may be unread.
	seen int64

	// asked is when the handshake was written. It needs no lock: the library writes it
	// before it starts to read and write on two goroutines.
	asked moment

	// Owned by the goroutine that reads: that of the library's connect loop in the
	// handshake, and then that of its receive loop.
	in    *bufio.Reader
	stage stage
	// frame is what has not been read yet of the frame in hand.
	frame []byte
	// logins are the schemes that were presented and not answered yet, oldest first.
	logins []string

	// writing holds a token while something is written. A mutex would not do, because
	// flushed waits for it with a limit.
	writing chan struct{}
	// direct is nil if nothing can be written without another goroutine.
	direct *direct

	// The rest is guarded by s.c.mu.

	sent pipeline
	// wrote is when something was last written.
	wrote moment
	// abandoned says that keepLease has left the server, and ended that there are no more
	// answers.
	abandoned, ended bool
	// out is what the writer has to write, which is at work while busy is set.
	out  []*call
	busy bool
	// xid is the number of the session's last request, and room is for the next write.
	xid  int32
	room []byte
}

// A stage is how far a connection has come.
type stage uint8

const (
	// dialed: the server has not said anything.
	dialed stage = iota
	// accepted: it has answered the handshake.
	accepted
	// serving: it has answered the heartbeat after that, and serves the session.
	serving
	// trusted: it has served the session for a while.
	trusted
)

// adopt returns conn, the connection of a, with a tap, and makes it the session's
// connection, unless the session is over.
func (s *Session) adopt(conn net.Conn, a dialing) (*tappedConn, error) {
	_ = conn.SetDeadline(a.by) // best effort: a conn without deadlines is used all the same
	t := &tappedConn{
		Conn:    conn,
		s:       s,
		dialing: a,
		in:      bufio.NewReaderSize(conn, 4<<10),
		writing: make(chan struct{}, 1),
		direct:  newDirect(conn),
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if err := s.Err(); err != nil {
		return t, err
	}
	s.wire, t.seen = t, s.zxid
	return t, nil
}

// abort closes the connection at once. With TCP, what has not been delivered is discarded:
// a request that was given up must not arrive much later.
func (t *tappedConn) abort() {
	conn := t.Conn
	if c, ok := conn.(interface{ NetConn() net.Conn }); ok { // TLS
		conn = c.NetConn()
	}
	if c, ok := conn.(interface{ SetLinger(int) error }); ok {
		_ = c.SetLinger(0) // best effort: it is closed in any case
	}
	_ = conn.Close() // an error could only say that it was closed already
}

// flushed waits until nothing is being written, and reports whether that came before the
// end of ctx.
func (t *tappedConn) flushed(ctx context.Context) bool {
	select {
	case t.writing <- struct{}{}:
		<-t.writing
		return true
	case <-ctx.Done():
		return false
	}
}

// Close implements [net.Conn].
func (t *tappedConn) Close() error {
	t.abort()
	t.lost()
	return nil
}

// SetReadDeadline implements [net.Conn], and does nothing. The library's deadline would be
// ten times too long for the handshake, would not cover the second half of its answer, and
// would be too short for a large answer on a slow line.
func (t *tappedConn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements [net.Conn], and does nothing either.
func (t *tappedConn) SetWriteDeadline(time.Time) error { return nil }

// Write implements [net.Conn]. It takes one frame.
func (t *tappedConn) Write(b []byte) (int, error) {
	if len(b) < 12 {
		return 0, fmt.Errorf("coord: frame of %d bytes", len(b)) // no request is that short
	}
	out, first := b, t.asked.never()
	if first {
		out = t.connectRequest(b)
	} else {
		out = t.request(b)
	}
	t.writing <- struct{}{}
	err := t.write(out)
	<-t.writing
	if err != nil {
		t.abort()
		if first {
			t.failed(err)
			return 0, err
		}
		// The library will see the reads fail. If it were told here as well, it would
		// answer the request twice: for this, and for the end of the connection. With the
		// answer that the library's Close may have given before, that is more than there
		// is room for, and a goroutine of the library would block forever.
	}
	return len(b), nil
}

// request notes that frame, which is go-zookeeper's, is being written, and returns it as
// the server is to see it. Its number is folded so that it is none of the session's own.
// And SetWatches, which arms the library's watches of earlier connections again, is the
// only request that says how much the client has seen.
func (t *tappedConn) request(frame []byte) []byte {
	d := jute.NewDecoder(frame[4:])
	h := d.RequestHeader()
	r := request{xid: h.Xid, theirs: h.Xid, op: h.Op, size: len(frame)}
	arms := false
	switch h.Op {
	case jute.OpSetWatches:
		w := d.SetWatches()
		w.Zxid = t.seen
		e := jute.NewRequest(h.Xid, h.Op)
		e.SetWatches(w)
		frame, arms = e.Frame(), true
	case jute.OpExists, jute.OpGetData, jute.OpGetChildren, jute.OpGetChildren2:
		arms = d.Read().Watch
	}
	if r.xid >= ownXids { // after a thousand million requests
		r.xid &= ownXids - 1
		frame = bytes.Clone(frame)
		binary.BigEndian.PutUint32(frame[4:], uint32(r.xid))
	}
	t.s.c.mu.Lock()
	defer t.s.c.mu.Unlock()
	t.s.shared = t.s.shared || arms
	t.note(now(), r)
	return frame
}

// note puts r into the pipeline, as written at the moment at. It is called with c.mu
// held.
func (t *tappedConn) note(at moment, r request) {
	r.at, r.acked, r.writes = at, t.s.lease.acked, r.op.Writes()
	t.sent, t.wrote = append(t.sent, r), at
}

// write writes a frame, a long one in pieces. If the kernel takes another piece, the server
// has taken earlier ones, which is a sign of life.
func (t *tappedConn) write(frame []byte) error {
	for len(frame) > largeRequest {
		if _, err := t.Conn.Write(frame[:largeRequest]); err != nil {
			return err
		}
		frame = frame[largeRequest:]
		t.hears()
	}
	_, err := t.Conn.Write(frame)
	return err
}

// hears notes that bytes have come, or gone, of a frame that is not complete yet.
func (t *tappedConn) hears() {
	t.s.c.mu.Lock()
	defer t.s.c.mu.Unlock()
	t.s.lease.hears(now())
}
