package coord

import (
	"cmp"
	"fmt"
	"time"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// A connection begins so:
//
//   - The library writes a connect request, which the tap corrects.
//   - The server answers that it has opened or resumed the session, or that the session
//     is over.
//   - Before the library learns of that, the tap writes the credentials and a heartbeat.
//   - The server answers these. With the last answer it serves the session, and the client
//     is Connected. Until then the program's requests wait at the gate.
//
// All that has to be done by a deadline, which is that of the net.Conn. Behind it there
// are no deadlines, and keepLease looks after the connection.

// connectRequest returns frame, which begins the handshake, with the newest zxid that
// has been seen and the timeout to ask for. The library knows neither: its own record of
// the one is not kept, and of the other it is told half.
func (t *tappedConn) connectRequest(frame []byte) []byte {
	t.asked = now()
	r := jute.NewDecoder(frame[4:]).ConnectRequest()
	r.Zxid, r.Timeout = t.seen, t.s.wish()
	e := jute.NewFrame()
	e.ConnectRequest(r)
	return e.Frame()
}

// wish returns the timeout to ask for: the one with which the session was opened. A
// server that grants less at the moment may be followed by one that grants it again.
func (s *Session) wish() time.Duration {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return time.Duration(cmp.Or(s.lease.opened, s.lease.timeout))
}

// connectResponse takes the answer to the handshake, and returns it as the library is
// to see it.
func (t *tappedConn) connectResponse(frame []byte) ([]byte, error) {
	d := jute.NewDecoder(frame[4:])
	r := d.ConnectResponse()
	if d.Bad() {
		return nil, fmt.Errorf("%w: handshake of %d bytes", errMangled, len(frame))
	}
	if r.Session != 0 && r.Timeout < 4*time.Millisecond {
		return nil, fmt.Errorf("%w: session timeout of %v", errMangled, r.Timeout)
	}
	if err := t.s.granted(SessionID(r.Session), sessionTimeout(r.Timeout), t.asked); err != nil {
		return nil, err
	}
	if r.Session != 0 {
		t.authenticate()
		r.Timeout = t.s.Timeout() / 2
	}
	t.stage = accepted
	_ = t.Conn.SetWriteDeadline(time.Time{}) // from now on keepLease looks after it
	e := jute.NewFrame()
	e.ConnectResponse(r)
	return e.Frame(), nil
}

// granted notes that a server has opened or resumed the session id; if id is zero, that
// there is none to resume. The error is that s is over.
func (s *Session) granted(id SessionID, timeout sessionTimeout, asked moment) error {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	switch {
	case s.id != 0 && id != s.id: // some servers open another one in place of a word of refusal
		s.c.become(s, Expired, errEnsemble)
	case id != 0:
		s.id = id
		s.lease.granted(now(), asked, timeout)
		s.lookUp() // the timeout may be another
	}
	return s.Err()
}

// authenticate presents the client's credentials and asks for a sign of life. Servers
// grant a session to anybody, and say only when something is asked in it that they do
// not serve a client which has not authenticated itself. A heartbeat needs no
// permission, and its answer, unlike those to credentials, says that all is well. The
// answers are read by next.
func (t *tappedConn) authenticate() {
	for _, a := range t.s.c.opts.Auth {
		e := jute.NewRequest(jute.XidAuth, jute.OpAuth)
		e.Auth(jute.Auth{Scheme: a.Scheme, Credential: append([]byte{}, a.Credential...)}) // empty, but never null
		t.logins = append(t.logins, a.Scheme)
		if _, err := t.Conn.Write(e.Frame()); err != nil {
			return // what the server said before it hung up, if it has, is in what it sent
		}
	}
	t.note(request{xid: jute.XidPing})
	_, _ = t.Conn.Write(jute.NewRequest(jute.XidPing, jute.OpPing).Frame()) // as above
}

// served notes that the server has answered something. The answer to the heartbeat
// behind the credentials makes the session fit for use. A server is trusted, so that
// after its end another can be dialled without a pause, only when it has served the
// session for a while: one that hangs up again and again must not be stormed.
func (t *tappedConn) served(h jute.ReplyHeader) {
	if t.stage == trusted {
		return // there is no more to learn, and this is done for every answer
	}
	if t.stage == accepted && h.Xid == jute.XidPing && len(t.logins) == 0 {
		t.stage = serving
		_ = t.Conn.SetReadDeadline(time.Time{}) // from now on keepLease looks after it
		t.s.c.servers.welcomed()
		t.s.c.change(t.s, Connected, nil)
	}
	// By these codes the server says that it does not serve the session any longer.
	refused := h.Code == jute.CodeSessionExpired || h.Code == jute.CodeSessionMoved
	if t.stage == serving && !refused && now().since(t.asked) >= min(time.Second, sessionTimeout(t.s.Timeout()).heartbeat()) {
		t.stage = trusted
		t.s.c.servers.lasted()
	}
}

// expiredWithin reports whether what follows the header of an answer is that to a Multi
// which a server refused because it no longer knows the session. It says so op by op.
func expiredWithin(d *jute.Decoder) bool {
	for {
		h := d.MultiHeader()
		if h.Op != jute.OpError || h.Done || d.Bad() {
			return false
		}
		if h.Code == jute.CodeSessionExpired {
			return true
		}
		d.Int32() // the code again
	}
}
