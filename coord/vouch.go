package coord

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
)

// until returns the moment up to which what is held in the session is good even if
// nothing more is heard. It is zero before the first proof that it lives.
func (s *Session) until() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lease.until()
}

// check ends the session if its lease has run out, and returns Err. It is for
// those who have waited and are about to rely on the session.
func (s *Session) check() error {
	s.mu.Lock()
	p := s.prospect()
	s.mu.Unlock()
	do, _ := p.next()
	s.expire(do, p)
	return s.Err()
}

// expire ends the session if do says so.
func (s *Session) expire(do step, p prospect) {
	switch do {
	case expire:
		s.c.over(s, fmt.Errorf("%w: no answer for %v", ErrExpired, p.silent.Round(time.Millisecond)))
	case disprove:
		s.c.over(s, fmt.Errorf("%w: no transaction carried out for %v", ErrExpired, p.unproven.Round(time.Millisecond)))
	}
}

// prospect returns how matters stand in the session. It is called with s.mu held.
func (s *Session) prospect() prospect {
	p := prospect{
		term:     s.lease.term,
		left:     s.lease.left(),
		held:     len(s.holds) > 0,
		changed:  s.lease.term != s.lease.proved,
		silent:   s.lease.heard.age(),
		unproven: s.lease.proof.age(),
		up:       s.isUp,
		took:     s.lease.took,
		proving:  s.proving,
		asking:   s.asking,
		proveAge: s.proveAt.age(),
		askAge:   s.askAt.age(),
	}
	if s.id == 0 {
		p.silent = 0 // there is no session yet that could end
	}
	if s.isUp {
		p.debt = s.tap.debt(p.silent)
	}
	return p
}

// errUnproven is why a hold cannot be granted: nothing has proved for too long
// that the session lives.
var errUnproven = fmt.Errorf("%w: no transaction carried out in time", ErrExpired)

// answered notes that r has been answered just now, by a server that had then
// seen zxid. A transaction that has been carried out, or refused by the ensemble
// as a whole, is a proof.
func (s *Session) answered(r request, proof bool, zxid int64) {
	s.mu.Lock()
	s.lease.answered(r, proof)
	s.zxid = max(s.zxid, zxid)
	s.mu.Unlock()
}

// newestAnswered returns when the newest request was written that has been answered.
func (s *Session) newestAnswered() moment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lease.latest
}

// hearing notes that bytes have come of what has not come as a whole.
func (s *Session) hearing() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lease.heard = now()
}

// Renewed reports whether the ensemble has carried out a transaction of s, a third
// of the timeout ago at the most.
func (s *Session) Renewed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lease.proof.age() < min(s.lease.term, s.lease.proved).silence()
}

// Renew waits until s is [Session.Renewed]: at once if it is, and else until the
// ensemble has answered a transaction that checks for the znode at path and changes
// nothing. Whether the znode is there does not matter, nor
// whether the client may read it. A recipe does so before it says that something
// is held on the ground of what it has only read. The error is ctx's cause or s's
// Err.
func (s *Session) Renew(ctx context.Context, path string) error {
	for !s.Renewed() {
		err := s.Retry(ctx, func() error {
			_, err := s.Multi(ctx, OpCheck(path, -1))
			return err
		})
		switch {
		case ctx.Err() != nil:
			return GivenUp(ctx)
		case s.Err() != nil:
			return s.Err()
		case err != nil && !s.Renewed(): // the word of one server, or one that came too late
			if err := s.pause(ctx, s.Timeout()/24); err != nil {
				return err
			}
		}
	}
	return nil
}

// prove asks for a proof that the session lives: a transaction that checks for the
// znode of something that is held. It costs the ensemble a write to its logs, and
// no watch fires. What the check says is not looked at: the ensemble as a whole has
// said it. It does not wait for a slot, as other requests do.
func (s *Session) prove() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proving || !s.isUp || s.life.Err() != nil {
		return
	}
	var node string
	for h := range s.holds { // any
		h.mu.Lock()
		node = cmp.Or(h.node, h.c.FullPath(h.path))
		h.mu.Unlock()
		break
	}
	if node == "" {
		return
	}
	s.proving, s.proveAt = true, now()
	s.calls.Go(func() {
		// The tap sees the answer, and watchLease if there is none.
		_, err := s.conn.Multi(&zk.CheckVersionRequest{Path: node, Version: -1})
		s.conclude(err)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.proving = false
	})
}

// ask asks for a sign of life of the leader. The answer proves nothing, but a
// server that has lost its leader does not give it, and then no longer answers
// heartbeats either.
func (s *Session) ask() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asking || !s.isUp || s.life.Err() != nil {
		return
	}
	s.asking, s.askAt = true, now()
	s.calls.Go(func() {
		_, err := s.conn.Sync("/")
		s.conclude(err)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asking = false
	})
}

// watchLease ends the session when its lease runs out, and before that hangs up
// on a server that has fallen silent, or has lost the others, so that another can
// be tried in time. While something is held it sees to it that there are proofs.
func (s *Session) watchLease() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var hung *tap
	var lacking moment // the newest proof when another server was last tried for want of one
	for {
		select {
		case <-timer.C:
		case <-s.look:
		case <-s.life.Done():
			return
		}
		sought := s.c.seeking()
		s.mu.Lock()
		tap, p, proof := s.tap, s.prospect(), s.lease.proof
		s.mu.Unlock()
		p.sought, p.moved = sought, proof == lacking
		p.up = p.up && tap != hung
		do, wait := p.next()
		switch do {
		case expire, disprove:
			s.expire(do, p)
			return
		case hangUp, move:
			if hung = tap; do == move {
				lacking = proof
			}
			tap.hangUp()
		case prove:
			s.prove()
		case ask:
			s.ask()
		}
		timer.Reset(wait)
	}
}

// lookUp has watchLease look at the clock anew: something has changed.
func (s *Session) lookUp() {
	select {
	case s.look <- struct{}{}:
	default: // it is about to
	}
}

// seeking reports whether anything is held or sought.
func (c *Client) seeking() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wants > 0
}
