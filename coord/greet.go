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
		binary.BigEndian.PutUint32(frame[8:], uint32(time.Duration(timeout)/2/time.Millisecond))
	}
	t.greeted = true
	return frame, nil
}

// login presents the client's credentials. Their answers are read by next.
func (t *tap) login() {
	var xid int32 = xidAuth
	for _, a := range t.s.c.opts.Auth {
		b := make([]byte, 4, 32+len(a.Scheme)+len(a.Credential))
		b = binary.BigEndian.AppendUint32(b, uint32(xid))
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
