package coordtest

import (
	"crypto/rand"
	"crypto/subtle"
	"maps"
	"slices"
	"time"

	"github.com/zkcoord/zkcoord/internal/jute"
)

const (
	tick      = 2 * time.Second // sessions expire on its multiples only
	reapEvery = time.Minute

	minTimeout = 2 * tick
	maxTimeout = 20 * tick
)

// A session outlives its connections.
type session struct {
	id       int64
	password [16]byte
	timeout  time.Duration
	due      time.Duration // when it expires, by Server.now
	conn     *conn         // the newest one, even if that has ended; nil if the servers have not met it
	stuck    bool          // a request of it waits for a quorum that is out of reach, and so do all behind it
}

// touch puts off the session's expiry.
func (r *replica) touch(ss *session) { ss.due = roundUp(r.server.now()+ss.timeout, tick) }

// roundUp returns the next multiple of unit after d.
func roundUp(d, unit time.Duration) time.Duration { return (d/unit + 1) * unit }

// handshake opens or resumes the session of a connection.
func (r *replica) handshake(c *conn, frame []byte) {
	d := jute.NewDecoder(frame)
	req := d.ConnectRequest()
	if d.Bad() || req.Zxid > r.tree.zxid { // from the future: another server knows more
		c.drop()
		return
	}
	timeout := min(max(req.Timeout, minTimeout), maxTimeout)
	if req.Session == 0 && r.isolated { // which takes a quorum
		c.accepted, c.session = true, &session{stuck: true}
		return
	}
	var ss *session
	if req.Session == 0 {
		ss = r.open()
	} else {
		ss = r.resume(req)
	}
	c.accepted = true
	resp := jute.ConnectResponse{Password: make([]byte, 16)}
	if ss != nil {
		ss.timeout, ss.conn, c.session = timeout, c, ss
		r.touch(ss)
		r.server.wake()
		resp.Timeout, resp.Session, resp.Password = timeout, ss.id, ss.password[:]
	}
	if len(req.Rest) > 0 {
		resp.Rest = []byte{0} // not read-only
	}
	e := jute.NewFrame()
	e.ConnectResponse(resp)
	c.send(e)
	if ss == nil {
		c.finish()
	}
}

func (r *replica) open() *session {
	r.tree.zxid++ // a transaction, too
	r.last++
	ss := &session{id: r.last}
	rand.Read(ss.password[:]) // never fails
	r.sessions[ss.id] = ss
	return ss
}

// resume returns the session that a client wants to go on with, or nil. Even if
// the password is wrong the session's present connection ends: the real server
// checks it too late, too.
func (r *replica) resume(req jute.ConnectRequest) *session {
	ss := r.sessions[req.Session]
	if ss == nil {
		return nil
	}
	ss.hangUp()
	if subtle.ConstantTimeCompare(ss.password[:], req.Password) == 0 {
		return nil
	}
	return ss
}

// hangUp drops the session's connection.
func (ss *session) hangUp() {
	if ss.conn != nil {
		ss.conn.drop()
	}
}

// expireDue ends the sessions whose time has come.
func (r *replica) expireDue(now time.Duration) {
	for _, id := range slices.Sorted(maps.Keys(r.sessions)) {
		if ss := r.sessions[id]; ss.due <= now {
			r.expire(ss)
		}
	}
}

// expire ends a session and its connection. Without a quorum it only begins to.
func (r *replica) expire(ss *session) {
	if r.isolated {
		ss.stuck = true
		delete(r.sessions, ss.id)
		return
	}
	ss.hangUp()
	r.end(ss)
}

// end ends a session: its ephemeral nodes go with it.
func (r *replica) end(ss *session) {
	delete(r.sessions, ss.id)
	x := r.begin(ss.id, nil)
	x.end()
	r.commit(x)
}
