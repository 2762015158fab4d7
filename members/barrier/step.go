package barrier

import (
	"cmp"
	"slices"
)

// step takes note of in and returns what to do about it.
func (m *machine) step(in input) op {
	if m.state == done {
		return op{}
	}
	switch in.kind {
	case listed:
		return m.decide(in.barrier)
	case created:
		m.in, m.token = true, in.token
		return m.proceed(op{action: list, n: m.n})
	case changed:
		return m.proceed(op{action: list})
	case taken:
		return m.finish(in.err)
	case unknown:
		m.state = checking
		return op{action: check}
	case removed:
		m.in = false
		switch {
		case m.blind:
			return m.finish(nil)
		case m.patient && m.ahead != "":
			m.state = outside
			return op{}
		}
		return m.list(op{action: list})
	case closed:
		return m.finish(nil)
	case refused:
		return m.refused(in.err)
	case opened:
		if m.cause != nil {
			return m.leave()
		}
		return m.open()
	case confirmed:
		m.sure = true
		if m.state == confirming {
			m.state = inside
		}
	case doubted:
		m.sure = false
	case gone:
		return m.gone()
	case followed:
		m.known = true
		switch m.state {
		case going:
			return m.remove(op{})
		case outside: // it may be in the next round, for which we are waited for
			return m.list(op{action: list})
		}
	case left:
		m.ahead, m.known = "", false
		switch m.state {
		case staying, going, outside:
			return m.list(op{action: list})
		}
	case expired:
		return m.finish(in.err)
	case quit:
		m.patient = m.patient || in.held && m.state == inside
		return m.quit(in.err)
	}
	return op{}
}

// decide goes on when it is known how the directory is.
func (m *machine) decide(b barrier) op {
	in := slices.Contains(b.members, m.id)
	m.vanished = m.vanished || m.in && !in && !b.few
	in = in && !m.vanished
	over := !b.open || m.patient && b.version != m.round
	switch {
	case m.in && m.cause == nil && (b.few || in):
		return m.arrive(b)
	case m.in && m.cause == nil:
		m.cause = m.lost
		return m.remove(op{})
	case m.in && m.patient && in && b.open:
		return m.depart(b)
	case m.in:
		return m.remove(op{})
	case over && m.cause != nil:
		return m.finish(nil)
	case over:
		m.state = entering
		return op{action: create, version: b.version}
	case len(b.members) == 0:
		m.state = clearing
		return op{action: clear, version: b.version}
	case m.cause != nil && !m.patient:
		return m.finish(nil)
	}
	m.state = outside
	if lowest := b.members[0]; !m.known || m.ahead != lowest {
		return m.follow(lowest)
	}
	return op{}
}

// arrive goes on when we are in, and want to be.
func (m *machine) arrive(b barrier) op {
	switch {
	case b.open:
		return m.open()
	case !b.few && len(b.members) >= m.n:
		m.state = opening
		return op{action: open, version: b.version, members: b.members[:m.n]}
	}
	m.state = waiting
	return op{action: await}
}

// depart leaves an open round that we are in: the lowest as the last, so that the others
// have one znode to wait for.
func (m *machine) depart(b barrier) op {
	m.round = b.version
	lowest, highest := b.members[0], b.members[len(b.members)-1]
	switch m.id {
	case highest:
		if lowest == highest {
			return m.remove(op{last: true, version: b.version})
		}
	case lowest:
		m.state = staying
		return m.follow(highest)
	}
	m.state = going
	return m.follow(lowest)
}

func (m *machine) follow(id string) op {
	m.ahead, m.known = id, false
	return op{action: follow, members: []string{id}}
}

// open notes that the round is open that we are in.
func (m *machine) open() op {
	m.state = confirming
	if m.sure {
		m.state = inside
	}
	return op{}
}

// gone notes that our znode was deleted by somebody else. So a round may have ended, and
// the one that is followed be in the next.
func (m *machine) gone() op {
	m.vanished = true
	if !m.patient {
		return m.quit(m.lost)
	}
	switch m.state {
	case staying, going:
		m.ahead, m.known = "", false
		return m.remove(op{})
	}
	return op{}
}

// quit gives up for err: at once or, with a request in flight, when its reply tells what
// there is to be removed. The first cause stands.
func (m *machine) quit(err error) op {
	first := m.cause == nil
	m.cause = cmp.Or(m.cause, err)
	switch m.state {
	case waiting, confirming, inside, staying, going, outside:
		if first || !m.patient {
			return m.leave()
		}
	}
	return op{}
}

// proceed goes on with o, if the owner wants that.
func (m *machine) proceed(o op) op {
	switch {
	case m.cause == nil, !m.in && m.patient:
		return m.list(o)
	case m.in:
		return m.leave()
	}
	return m.finish(nil)
}

// leave leaves, when no request is in flight.
func (m *machine) leave() op {
	switch {
	case !m.in:
		return m.finish(nil)
	case m.patient:
		return m.list(op{action: list})
	}
	return m.remove(op{})
}

func (m *machine) list(o op) op {
	m.state = listing
	return o
}

func (m *machine) remove(o op) op {
	m.state = removing
	o.action, o.singly = remove, m.vanished
	return o
}

// refused goes on when a request was not carried out.
func (m *machine) refused(err error) op {
	was := m.state
	m.cause = cmp.Or(m.cause, err)
	switch {
	case was == removing, was == checking:
		m.stays = err
	case m.in:
		m.blind = was == listing || was == staying || was == going
		return m.remove(op{})
	}
	return m.finish(nil)
}

// finish ends it without a request. The first cause stands.
func (m *machine) finish(err error) op {
	m.cause = cmp.Or(m.cause, err)
	m.state = done
	return op{}
}
