package coord

import (
	"encoding/binary"
	"fmt"
	"time"
)

// greet takes the answer to the handshake: length, version, timeout, session,
// password.
func (t *tap) greet(frame []byte) ([]byte, error) {
	if len(frame) < 4+4+4+8+4 {
		return nil, fmt.Errorf("%w: handshake of %d bytes", errMangled, len(frame))
	}
	timeout := term(binary.BigEndian.Uint32(frame[8:])) * term(time.Millisecond)
	id := int64(binary.BigEndian.Uint64(frame[12:]))
	t.mu.Lock()
	asked := t.asked
	t.mu.Unlock()
	if id != 0 && timeout < 4*term(time.Millisecond) {
		return nil, fmt.Errorf("%w: session timeout of %v", errMangled, time.Duration(timeout))
	}
	if err := t.s.greeted(t, id, timeout, asked); err != nil {
		return nil, err
	}
	if id != 0 {
		t.login()
		binary.BigEndian.PutUint32(frame[8:], uint32(t.s.Timeout()/2/time.Millisecond))
	}
	t.greeted = true
	return frame, nil
}

// login presents the client's credentials and asks for a sign of life. Servers
// grant a session to anybody; that they do not serve one whose client has not
// proved who it is they say only when something is asked in it. A heartbeat needs
// no permission, and its answer, unlike those to credentials, says that all is
// well. The answers are read by next.
func (t *tap) login() {
	var auth, ping int32 = xidAuth, xidPing
	for _, a := range t.s.c.opts.Auth {
		b := make([]byte, 4, 32+len(a.Scheme)+len(a.Credential))
		b = binary.BigEndian.AppendUint32(b, uint32(auth))
		b = binary.BigEndian.AppendUint32(b, opSetAuth)
		b = binary.BigEndian.AppendUint32(b, 0)
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(a.Scheme))), a.Scheme...)
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(a.Credential))), a.Credential...)
		binary.BigEndian.PutUint32(b, uint32(len(b)-4))
		t.mu.Lock()
		t.logins = append(t.logins, a.Scheme)
		t.mu.Unlock()
		if _, err := t.Conn.Write(b); err != nil {
			return // what the server said before it hung up, if it has, is in what it sent
		}
	}
	b := binary.BigEndian.AppendUint32(nil, 8)
	b = binary.BigEndian.AppendUint32(b, uint32(ping))
	b = binary.BigEndian.AppendUint32(b, opPing)
	before := t.s.newestAnswered()
	t.mu.Lock()
	t.sent = append(t.sent, request{xid: xidPing, at: now(), before: before})
	t.mu.Unlock()
	_, _ = t.Conn.Write(b) // as above
}

// served takes it that the server has answered something. The first heartbeat
// behind the credentials makes the session fit for use. That the server is good,
// so that after its end another can be dialled without a pause, it has proved only
// when it has kept us for a while: one that hangs up again and again must not be
// stormed.
func (t *tap) served(xid, code int32) {
	if t.lasted {
		return // there is no more to learn, and this is done for every answer
	}
	t.mu.Lock()
	age, owed := t.asked.age(), len(t.logins)
	t.mu.Unlock()
	if xid == xidPing && owed == 0 && !t.welcome {
		t.welcome = true
		_ = t.Conn.SetReadDeadline(time.Time{}) // from now on watchLease looks after it
		t.s.c.ring.welcomed()
		t.s.resumed()
	}
	if t.welcome && code != codeExpired && code != codeMoved && age >= min(time.Second, term(t.s.Timeout()).heartbeat()) {
		t.lasted = true
		t.s.c.ring.lasted()
	}
}

// watchesIn returns the paths in a SetWatches: length, xid, op, zxid, and three
// lists of paths.
func watchesIn(frame []byte) *[3][]string {
	var lists [3][]string
	b := frame[min(4+4+4+8, len(frame)):]
	next := func() int {
		if len(b) < 4 {
			return 0
		}
		n := int(int32(binary.BigEndian.Uint32(b)))
		b = b[4:]
		return n
	}
	for i := range lists {
		for n := next(); n > 0 && len(b) > 0; n-- {
			size := max(0, min(next(), len(b)))
			lists[i] = append(lists[i], string(b[:size]))
			b = b[size:]
		}
	}
	return &lists
}
