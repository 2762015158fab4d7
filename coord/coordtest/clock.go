package coordtest

import (
	"cmp"
	"slices"
	"time"
)

// clock expires sessions and reaps containers when their time comes, and executes what has
// arrived if that is to be in a fixed order. With nothing to do it waits forever, so that a
// bubble sees when nothing can happen any more.
func (s *Server) clock() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	reaped := s.now()
	for {
		select {
		case <-s.done:
			return
		case <-s.kick:
		case <-timer.C:
		}
		s.mu.Lock()
		var next time.Duration
		if !s.closed {
			now := s.now()
			if s.frozen == 0 {
				s.expireDue(now)
				if s.leaderless == 0 && now/reapEvery > reaped/reapEvery {
					s.reap()
					reaped = now
				}
			}
			s.execute(now)
			next = s.nextDue(now)
		}
		s.mu.Unlock()
		if next > 0 {
			timer.Reset(next)
		}
	}
}

// leaders returns those that count the time of sessions now.
func (s *Server) leaders() (all []*replica) {
	if s.leaderless == 0 {
		all = append(all, s.replica)
	}
	if s.stale != nil {
		all = append(all, s.stale)
	}
	return all
}

// expireDue has the leaders end the sessions whose time has come.
func (s *Server) expireDue(now time.Duration) {
	for _, r := range s.leaders() {
		r.expireDue(now)
	}
}

// nextDue returns how long the clock may sleep, or 0 forever.
func (s *Server) nextDue(now time.Duration) time.Duration {
	var due []time.Duration
	if len(s.arrived) > 0 {
		due = append(due, s.since+1-now)
	}
	if s.frozen == 0 {
		for _, r := range s.leaders() {
			for _, ss := range r.sessions {
				due = append(due, ss.due-now)
			}
		}
		if s.leaderless == 0 && len(s.tree.containers) > 0 {
			due = append(due, roundUp(now, reapEvery)-now)
		}
	}
	if len(due) == 0 {
		return 0
	}
	return max(slices.MinFunc(due, cmp.Compare), 1)
}

// wake makes the clock look again: something may be due earlier than it knows.
func (s *Server) wake() {
	select {
	case s.kick <- struct{}{}:
	default: // it has yet to look at all
	}
}

// now returns the time since the server's start.
func (s *Server) now() time.Duration { return time.Since(s.start) }
