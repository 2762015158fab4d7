package coordtest

import (
	"slices"
	"sync"
)

// Lag makes the server at addr a follower that does what the others do, but later: from
// now on its state stands still, until heal is called. A client that has dialed addr, or
// dials it now, is with that server; all others are with servers that are current.
//
// Reads at a server that lags see the past, and watches do not fire. The server is in
// touch with the leader all the same: it passes on what its clients want done, tells which
// sessions it hears, and asks which ones live. But it answers a write, a sync, a new session
// or the end of one only when it has got to it, though all others see it at once. Until
// then everything that the same session asks for later waits too, heartbeats included. A
// client that has seen what the server has not is refused. And the server learns of the
// end of a session in its turn, so the client of a session that has expired can go on
// reading.
//
// When a session goes on at another server, a server that lags still answers reads on the
// connection that it had before. A write there is not done and costs the connection. At
// a server that is current, as at a real leader, every request does.
//
// heal has the server do all that it has missed, in order, with the events and the answers,
// and keep up from then on. Calling heal again does nothing. Several servers can lag
// at once. Lags of one server add up; a heal that is followed by another Lag lets it catch
// up.
//
// A real leader gives up a follower that does not log what it is sent, or is silent, for
// its syncLimit. One that is slow to apply does neither, so it can lag for as long as the
// one here.
//
// The leader that is isolated does not lag, and Lag at its address fails the test.
func (s *Server) Lag(addr string) (heal func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.at(addr)
	switch r.kind {
	case isolated:
		s.fatal("coordtest: the server at %s is isolated, so it does not lag", addr)
		return func() {}
	case current:
		r = s.fork(lagging, addr)
		s.lagging = append(s.lagging, r)
	}
	r.lags++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.do(func() {
			if r.lags--; r.lags == 0 {
				s.join(r)
			}
		})
	})
}

// join makes r, which lags, do what it has missed, and its connections those of a server
// that is current.
func (s *Server) join(r *replica) {
	for len(r.behind) > 0 {
		do := r.behind[0]
		r.behind = r.behind[1:]
		do(r)
	}
	s.lagging = slices.DeleteFunc(s.lagging, func(other *replica) bool { return other == r })
	for _, c := range r.connections() {
		s.take(c)
		if c.live() && c.session.owner != c {
			c.drop() // as when it next writes
		}
	}
}

// Leaderless makes s an ensemble without a leader until heal is called, as after the
// leader's death, or while a majority of the servers cannot reach each other. All servers
// hang up on their clients, and on those that come. Sessions do not expire meanwhile.
//
// heal has the servers elect a leader, with whom all are current. It counts the timeout
// of each session anew. Calls of Leaderless add up; calling heal again does nothing.
//
// A leader that is isolated goes on as it did, and servers that lag do so again after
// the election, from the state that they have then.
func (s *Server) Leaderless() (heal func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaderless++
	s.abandon()
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.leaderless--; s.leaderless > 0 || s.closed {
			return
		}
		s.elect()
		undecided := s.undecided
		s.undecided = nil
		for _, f := range undecided {
			s.do(f)
		}
	})
}

// abandon has all servers hang up on their clients but the leader that is isolated.
func (s *Server) abandon() {
	for _, r := range append([]*replica{s.replica}, s.lagging...) {
		for _, c := range r.connections() {
			if c.live() { // or it hangs up by itself, or is yet to say where it belongs
				c.drop()
			}
		}
	}
}

// elect begins a new epoch. No server but the isolated leader has connections.
func (s *Server) elect() {
	s.tree.zxid = (s.tree.zxid>>32 + 1) << 32
	for _, ss := range s.sessions {
		ss.owner = nil
		s.touch(ss)
	}
	for _, r := range s.lagging {
		r.copy(s.replica)
	}
	s.wake()
}

// decide runs f now, or when the server is thawed and has a leader. It is called with s.mu
// held, and so is f.
func (s *Server) decide(f func()) {
	s.do(func() {
		if s.leaderless > 0 {
			s.undecided = append(s.undecided, f)
			return
		}
		f()
	})
}

// at returns the server that has this address.
func (s *Server) at(addr string) *replica {
	for _, r := range s.replicas()[1:] {
		if r.addr == addr {
			return r
		}
	}
	return s.replica
}

// replicas returns what there is of them, the one of the servers that are current first.
func (s *Server) replicas() []*replica {
	all := append([]*replica{s.replica}, s.lagging...)
	if s.stale != nil {
		all = append(all, s.stale)
	}
	return all
}
