package queue

import "strings"

// decide decides what to do at our place in the queue.
func (m *machine) decide(p place) action {
	switch {
	case !p.found && m.node != "":
		return m.lose()
	case !p.found && m.cause != nil && m.hasBaton():
		return m.lose() // the node may have been made, and deleted by somebody else
	case !p.found && m.cause != nil:
		return m.finish(nil)
	case !p.found:
		m.state = creating // the lost create was never done, and never will be
		return action{verb: create, baton: m.hasBaton()}
	}
	if m.node != p.me.name {
		m.node = strings.Clone(p.me.name) // without the rest of the list
	}
	switch {
	case m.cause != nil:
		return m.leave(nil)
	case p.foreign != "":
		return m.leave(m.causes.foreign(p.foreign))
	case !p.ordered:
		return m.leave(m.causes.exhausted)
	case p.blocked == 0:
		return m.atHead()
	case m.try:
		return m.leave(m.causes.locked)
	}
	// A writer that goes may have become a reader in the same place. If that
	// blocks us too, list again.
	m.lastBlocker = p.blocked == 1 && (p.nearest.mode != Write || !blocks(Read, p.me.mode))
	// Watching the nearest, and not the head, makes each release wake one.
	baton := !m.lastBlocker && p.nearest.hasBaton(p.blocked > m.many)
	next := action{verb: watch, node: strings.Clone(p.nearest.name), baton: baton}
	if p.blocked >= m.many && getsBaton(m.id) && !m.late {
		m.state, m.late, m.next = equipping, true, next
		return action{verb: equip, node: m.node}
	}
	m.state = waiting
	return next
}

// hasBaton reports whether there may be a baton of ours.
func (m *machine) hasBaton() bool { return m.late || bornWithBaton(m.id) }

// atHead takes the lock, unless our node may have been removed while the connection
// was down. Then it waits until the node is confirmed.
func (m *machine) atHead() action {
	m.head = m.mode != Read
	m.state = confirming
	if m.confirmed {
		m.state = held
	}
	return action{}
}
