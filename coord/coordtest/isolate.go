package coordtest

import (
	"maps"
	"sync"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// Isolate makes s an ensemble whose leader, at addr, is cut off from the other
// servers and does not know, until heal is called. A client that has dialed addr, or
// dials it now, is with that leader; all others are with the other servers, which have
// elected another leader at once and hang up on the clients they had.
//
// The old leader answers what takes no quorum: heartbeats, reads, syncs, and the
// clients that come back to their sessions. A write, a new session or the end of one
// stays unanswered, and so does all that the same session asks for later, on other
// connections too.
//
// The others go on. They count the timeout of each session anew, and end those that
// they do not hear. What the methods of s tell and do is of them.
//
// heal has the old leader find out: it hangs up on everybody, and what it has left
// unanswered is not done. Until then no other leader can be isolated. Calling heal
// again does nothing.
func (s *Server) Isolate(addr string) (heal func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stale != nil {
		s.fatal("coordtest: there is an isolated leader already")
		return func() {}
	}
	s.leader, s.stale = addr, s.fork()
	for c := range s.conns {
		switch {
		case c.over: // it hangs up by itself, and may have no session any more
		case c.addr == addr:
			s.stale.take(c)
		default:
			c.drop()
		}
	}
	s.tree.zxid = (s.tree.zxid>>32 + 1) << 32 // a new epoch
	for _, ss := range s.sessions {
		ss.conn = nil
		s.touch(ss)
	}
	s.wake()
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for c := range s.stale.conns {
			c.drop()
		}
		s.stale = nil
	})
}

// replicas returns what there is of them.
func (s *Server) replicas() []*replica {
	if s.stale == nil {
		return []*replica{s.replica}
	}
	return []*replica{s.replica, s.stale}
}

// fork returns a copy of r for a leader that is isolated, without the connections.
func (r *replica) fork() *replica {
	old := newReplica(r.server)
	old.isolated, old.tree = true, r.tree.clone()
	for id, ss := range r.sessions {
		known := *ss
		known.conn = nil
		old.sessions[id] = &known
	}
	return old
}

// take makes c, with its watches, a connection to r.
func (r *replica) take(c *conn) {
	from := c.replica
	delete(from.conns, c)
	r.conns[c] = struct{}{}
	for k := range maps.Clone(from.watches.of[c]) {
		mode := from.watches.armed[k][c]
		from.watches.disarm(c, k)
		r.watches.arm(c, k, mode)
	}
	c.replica = r
	if c.session != nil {
		c.session = r.sessions[c.session.id]
		c.session.conn = c
	}
}

// waits reports whether a request has to wait for a quorum that is out of reach, or
// behind one that does. Credentials do not wait.
func (c *conn) waits(o jute.Op) bool {
	if !c.replica.isolated || o == jute.OpAuth {
		return false
	}
	if o.Writes() || o == jute.OpCheck || o == jute.OpClose {
		c.session.stuck = true
	}
	return c.session.stuck
}
