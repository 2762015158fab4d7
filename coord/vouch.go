package coord

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
)

// until returns the moment up to which what is held in the session is good even if
// nothing more is heard. It is zero before the lease was first renewed.
func (s *Session) until() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lease.until(now())
}

// check ends the session if its lease has run out, and returns Err. It is for
// those who have waited and are about to rely on the session.
func (s *Session) check() error {
	s.mu.Lock()
	do := s.lease.over(now(), s.situation())
	s.mu.Unlock()
	s.expire(do)
	return s.Err()
}

// expire ends the session if do says so.
func (s *Session) expire(do action) {
	s.mu.Lock()
	now, l := now(), s.lease
	s.mu.Unlock()
	switch do {
	case endSilent:
		s.c.over(s, fmt.Errorf("%w: no answer for %v", ErrExpired, l.silent(now).Round(time.Millisecond)))
	case endUnrenewed:
		s.c.over(s, fmt.Errorf("%w: no transaction carried out for %v", ErrExpired, now.since(l.renewed).Round(time.Millisecond)))
	}
}

// situation returns what the lease does not know. It is called with s.mu held.
func (s *Session) situation() situation {
	sit := situation{held: len(s.holds) > 0, up: s.isUp}
	if s.isUp {
		s.tap.mu.Lock()
		sit.backlog = s.tap.sent.backlog(now(), s.lease.silent(now()))
		s.tap.mu.Unlock()
	}
	return sit
}

// errUnrenewed is why a hold cannot be granted: for too long nothing has shown that
// the session lives.
var errUnrenewed = fmt.Errorf("%w: no transaction carried out in time", ErrExpired)

// answered notes that r has been answered just now, by a server that had then seen
// zxid.
func (s *Session) answered(r request, quorum bool, zxid int64) {
	s.mu.Lock()
	s.lease.answered(now(), r, quorum)
	s.zxid = max(s.zxid, zxid)
	s.mu.Unlock()
}

// newestAnswered returns when the newest request was written that has been answered.
func (s *Session) newestAnswered() moment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lease.acked
}

// hearing notes that bytes have come of what has not come as a whole.
func (s *Session) hearing() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lease.hears(now())
}

// Renewed reports whether the ensemble has carried out a transaction of s, a third
// of the timeout ago at the most.
func (s *Session) Renewed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lease.fresh(now())
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
	if s.lease.renewal.pending || !s.isUp || s.life.Err() != nil {
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
	s.lease.renewal = attempt{true, now()}
	s.calls.Go(func() {
		// The tap sees the answer, and watchLease if there is none.
		_, err := s.conn.Multi(&zk.CheckVersionRequest{Path: node, Version: -1})
		s.conclude(err)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lease.renewal.pending = false
	})
}

// ask asks for a sign of life of the leader. The answer proves nothing, but a
// server that has lost its leader does not give it, and then no longer answers
// heartbeats either.
func (s *Session) ask() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease.asking.pending || !s.isUp || s.life.Err() != nil {
		return
	}
	s.lease.asking = attempt{true, now()}
	s.calls.Go(func() {
		_, err := s.conn.Sync("/")
		s.conclude(err)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lease.asking.pending = false
	})
}

// watchLease ends the session when its lease runs out, and before that hangs up
// on a server that has fallen silent, or has lost the others, so that another can
// be tried in time. While something is held it sees to it that there are proofs.
func (s *Session) watchLease() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var hung *tap
	for {
		select {
		case <-timer.C:
		case <-s.look:
		case <-s.life.Done():
			return
		}
		sought := s.c.seeking()
		s.mu.Lock()
		tap, sit := s.tap, s.situation()
		sit.sought = sought
		sit.up = sit.up && tap != hung
		do, wait := s.lease.next(now(), sit)
		if do == leaveUnrenewed {
			s.lease.left = s.lease.renewed
		}
		s.mu.Unlock()
		switch do {
		case endSilent, endUnrenewed:
			s.expire(do)
			return
		case leaveSilent, leaveUnrenewed:
			hung = tap
			tap.hangUp()
		case renew:
			s.prove()
		case askLeader:
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
