package coord

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/backoff"
	"github.com/zkcoord/zkcoord/internal/jute"
)

// The lease decides, and this file acts. The lease learns from the wire when requests are
// written and answered, the program's as well as the client's own. So a program that
// writes often renews the lease by that, and keepLease makes no requests.
//
// While the program does nothing, a session costs a heartbeat every sixth of the timeout; a
// sync instead while something is being acquired; and a transaction besides while anything
// is held. So the proof that a session lives costs one transaction in that time, which
// writes nothing to the znodes, but to the servers' logs.

// errUnrenewed is why a hold cannot be granted: no transaction has shown lately that the
// session lives.
var errUnrenewed = fmt.Errorf("%w: no transaction carried out in time", ErrExpired)

// Renewed reports whether the lease of s is fresh: whether the ensemble has carried out
// a transaction of s, at most a third of the timeout ago.
func (s *Session) Renewed() bool {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.lease.fresh(now())
}

// Renew renews the lease of s unless it is fresh: see [Session.Renewed]. It makes a
// transaction that checks for the znode at path and changes nothing, repeatedly until the
// ensemble answers. Whether the znode is there does not matter, nor whether the client may
// read it. A recipe calls Renew before [Keeper.Acquired] if it has only read that it is its
// turn: what is read is the word of one server. The error is ctx's cause or s's Err.
func (s *Session) Renew(ctx context.Context, path string) error {
	for !s.Renewed() {
		err := s.Retry(ctx, func() error {
			_, err := s.Txn(ctx, OpCheck(path, -1))
			return err
		})
		switch {
		case ctx.Err() != nil:
			return s.c.ctxErr(ctx)
		case s.Err() != nil:
			return s.Err()
		case err != nil && !s.Renewed(): // refused by one server alone, or answered too late
			if err := s.pause(ctx, s.Timeout()/24); err != nil {
				return err
			}
		}
	}
	return nil
}

// until returns the time until which what is held in s can be relied on even if nothing
// more is heard. It is zero before the lease was first renewed.
func (s *Session) until() time.Time {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.lease.until(now())
}

// check ends the session if its lease has run out, and returns Err. It is called before
// the session is relied on, after a wait: if the program stood still meanwhile, keepLease
// may not have noticed yet.
func (s *Session) check() error {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	now := now()
	s.expire(now, s.lease.ending(now, s.situation(now)))
	return s.Err()
}

// expire ends the session if the lease says so. It is called with c.mu held.
func (s *Session) expire(now moment, do action) {
	switch do {
	case endSilent:
		s.c.become(s, Expired, fmt.Errorf("%w: no answer for %v", ErrExpired, s.lease.silent(now).Round(time.Millisecond)))
	case endUnrenewed:
		s.c.become(s, Expired, fmt.Errorf("%w: no transaction carried out for %v", ErrExpired, now.since(s.lease.renewed).Round(time.Millisecond)))
	}
}

// situation returns what the lease has to know. It is called with c.mu held.
func (s *Session) situation(now moment) situation {
	sit := situation{held: len(s.holds) > 0, acquiring: s.c.holds > 0}
	if s.gate.open {
		sit.up = !s.wire.abandoned
		if len(s.wire.out) == 0 { // otherwise the line is busy
			sit.quiet = now.since(s.wire.wrote)
		}
		sit.backlog = s.wire.sent.backlog(now, s.lease.silent(now))
	}
	return sit
}

// keepLease ends the session when its lease runs out. Before that it leaves a server that
// has fallen silent, or lost contact with the others, so that another can be tried in
// time. While anything is held it keeps the lease renewed; while something is being
// acquired it makes sure that the server has a leader. And it sends the heartbeats.
//
// It does what is to be done next, and sees to it that it is called again. It waits for
// nothing. From when the session is established until it is over the timer either is set
// or has called keepLease, which has not got c.mu yet. In c.sessions it counts as one
// goroutine.
func (s *Session) keepLease() {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	wait := s.tend()
	if s.Err() != nil {
		s.c.sessions.Done()
		return
	}
	s.timer.Reset(wait)
}

// beginLease begins to keep the lease. It is called with c.mu held.
func (s *Session) beginLease() {
	s.c.sessions.Add(1)
	s.timer = time.AfterFunc(0, s.keepLease)
}

// endLease ends that, when the session is over. It is called with c.mu held.
func (s *Session) endLease() {
	if s.timer != nil && s.timer.Stop() {
		s.c.sessions.Done()
	}
}

// tend does what the lease wants done next, and returns after what time to call it again
// at the latest. It is called with c.mu held.
func (s *Session) tend() time.Duration {
	if s.Err() != nil {
		return 0
	}
	now := now()
	do, wait := s.lease.next(now, s.situation(now))
	switch do {
	case endSilent, endUnrenewed:
		s.expire(now, do)
	case leaveSilent, leaveUnrenewed:
		if do == leaveUnrenewed {
			s.lease.leftAt = s.lease.renewed
		}
		s.wire.abandoned = true
		s.c.sessions.Go(s.wire.abort) // the connection may be the program's, and so its Close
	case renew:
		// What the check finds does not matter: the ensemble as a whole has said it. Until
		// it has, the server answers nothing that is asked behind it, heartbeats neither.
		// So one goes before, or a server that takes long would be found silent for what
		// it was not asked.
		s.beat()
		node := s.anyNode()
		s.request(now, &s.lease.renewal, purpose{"renew", s.c.relative(node)}, multiFrame(&zk.CheckVersionRequest{Path: node, Version: -1}))
	case askLeader:
		s.request(now, &s.lease.asking, purpose{"sync", "/"}, syncFrame("/"))
	case beat:
		s.beat()
	}
	return wait
}

// beat sends a heartbeat. It is called with c.mu held.
func (s *Session) beat() { s.wire.send(&call{op: jute.OpPing, frame: pingFrame(), own: true}) }

// anyNode returns the full path of a znode of something that is held. Which one does not
// matter: even a transaction that is refused, because the znode is gone or the client may
// not read it, has been put to the quorum.
func (s *Session) anyNode() string {
	var first *Hold // always the same one, if the holds are the same
	for h := range s.holds {
		if first == nil || h.id < first.id {
			first = h
		}
	}
	if first == nil {
		return "/"
	}
	first.mu.Lock()
	defer first.mu.Unlock()
	return cmp.Or(first.node, first.c.FullPath(first.path))
}

// request makes a request of the lease's own, which does not wait for others: the lease
// must not run out because the program asks for much. Its answer is seen on the wire,
// like any other, and keepLease sees if there is none. It is called with c.mu held.
func (s *Session) request(now moment, a *attempt, p purpose, frame []byte) {
	*a = attempt{true, now}
	q := s.newCall(s.c.report.ctx, p, frame)
	q.own, q.then = true, func(answer) { a.pending = false }
	s.wire.send(q)
}

// lookUp makes keepLease ask the lease again, because something has changed. It is called
// with c.mu held.
func (s *Session) lookUp() {
	if s.timer != nil && s.timer.Stop() { // otherwise it is about to do so
		s.timer.Reset(0)
	}
}

// pause waits for about d, jittered.
func (s *Session) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(backoff.Jitter(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return s.c.ctxErr(ctx)
	case <-s.Done():
		return s.Err()
	}
}
