package coord

import (
	"fmt"
	"time"
)

// until returns the moment up to which the session is good even if nothing more
// is heard. It is zero until the session is established.
func (s *Session) until() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id == 0 {
		return time.Time{}
	}
	return s.proven.Add(s.timeout.lease())
}

// check ends the session if its lease has run out, and returns Err. It is for
// those who have waited and are about to rely on the session.
func (s *Session) check() error {
	s.mu.Lock()
	lease, established := s.timeout.lease(), s.id != 0
	silent, unproven := since(s.latest), time.Duration(0)
	if len(s.holds) > 0 {
		unproven = since(s.proven)
	}
	s.mu.Unlock()
	switch {
	case !established:
	case silent >= lease:
		s.c.over(s, fmt.Errorf("%w: no answer for %v", ErrExpired, silent.Round(time.Millisecond)))
	case unproven >= lease:
		s.c.over(s, fmt.Errorf("%w: no word from the leader for %v", ErrExpired, unproven.Round(time.Millisecond)))
	}
	return s.Err()
}

// errUnproven is why a hold can not be granted: the answers to everything that
// its recipe did are too old.
var errUnproven = fmt.Errorf("%w: no word from the leader in time", ErrExpired)

// heard notes that r has been answered.
func (s *Session) heard(r request, zxid int64) {
	s.mu.Lock()
	if r.at.After(s.latest) {
		s.latest = r.at
	}
	if r.proof && r.at.After(s.proven) {
		s.proven = r.at
	}
	s.zxid = max(s.zxid, zxid)
	s.mu.Unlock()
}

// prove asks for an answer that has passed the leader, unless that is under way.
func (s *Session) prove() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proving || !s.isUp || s.life.Err() != nil {
		return
	}
	s.proving = true
	// Beside the requests that wait for a slot, so that those can not delay it.
	s.calls.Go(func() {
		_, err := s.conn.Sync("/") // the tap sees the answer, and watchLease if there is none
		s.conclude(err)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.proving = false
	})
}

// watchLease ends the session when its lease runs out, and before that hangs up
// on a server that has fallen silent, or has lost its leader, so that another can
// be tried in time. While something is held or sought it sees to it that there
// are answers to go by.
func (s *Session) watchLease() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var hung *tap
	var asked time.Time // when a proof was last asked for
	for {
		select {
		case <-timer.C:
		case <-s.life.Done():
			return
		}
		if s.check() != nil {
			return
		}
		wanted := s.c.wantedSince()
		s.mu.Lock()
		t, tap, up := s.timeout, s.tap, s.isUp
		silent, unproven := since(s.latest), time.Duration(0)
		if !wanted.IsZero() {
			unproven = min(since(s.proven), since(wanted))
		}
		s.mu.Unlock()
		// A timer goes by the monotonic clock; looking up from time to time
		// notices that the machine has slept.
		wait := min(t.lease()-max(silent, unproven), t.heartbeat()/4)
		if up && tap != hung {
			// A request that stays without an answer while heartbeats are
			// answered has been lost, and its reply will not come.
			quiet := max(silent, unproven, tap.waiting())
			if quiet >= t.silence() {
				hung = tap
				tap.hangUp()
			}
			wait = min(wait, t.silence()-quiet)
		}
		if !wanted.IsZero() && since(asked) >= t.heartbeat()*3/4 {
			asked = time.Now()
			s.prove()
		}
		timer.Reset(max(wait, time.Millisecond))
	}
}

// wantedSince returns since when there has been a hold held or sought without a
// break, zero if there is none.
func (c *Client) wantedSince() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wants == 0 {
		return time.Time{}
	}
	return c.wanted
}
