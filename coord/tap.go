package coord

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// maxFrame is more bytes than any answer has: 100,000 children take 5 MiB.
const maxFrame = 64 << 20

// A tap sits between go-zookeeper and one connection and sees every frame. The
// client library writes each frame with one Write, so frames need no
// reassembling on the way out; on the way in, the tap reads them whole.
//
// It notes when each request was written, which was answered, and whether the
// answer proves that the session lives: that is the lease. And it changes what the
// library believes in four ways:
//
//   - The library is told half the session timeout, so that it sends
//     heartbeats twice as often; the server is told the true one.
//   - The library gives up on a server that takes long over one frame. The tap
//     takes no deadlines from it: watchLease looks at all that comes.
//   - The library's record of the newest zxid races with its own reading of it
//     at a reconnect, which can lose events for good. So it is never told a
//     zxid; the tap keeps the record and puts it in where the library sends it.
//   - Credentials are presented by the tap, directly behind the handshake,
//     because the library deadlocks if the connection fails while it does.
type tap struct {
	net.Conn
	s      *Session
	server string
	began  time.Time // when it was dialed
	by     time.Time // when the handshake must be over
	seen   int64     // the newest zxid that the session had seen when this connection was made

	// Owned by whoever reads: the library's connect loop in the handshake, then
	// its receive loop.
	in      *bufio.Reader
	frame   []byte // of the frame in hand, what was not read yet
	greeted bool   // the handshake's answer has been read
	welcome bool   // and the answer to what was asked behind it
	lasted  bool   // the server has served the session for a while

	out chan struct{} // holds a token while something is written

	mu     sync.Mutex
	asked  moment    // when the handshake was written; zero before that
	sent   []request // not answered yet, oldest first
	logins []string  // schemes presented and not answered yet, oldest first
}

func newTap(s *Session, conn net.Conn, server string, began, by time.Time) *tap {
	return &tap{
		Conn:   conn,
		s:      s,
		server: server,
		began:  began,
		by:     by,
		seen:   s.lastZxid(),
		in:     bufio.NewReaderSize(conn, 16<<10),
		out:    make(chan struct{}, 1),
	}
}

// hangUp closes the connection at once. With TCP, what has not been delivered is
// thrown away: a request that was given up must not arrive much later.
func (t *tap) hangUp() {
	conn := t.Conn
	if c, ok := conn.(interface{ NetConn() net.Conn }); ok { // TLS
		conn = c.NetConn()
	}
	if c, ok := conn.(interface{ SetLinger(int) error }); ok {
		_ = c.SetLinger(0) // best effort: closed it is in any case
	}
	_ = conn.Close() // the only answer would be that it was closed already
}

// flushed waits until nothing is being written, and reports whether it was so before
// ctx ended.
func (t *tap) flushed(ctx context.Context) bool {
	select {
	case t.out <- struct{}{}:
		<-t.out
		return true
	case <-ctx.Done():
		return false
	}
}

// Close implements [net.Conn].
func (t *tap) Close() error {
	t.hangUp()
	return nil
}

// SetReadDeadline implements [net.Conn]. The library would wait ten times too
// long for the handshake, and without end for the second half of its answer; and
// not long enough for a large answer on a slow line.
func (t *tap) SetReadDeadline(time.Time) error {
	if t.welcome {
		return t.Conn.SetReadDeadline(time.Time{})
	}
	return t.Conn.SetReadDeadline(t.by)
}

// SetWriteDeadline implements [net.Conn].
func (t *tap) SetWriteDeadline(time.Time) error {
	if t.greeted {
		return t.Conn.SetWriteDeadline(time.Time{})
	}
	return t.Conn.SetWriteDeadline(t.by)
}

// Write implements [net.Conn]. It takes one frame.
func (t *tap) Write(b []byte) (int, error) {
	if len(b) < 12 {
		return 0, fmt.Errorf("coord: frame of %d bytes", len(b)) // no request is that short
	}
	before := t.s.newestAnswered() // not with t.mu held: s.mu goes before it
	t.mu.Lock()
	first := t.asked.at.IsZero()
	out := b
	if first {
		t.asked = now()
		out = t.connectRequest(b)
	} else {
		d := jute.NewDecoder(b[4:])
		h := d.RequestHeader()
		r := request{xid: h.Xid, at: now(), before: before, size: len(b), writes: h.Op.Writes()}
		if h.Op == jute.OpSetWatches {
			w := d.SetWatches()
			w.Zxid = t.seen
			e := jute.NewRequest(h.Xid, h.Op)
			e.SetWatches(w)
			out, r.watches = e.Frame(), &w
		}
		t.sent = append(t.sent, r)
	}
	t.mu.Unlock()

	t.out <- struct{}{}
	err := t.write(out)
	<-t.out
	if err != nil {
		t.hangUp()
		if first {
			t.s.readFailed(t, err)
			return 0, err
		}
		// The library will see the reads fail. Were it told here, it would answer
		// the request for this, and again for the end of the connection; with the
		// answer that a Close of its own has given before these are more than it
		// has room for, and it would stand still for good.
	}
	return len(b), nil
}

// write writes a frame. The kernel takes more of a long one as the server takes what
// was before, which is a sign of life.
func (t *tap) write(frame []byte) error {
	for len(frame) > largeRequest {
		if _, err := t.Conn.Write(frame[:largeRequest]); err != nil {
			return err
		}
		frame = frame[largeRequest:]
		t.s.hearing()
	}
	_, err := t.Conn.Write(frame)
	return err
}

// Read implements [net.Conn].
func (t *tap) Read(b []byte) (int, error) {
	for len(t.frame) == 0 {
		frame, err := t.next()
		if err != nil {
			t.s.readFailed(t, err)
			return 0, err
		}
		t.frame = frame
	}
	n := copy(b, t.frame)
	t.frame = t.frame[n:]
	return n, nil
}

// next reads a frame and returns what the library shall see of it, if anything.
func (t *tap) next() ([]byte, error) {
	frame, err := t.readFrame()
	switch {
	case err != nil:
		return nil, err
	case !t.greeted:
		return t.greet(frame)
	}
	d := jute.NewDecoder(frame[4:])
	h := d.ReplyHeader()
	if h.Xid == jute.XidEvent {
		return frame, nil // which answers nothing
	}
	t.mu.Lock()
	r := t.answer(h.Xid)
	var login string
	if h.Xid == jute.XidAuth && len(t.logins) > 0 {
		login, t.logins = t.logins[0], t.logins[1:]
	}
	t.mu.Unlock()
	if err := denied(login, h.Code); err != nil {
		return nil, err
	}
	zxid := h.Zxid
	if h.Xid < 0 { // go by the library's example, which takes no zxid from these
		zxid = 0
	}
	// A refusal can be the word of this server alone. That of a Multi by the
	// ensemble has code zero, and the reasons behind it.
	t.s.answered(r, r.writes && h.Code == jute.OK && !expiredWithin(d), zxid)
	t.served(h)
	if r.watches != nil {
		if h.Code != jute.OK { // the library would go on as if they were armed
			return nil, fmt.Errorf("watches not taken over by the server: code %d", h.Code)
		}
		t.s.c.loop.Rearmed(r.watches.Data, r.watches.Exist, r.watches.Child)
	}
	if login != "" {
		return nil, nil
	}
	h.Zxid = 0
	h.Put(frame[4:])
	return frame, nil
}

// readFrame reads a frame, with its length in front.
func (t *tap) readFrame() ([]byte, error) {
	head, err := t.in.Peek(4)
	if err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head)
	if size < 16 || size > maxFrame { // the shortest is a reply without a body
		return nil, mangled(head)
	}
	frame := make([]byte, 4+size)
	for n := 0; ; {
		k, err := t.in.Read(frame[n:])
		if n += k; n == len(frame) {
			return frame, nil
		}
		if err != nil {
			return nil, err
		}
		t.s.hearing() // a large answer on a slow line, or a flood of events
	}
}
