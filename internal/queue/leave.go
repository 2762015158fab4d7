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
	return action{verb: remove, node: m.node, baton: head && hasBaton(m.id) && !reads(m.node)}
}

// lose ends it because our node is gone. Our baton, if we have one, may be there still,
// and the one behind us wait for its end.
func (m *machine) lose() action {
	if !hasBaton(m.id) {
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
