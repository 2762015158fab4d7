package queue

import "cmp"

// end gives up for err: at once or, with a request in flight, when its reply
// tells what there is to be removed.
func (m *machine) end(err error) action {
	switch m.state {
	case waiting, confirming, held, revoked:
		return m.leave(err)
	}
	m.cause = cmp.Or(m.cause, err)
	return action{}
}

// leave removes our node. The first cause stands.
func (m *machine) leave(err error) action {
	m.cause = cmp.Or(m.cause, err)
	// Nobody that blocks us is left, and none can come before us.
	head := m.state == confirming || m.state == held || m.state == revoked
	m.state = leaving
	if m.gone {
		return action{verb: remove} // what has the name now is not ours
	}
	// A reader that held tells nothing of the other readers before it.
	return action{verb: remove, node: m.node, baton: head && m.hasBaton() && !reads(m.node)}
}

// lose ends it because our node is gone. Our baton, if we have one, may be there still,
// and the one behind us wait for its end.
func (m *machine) lose() action {
	if !m.hasBaton() {
		return m.finish(m.causes.deleted)
	}
	m.gone = true
	return m.leave(m.causes.deleted)
}

// finish ends it without a request. The first cause stands.
func (m *machine) finish(err error) action {
	m.cause = cmp.Or(m.cause, err)
	m.state = done
	return action{}
}

// A departure says how a contender has left its place in the queue.
type departure uint8

const (
	present departure = iota // it has not
	unclear                  // its node may be there still
	vacated                  // its node is gone; there may be others before that place
	emptied                  // its node is gone, and so are all that were before it
)

// departure returns how our node has left after a step by in.
func (m *machine) departure(in input) departure {
	switch {
	case in.kind == replaced, in.kind == listed && m.state == creating:
		return vacated // for a read in its place; or it was lost, and comes again behind the others
	case m.state != done:
		return present
	case m.stays:
		return unclear
	case m.head:
		return emptied
	}
	return vacated
}
