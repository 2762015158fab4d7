package coord

import (
	"encoding/binary"
	"fmt"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// maxFrame is more bytes than any answer has: the names of 100,000 children take 5 MiB.
const maxFrame = 64 << 20

// Read implements [net.Conn]. The library reads a frame in pieces, but gets nothing of one
// that is not complete: it would wait for the rest without a deadline.
func (t *tappedConn) Read(b []byte) (int, error) {
	for len(t.frame) == 0 {
		frame, err := t.next()
		if err != nil {
			t.failed(err)
			return 0, err
		}
		t.frame = frame
	}
	n := copy(b, t.frame)
	t.frame = t.frame[n:]
	return n, nil
}

// failed notes why the server says nothing more, or does not take the handshake. Once it
// serves the session, the end of the connection is no failure to connect, unless the server
// refuses the client for good.
func (t *tappedConn) failed(err error) {
	if t.s.Err() != nil || t.stage >= serving && !final(err) {
		return
	}
	t.s.c.failed(t.server, t.began, t.explained(err))
}

// next reads a frame and returns what the library is to see of it, which may be nothing. An
// error ends the connection, and the library tries the next server.
//
// The order matters: the lease and the state of the client learn of an answer before the
// library does. So when a request returns, they know of it.
func (t *tappedConn) next() ([]byte, error) {
	frame, err := t.readFrame()
	switch {
	case err != nil:
		return nil, err
	case t.stage == dialed:
		return t.connectResponse(frame)
	}
	d := jute.NewDecoder(frame[4:])
	h := d.ReplyHeader()
	if h.Xid == jute.XidEvent {
		return frame, nil // it answers nothing, so it says nothing of the session
	}
	var login string
	if h.Xid == jute.XidAuth && len(t.logins) > 0 {
		login, t.logins = t.logins[0], t.logins[1:]
	}
	if err := denied(login, h.Code); err != nil {
		return nil, err
	}
	// A refusal does not renew the lease, because one server can give it alone: if the
	// client lacks a permission, for instance. But a Multi that is refused has been to the
	// quorum: its code is zero, and the reasons are in the ops.
	r := t.answered(h, h.Code == jute.OK && !expiredWithin(d))
	t.served(h)
	if r.watches != nil {
		if h.Code != jute.OK { // the library ignores that, as if they were armed
			return nil, fmt.Errorf("watches not taken over by the server: code %d", h.Code)
		}
		t.s.c.loop.Rearmed(r.watches.Data, r.watches.Exist, r.watches.Child)
	}
	if login != "" { // the library has not asked
		return nil, nil
	}
	h.Zxid = 0
	h.Put(frame[4:])
	return frame, nil
}

// answered notes the answer with the header h, which has come just now, and returns the
// request that it answers. Success says that the request was carried out, or, if it is a
// Multi, that a quorum has refused it.
func (t *tappedConn) answered(h jute.ReplyHeader, success bool) request {
	s, now := t.s, now()
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	r := t.sent.answered(now, h.Xid)
	s.lease.answered(now, r, r.writes && success)
	if h.Xid >= 0 { // as in the library, which ignores the zxid of other answers
		s.zxid = max(s.zxid, h.Zxid)
	}
	return r
}

// readFrame reads a frame, with its length in front. The bytes of an incomplete one
// count as signs of life. The length is checked, because the peer may not be a
// ZooKeeper server at all, and a buffer is made of that length.
func (t *tappedConn) readFrame() ([]byte, error) {
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
		t.hears() // a large answer on a slow line, or a flood of events
	}
}
