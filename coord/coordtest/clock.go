package coordtest

import (
	"cmp"
	"slices"
	"time"
)

// clock expires sessions and reaps containers when their time comes. With
// neither it waits forever, so that a bubble sees when nothing can happen any more.
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
		if s.frozen == 0 && !s.closed {
			now := s.now()
			for _, r := range s.replicas() {
				r.expireDue(now)
			}
			if now/reapEvery > reaped/reapEvery {
				s.reap()
				reaped = now
			}
			next = s.nextDue(now)
		}
		s.mu.Unlock()
		if next > 0 {
			timer.Reset(next)
		}
	}
}

// nextDue returns how long the clock may sleep, or 0 forever.
func (s *Server) nextDue(now time.Duration) time.Duration {
	var due []time.Duration
	for _, r := range s.replicas() {
		for _, ss := range r.sessions {
			due = append(due, ss.due-now)
		}
	}
	if len(s.tree.containers) > 0 {
		due = append(due, roundUp(now, reapEvery)-now)
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
