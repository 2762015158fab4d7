package coord

import (
	"testing"
	"time"
)

// A leaseLike is a lease, or one with a flaw.
type leaseLike interface {
	granted(now, asked moment, timeout sessionTimeout)
	resumed()
	answered(now moment, r request, quorum bool)
	remaining(now moment) time.Duration
	next(now moment, s situation) (action, time.Duration)
	fields() *lease
}

func (l *lease) fields() *lease { return l }

// A leaseStory tells a lease what happens at what time, and says what it expects. The
// timeout is 24 s, if nothing else is granted: heartbeats each 4 s, silence 8 s, lease
// 15.36 s.
type leaseStory struct {
	leaseLike
	start moment
	wrong bool
}

const storyTimeout = sessionTimeout(24 * time.Second)

func (s *leaseStory) at(seconds int) moment { return s.start.add(time.Duration(seconds) * time.Second) }

// grants has a handshake that takes no time grant timeout.
func (s *leaseStory) grants(at int, timeout sessionTimeout) { s.granted(s.at(at), s.at(at), timeout) }

// answers has a transaction answered that was written at a time.
func (s *leaseStory) answers(at, written int, quorum bool) {
	s.answered(s.at(at), request{at: s.at(written), acked: s.fields().acked, writes: true}, quorum)
}

func (s *leaseStory) wantRemaining(at int, want time.Duration) {
	s.wrong = s.wrong || s.remaining(s.at(at)) != want
}

func (s *leaseStory) wantNext(at int, sit situation, want action) {
	do, _ := s.next(s.at(at), sit)
	s.wrong = s.wrong || do != want
}

// leaseStories are what a lease promises, each with the flaws that would break it. A flaw
// is in the method that it overrides.
var leaseStories = []struct {
	name   string
	tell   func(*leaseStory)
	flawed []func(*lease) leaseLike
}{
	{"a handshake renews nothing", func(s *leaseStory) {
		s.grants(1, storyTimeout)
		s.wrong = s.remaining(s.at(1)) > 0
	}, []func(*lease) leaseLike{func(l *lease) leaseLike { return handshakeRenews{l} }}},
	{"a transaction renews as of its writing", func(s *leaseStory) {
		s.grants(0, storyTimeout)
		s.answers(3, 1, true)
		s.wantRemaining(3, storyTimeout.lease()-2*time.Second)
	}, []func(*lease) leaseLike{func(l *lease) leaseLike { return renewsAsOfAnswer{l} }}},
	{"an answer without a quorum renews nothing", func(s *leaseStory) {
		s.grants(0, storyTimeout)
		s.answers(1, 1, true)
		s.answers(3, 3, false)
		s.wantRemaining(3, storyTimeout.lease()-2*time.Second)
	}, []func(*lease) leaseLike{func(l *lease) leaseLike { return quorumIgnored{l} }}},
	{"a transaction behind a silence counts from its limit", func(s *leaseStory) {
		s.grants(0, storyTimeout)
		s.answers(0, 0, true)
		s.answers(12, 12, true)
		s.wantRemaining(12, storyTimeout.lease()-4*time.Second)
	}, []func(*lease) leaseLike{func(l *lease) leaseLike { return silenceIgnored{l} }}},
	{"no timeout longer than the first is relied on", func(s *leaseStory) {
		s.grants(0, storyTimeout)
		s.grants(1, 2*storyTimeout)
		s.answers(1, 1, true)
		s.wantRemaining(1, storyTimeout.lease())
	}, []func(*lease) leaseLike{func(l *lease) leaseLike { return openedIgnored{l} }}},
	{"a shorter timeout counts from its handshake on, whatever is granted later, until a renewal", func(s *leaseStory) {
		s.grants(0, storyTimeout)
		s.answers(0, 0, true)
		s.grants(1, storyTimeout/2)
		s.wantRemaining(1, (storyTimeout / 2).lease())
		s.grants(2, storyTimeout)
		s.wantRemaining(2, (storyTimeout/2).lease()-time.Second)
		s.answers(3, 3, true)
		s.wantRemaining(3, storyTimeout.lease())
	}, []func(*lease) leaseLike{
		func(l *lease) leaseLike { return cutIgnored{l} },
		func(l *lease) leaseLike { return cutForgotten{l} },
		func(l *lease) leaseLike { return cutForever{l} },
	}},
	{"a renewal can be asked for again on a new connection", func(s *leaseStory) {
		s.grants(0, storyTimeout)
		s.answers(0, 0, true)
		s.fields().renewal.began = s.at(3)
		s.wantNext(4, situation{held: true, up: true}, rest)
		s.resumed()
		s.wantNext(4, situation{held: true, up: true}, renew)
	}, []func(*lease) leaseLike{func(l *lease) leaseLike { return resumedIgnored{l} }}},
	{"a heartbeat is sent when nothing else has been for T/6, whatever is on its way", func(s *leaseStory) {
		s.grants(0, storyTimeout)
		s.answers(0, 0, true)
		s.wantNext(3, situation{up: true, quiet: 3 * time.Second}, rest)
		s.wantNext(4, situation{up: true, quiet: 4 * time.Second}, beat)
		s.fields().renewal.pending = true
		s.wantNext(7, situation{held: true, up: true, quiet: 3 * time.Second, backlog: backlog{unanswered: true}}, rest)
		s.wantNext(7, situation{held: true, up: true, quiet: 4 * time.Second, backlog: backlog{unanswered: true}}, beat)
	}, []func(*lease) leaseLike{
		func(l *lease) leaseLike { return quietIgnored{l} },
		func(l *lease) leaseLike { return beatsIfAllIsAnswered{l} },
	}},
	{"a server that renews nothing is left once, and later if the last renewal took long", func(s *leaseStory) {
		stuck := situation{held: true, up: true, backlog: backlog{unanswered: true, stuck: 5 * time.Second}}
		s.grants(0, storyTimeout)
		s.answers(0, 0, true)
		s.fields().renewal.pending = true
		s.wantNext(7, stuck, rest)
		s.fields().heard = s.at(8) // other requests are answered
		s.wantNext(8, stuck, leaveUnrenewed)
		s.fields().leftAt = s.fields().renewed
		s.wantNext(8, stuck, rest)
		s.answers(11, 8, true)
		s.fields().heard = s.at(16)
		s.wantNext(16, stuck, rest)
		stuck.stuck = 6 * time.Second
		s.wantNext(16, stuck, leaveUnrenewed)
	}, []func(*lease) leaseLike{
		func(l *lease) leaseLike { return leftAtIgnored{l} },
		func(l *lease) leaseLike { return tookIgnored{l} },
	}},
}

type (
	handshakeRenews  struct{ *lease }
	renewsAsOfAnswer struct{ *lease }
	quorumIgnored    struct{ *lease }
	silenceIgnored   struct{ *lease }
	openedIgnored    struct{ *lease }
	cutIgnored       struct{ *lease }
	cutForgotten     struct{ *lease }
	cutForever       struct{ *lease }
	resumedIgnored   struct{ *lease }
	leftAtIgnored    struct{ *lease }
	tookIgnored      struct{ *lease }

	quietIgnored         struct{ *lease }
	beatsIfAllIsAnswered struct{ *lease }
)

func (m handshakeRenews) granted(now, asked moment, timeout sessionTimeout) {
	m.lease.granted(now, asked, timeout)
	m.renewed, m.renewedUnder = asked, timeout
}

func (m renewsAsOfAnswer) answered(now moment, r request, quorum bool) {
	r.at = now
	m.lease.answered(now, r, quorum)
}

func (m quorumIgnored) answered(now moment, r request, _ bool) { m.lease.answered(now, r, true) }

func (m silenceIgnored) answered(now moment, r request, quorum bool) {
	r.acked = r.at
	m.lease.answered(now, r, quorum)
}

func (m openedIgnored) granted(now, asked moment, timeout sessionTimeout) {
	m.opened = 0
	m.lease.granted(now, asked, timeout)
}

func (m cutIgnored) granted(now, asked moment, timeout sessionTimeout) {
	m.lease.granted(now, asked, timeout)
	m.cut = moment{}
}

func (m cutForgotten) granted(now, asked moment, timeout sessionTimeout) {
	m.cut = moment{}
	m.lease.granted(now, asked, timeout)
}

func (m cutForever) answered(now moment, r request, quorum bool) {
	cut := m.cut
	m.lease.answered(now, r, quorum)
	m.cut = cut
}

func (m resumedIgnored) resumed() {}

func (m leftAtIgnored) next(now moment, s situation) (action, time.Duration) {
	m.leftAt = moment{}
	return m.lease.next(now, s)
}

func (m quietIgnored) next(now moment, s situation) (action, time.Duration) {
	s.quiet = 0
	return m.lease.next(now, s)
}

func (m beatsIfAllIsAnswered) next(now moment, s situation) (action, time.Duration) {
	if s.unanswered {
		s.quiet = 0
	}
	return m.lease.next(now, s)
}

func (m tookIgnored) next(now moment, s situation) (action, time.Duration) {
	m.took = 0
	return m.lease.next(now, s)
}

// A lease keeps what it promises, and the stories tell it from leases that do not.
func TestLeaseStoriesKillMutants(t *testing.T) {
	start := moment{at: time.Now()}
	for _, x := range leaseStories {
		t.Run(x.name, func(t *testing.T) {
			s := &leaseStory{leaseLike: new(lease), start: start}
			if x.tell(s); s.wrong {
				t.Errorf("the lease breaks it: %+v", s.fields())
			}
			for _, flawed := range x.flawed {
				s := &leaseStory{leaseLike: flawed(new(lease)), start: start}
				if x.tell(s); !s.wrong {
					t.Errorf("%T survives", s.leaseLike)
				}
			}
		})
	}
}
