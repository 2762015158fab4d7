package coordtest

import "sync"

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
// again does nothing. A real leader finds out by itself when it has not heard the others
// for its syncLimit, which is 5 ticks as a rule, and up to a tick more. Here it is the test
// that says when:
//
//	time.AfterFunc(12*time.Second, s.Isolate("leader:2181"))
//
// Where nobody leads, and at the address of a server that lags, there is no leader to be
// isolated: Isolate fails the test.
func (s *Server) Isolate(addr string) (heal func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stale != nil:
		s.fatal("coordtest: there is an isolated leader already")
		return func() {}
	case s.leaderless > 0:
		s.fatal("coordtest: there is no leader to be isolated")
		return func() {}
	case s.at(addr).kind != current:
		s.fatal("coordtest: the server at %s lags, so it does not lead", addr)
		return func() {}
	}
	old := s.fork(isolated, addr)
	s.stale = old
	s.abandon()
	s.elect()
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, c := range old.connections() {
			c.drop()
		}
		s.stale = nil
	})
}
