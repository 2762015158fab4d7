package coord

import (
	"fmt"
	"time"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// connectRequest returns frame, which begins the handshake, with what the library
// does not know.
func (t *tap) connectRequest(frame []byte) []byte {
	r := jute.NewDecoder(frame[4:]).ConnectRequest()
	r.Zxid, r.Timeout = t.seen, time.Duration(t.s.wish())
	e := jute.NewFrame()
	e.ConnectRequest(r)
	return e.Frame()
}

// greet takes the answer to the handshake.
func (t *tap) greet(frame []byte) ([]byte, error) {
	d := jute.NewDecoder(frame[4:])
	r := d.ConnectResponse()
	if d.Bad() {
		return nil, fmt.Errorf("%w: handshake of %d bytes", errMangled, len(frame))
	}
	t.mu.Lock()
	asked := t.asked
	t.mu.Unlock()
	if r.Session != 0 && r.Timeout < 4*time.Millisecond {
		return nil, fmt.Errorf("%w: session timeout of %v", errMangled, r.Timeout)
	}
	if err := t.s.greeted(t, r.Session, term(r.Timeout), asked); err != nil {
		return nil, err
	}
	if r.Session != 0 {
		t.login()
		r.Timeout = t.s.Timeout() / 2
	}
	t.greeted = true
	e := jute.NewFrame()
	e.ConnectResponse(r)
	return e.Frame(), nil
}

// login presents the client's credentials and asks for a sign of life. Servers
// grant a session to anybody; that they do not serve one whose client has not
// proved who it is they say only when something is asked in it. A heartbeat needs
// no permission, and its answer, unlike those to credentials, says that all is
// well. The answers are read by next.
func (t *tap) login() {
	for _, a := range t.s.c.opts.Auth {
		e := jute.NewRequest(jute.XidAuth, jute.OpAuth)
		e.Auth(jute.Auth{Scheme: a.Scheme, Credential: append([]byte{}, a.Credential...)}) // empty, but never null
		t.mu.Lock()
		t.logins = append(t.logins, a.Scheme)
		t.mu.Unlock()
		if _, err := t.Conn.Write(e.Frame()); err != nil {
			return // what the server said before it hung up, if it has, is in what it sent
		}
	}
	before := t.s.newestAnswered()
	t.mu.Lock()
	t.sent = append(t.sent, request{xid: jute.XidPing, at: now(), before: before})
	t.mu.Unlock()
	_, _ = t.Conn.Write(jute.NewRequest(jute.XidPing, jute.OpPing).Frame()) // as above
}

// served takes it that the server has answered something. The first heartbeat
// behind the credentials makes the session fit for use. That the server is good,
// so that after its end another can be dialled without a pause, it has proved only
// when it has kept us for a while: one that hangs up again and again must not be
// stormed.
func (t *tap) served(h jute.ReplyHeader) {
	if t.lasted {
		return // there is no more to learn, and this is done for every answer
	}
	t.mu.Lock()
	age, owed := t.asked.age(), len(t.logins)
	t.mu.Unlock()
	if h.Xid == jute.XidPing && owed == 0 && !t.welcome {
		t.welcome = true
		_ = t.Conn.SetReadDeadline(time.Time{}) // from now on watchLease looks after it
		t.s.c.ring.welcomed()
		t.s.resumed()
	}
	if t.welcome && h.Code != jute.CodeSessionExpired && h.Code != jute.CodeSessionMoved && age >= min(time.Second, term(t.s.Timeout()).heartbeat()) {
		t.lasted = true
		t.s.c.ring.lasted()
	}
}
