package coord

import (
	"encoding/binary"
	"errors"
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
			t.lost()
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
	t.s.c.failed(t.at, t.began, t.explained(err))
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
		return t.event(frame, d)
	}
	var login string
	if h.Xid == jute.XidAuth && len(t.logins) > 0 {
		login, t.logins = t.logins[0], t.logins[1:]
	}
	if err := denied(login, h.Code); err != nil {
		return nil, err
	}
	body := d.Rest()
	r := t.answered(h, body)
	t.served(h)
	switch {
	case (r.op == jute.OpSetWatches || r.op == jute.OpSetWatches2) && h.Code != jute.OK: // else all would go on as if they were armed
		return nil, fmt.Errorf("watches not taken over by the server: code %d", h.Code)
	case r.call != nil && h.Code == jute.CodeSessionMoved:
		return nil, errMoved
	case r.call != nil || h.Xid >= ownXids || h.Xid == jute.XidPing || login != "":
		return nil, nil
	case h.Code == jute.OK && !sound(r.op, body):
		return nil, fmt.Errorf("%w: answer of %d bytes", errMangled, len(body))
	}
	if h.Xid >= 0 {
		h.Xid = r.theirs
	}
	h.Zxid = 0
	h.Put(frame[4:])
	return frame, nil
}

// errMoved is what has become of a connection when the session has another.
var errMoved = errors.New("the session has moved to another connection")

// answered notes the answer with the header h, which has come just now, and returns the
// request that it answers. If that is one of the session's own, it is over.
func (t *tappedConn) answered(h jute.ReplyHeader, body []byte) request {
	s, now := t.s, now()
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	r := t.sent.answered(now, h.Xid)
	// A server may refuse a request alone, without a quorum: for want of a permission,
	// say. A Multi it refuses alone only if it no longer knows the session.
	code := verdict(r.op, h.Code, body)
	s.lease.answered(now, r, r.writes && h.Code == jute.OK && code != jute.CodeSessionExpired)
	if h.Xid >= 0 { // as in the library, which takes no zxid from other answers
		s.zxid = max(s.zxid, h.Zxid)
	}
	if r.call == nil {
		return r
	}
	if code == jute.CodeSessionExpired { // whichever request it answers
		s.c.become(s, Expired, errEnsemble)
	}
	err := coded(code)
	if h.Code == jute.OK && err != nil && !refused(err) {
		err = &refusal{"", err} // what is said of one op says that none was carried out
	}
	s.arm(r.call, code)
	s.conclude(r.call, answer{body, err, true})
	s.admit()
	return r
}

// readFrame reads a frame, with its length in front. The bytes of an incomplete one
// count as signs of life. The length is checked, because the peer may not be a
// ZooKeeper server at all, and the buffer grows as they come, because it may lie.
func (t *tappedConn) readFrame() ([]byte, error) {
	head, err := t.in.Peek(4)
	if err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head)
	if size < 16 || size > maxFrame { // the shortest is a reply without a body
		return nil, mangled(head)
	}
	whole := 4 + int(size)
	frame := make([]byte, min(whole, 64<<10))
	for n := 0; ; {
		k, err := t.in.Read(frame[n:])
		if n += k; n == whole {
			return frame, nil
		}
		if err != nil {
			return nil, err
		}
		t.hears() // a large answer on a slow line, or a flood of events
		if n == len(frame) {
			frame = append(frame, make([]byte, min(n, whole-n))...)
		}
	}
}
