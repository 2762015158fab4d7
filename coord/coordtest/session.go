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

// A session outlives its connections. Each replica has a record of its own.
type session struct {
	id       int64
	password [16]byte
	timeout  time.Duration

	// What the leader knows.
	due   time.Duration // when it expires, by Server.now
	owner *conn         // the newest one, even if that has ended; nil if the leader has not met it

	// What a server knows that is not current: the requests of the session that wait. The
	// first one commits, and so those behind it wait too.
	queue []*request
}

// leader is the one, or takes itself for the one, that r is in touch with.
func (r *replica) leader() *replica {
	if r.kind == isolated {
		return r
	}
	return r.server.replica
}

// touch puts off the session's expiry. Servers tell the leader at once whom they hear.
func (r *replica) touch(ss *session) {
	if known := r.leader().sessions[ss.id]; known != nil {
		known.due = roundUp(r.server.now()+ss.timeout, tick)
	}
}

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
	c.modern = len(req.Rest) > 0
	timeout := min(max(req.Timeout, minTimeout), maxTimeout)
	if req.Session == 0 {
		r.open(c, timeout)
	} else {
		r.resume(c, req, timeout)
	}
	c.accepted = true
}

// open opens a session. That is a transaction, too.
func (r *replica) open(c *conn, timeout time.Duration) {
	s := r.server
	c.session = &session{timeout: timeout, owner: c}
	q := &request{conn: c, op: opOpen}
	if r.kind != current {
		c.session.queue = []*request{q}
	}
	if r.kind == isolated {
		return
	}
	s.last++
	c.session.id = s.last
	rand.Read(c.session.password[:]) // never fails
	known := *c.session
	known.queue = nil
	s.commit(func(r *replica) {
		r.tree.zxid++
		ours := c.replica == r
		ss := r.sessions[known.id] // if a client has resumed it before we have got here
		if ss == nil {
			ss = new(session)
			*ss = known
			if ours {
				ss = c.session
			}
			r.sessions[ss.id] = ss
		}
		if r.kind == current || ours {
			r.touch(ss)
			s.wake()
		}
		if ours {
			c.welcome(ss)
			r.next(q)
		}
	})
}

// resume has a client go on with a session. Even if the password is wrong the session's
// present connection to the server ends: the real server checks it too late, too. One to
// another server stays, for reads.
func (r *replica) resume(c *conn, req jute.ConnectRequest, timeout time.Duration) {
	r.hangUp(req.Session, nil)
	known := r.leader().sessions[req.Session]
	if known == nil || subtle.ConstantTimeCompare(known.password[:], req.Password) == 0 {
		c.welcome(nil)
		c.finish()
		return
	}
	ss := r.sessions[known.id]
	if ss == nil {
		ss = new(session)
		*ss = *known
		r.sessions[ss.id] = ss
	}
	ss.timeout, known.timeout = timeout, timeout
	known.owner, c.session = c, ss
	r.touch(ss)
	r.server.wake()
	c.welcome(ss)
}

// welcome ends a handshake. No session means that the one asked for is over.
func (c *conn) welcome(ss *session) {
	resp := jute.ConnectResponse{Password: make([]byte, 16)}
	if ss != nil {
		resp.Timeout, resp.Session, resp.Password = ss.timeout, ss.id, ss.password[:]
	}
	if c.modern {
		resp.Rest = []byte{0} // not read-only
	}
	e := jute.NewFrame()
	e.ConnectResponse(resp)
	c.send(e)
}

// expireDue ends the sessions whose time has come, by a leader's clock.
func (r *replica) expireDue(now time.Duration) {
	for _, id := range slices.Sorted(maps.Keys(r.sessions)) {
		if ss := r.sessions[id]; ss.due <= now {
			r.expire(ss)
		}
	}
}

// expire ends a session. Without a quorum a leader only begins to.
func (r *replica) expire(ss *session) {
	if r.kind == isolated {
		ss.queue = append(ss.queue, &request{op: jute.OpClose})
		delete(r.sessions, ss.id)
		return
	}
	now := time.Now().UnixMilli()
	r.server.commit(func(r *replica) { r.end(ss.id, nil, now) })
}

// end ends a session: its ephemeral nodes go with it, and its connections but the one
// that has asked for it.
func (r *replica) end(session int64, asks *conn, now int64) {
	r.hangUp(session, asks)
	delete(r.sessions, session)
	x := r.begin(session, nil, now)
	x.end()
	r.announce(x)
}
