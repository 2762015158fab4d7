package coord

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// A connection begins like this:
//
//   - The library writes a connect request, which the tap corrects.
//   - The server answers that it has opened or resumed the session, or that the session
//     is over.
//   - Before the library learns of that, the tap authenticates the client by SASL, if it is
//     to, and writes the credentials and a heartbeat.
//   - The server answers these. With the last answer it serves the session, and the client
//     is Connected. Until then the program's requests wait at the gate.
//
// All this must be done by a deadline, which is set on the net.Conn. After that there are
// no deadlines: keepLease sees to it that the server answers.

// connectRequest returns frame, which begins the handshake, with the newest zxid that was
// seen and the timeout to ask for. The library knows neither. A server that is behind that
// zxid hangs up, so that the client does not read what is older than what it has seen.
func (t *tappedConn) connectRequest(frame []byte) []byte {
	t.asked = now()
	r := jute.NewDecoder(frame[4:]).ConnectRequest()
	r.Zxid, r.Timeout = t.seen, t.s.timeoutToAsk()
	e := jute.NewFrame()
	e.ConnectRequest(r)
	return e.Frame()
}

// timeoutToAsk returns the timeout to ask for: the one with which the session was opened.
// A server that grants less at the moment may be followed by one that grants it again.
func (s *Session) timeoutToAsk() time.Duration {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return time.Duration(cmp.Or(s.lease.opened, s.lease.timeout))
}

// connectResponse handles the answer to the handshake, and returns it as the library is
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
	t.stage = accepted
	if r.Session != 0 { // zero is the answer that the session is over
		if err := t.authenticateSASL(); err != nil {
			return nil, err
		}
		t.authenticate()
		t.rearm()
		r.Timeout = math.MaxInt32 * time.Millisecond
	}
	_ = t.Conn.SetWriteDeadline(time.Time{}) // from now on keepLease looks after it
	e := jute.NewFrame()
	e.ConnectResponse(r)
	return e.Frame(), nil
}

// granted notes that a server has opened or resumed the session with this id, or, if id is
// zero, that it knows of none to resume. If s is over, granted returns why.
func (s *Session) granted(id SessionID, timeout sessionTimeout, asked moment) error {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	switch {
	case s.id != 0 && id != s.id: // some servers open another one instead of refusing
		s.c.become(s, Expired, errEnsemble)
	case id != 0:
		s.id = id
		s.lease.granted(now(), asked, timeout)
		s.lookUp() // the timeout may be another
	}
	return s.Err()
}

// authenticate presents the client's credentials, and then sends a heartbeat. Servers
// grant a session to every client. That they do not serve a client without a certain
// credential, they say only when it asks for something in the session. A heartbeat needs
// no permission, and its answer, unlike the answers to credentials, shows that the client
// is served. The answers are read by next.
func (t *tappedConn) authenticate() {
	for _, a := range t.s.c.opts.Auth {
		e := jute.NewRequest(jute.XidAuth, jute.OpAuth)
		e.Auth(jute.Auth{Scheme: a.Scheme, Credential: append([]byte{}, a.Credential...)}) // empty, but never null
		t.logins = append(t.logins, a.Scheme)
		if _, err := t.Conn.Write(e.Frame()); err != nil {
			return // next finds out why: the server may have said so before it hung up
		}
	}
	_, _ = t.Conn.Write(t.request(pingFrame())) // as above
}

// served notes that the server has answered something. With the answer to the heartbeat
// behind the credentials it serves the session. It is trusted once it has served the
// session for a while: only then, when the connection ends, is the next server dialed
// without a pause. Servers that hang up again and again must not be stormed.
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

// verdict returns what a server says in an answer to a request of the kind op whose header
// has this code. Of a Multi that was refused the code is OK, and the reason is with the
// op for which it was.
func verdict(op jute.Op, code jute.Code, body []byte) jute.Code {
	if op != jute.OpMulti || code != jute.OK {
		return code
	}
	d := jute.NewDecoder(body)
	for {
		h := d.MultiHeader()
		if h.Op != jute.OpError || h.Done || d.Bad() {
			return jute.OK
		}
		if code := jute.Code(d.Int32()); code != jute.OK {
			return code
		}
	}
}
