package claim

import "cmp"

// step takes note of in and returns what to do about it.
func (m *machine) step(in input) op {
	if m.state == done {
		return op{} // the answer to a request made void by expired
	}
	switch in.kind {
	case created:
		m.at, m.token = in.at, in.at.czxid
		if in.alone && m.cause == nil {
			return m.renew()
		}
		return m.clear()
	case exists:
		if m.cause != nil {
			return m.finish(nil)
		}
		m.state = looking
		return op{action: look}
	case guardless:
		m.guarded = false
		return m.create(znode{})
	case unknown:
		// Our guard tells. What is at the path may be another's of this session.
		// Without the sync a server that lags would hide it.
		m.state = looking
		return op{action: look, guard: m.guarded, sync: true}
	case seen:
		return m.seen(in)
	case cleared:
		if m.cause != nil {
			return m.leave(nil)
		}
		return m.check()
	case renewed:
		if m.cause != nil {
			return m.leave(nil)
		}
		m.state = held
	case written:
		if m.at = in.at; in.at.czxid != m.token {
			return m.rob() // it was another's, of the same version
		}
		return m.wrote()
	case outdated:
		if m.state == writing {
			// By somebody else, or by a write of ours whose answer was lost.
			return op{action: look}
		}
		return m.check()
	case missing:
		switch {
		case m.state == writing:
			return m.rob()
		case !m.guarded:
			return m.finish(nil)
		}
		m.absent = true
		return m.check()
	case kept:
		m.keep, m.left = true, in.err
		return m.remove()
	case renamed:
		// Nobody can come to hold the path from now on without removing the new
		// guard. So what is there now tells.
		m.absent = false
		return m.check()
	case removed:
		if m.state == dropping {
			m.keep, m.left = false, nil
			return m.create(znode{})
		}
		return m.finish(nil)
	case refused:
		return m.refused(in.err)
	case freed:
		if m.state == taken {
			return m.create(znode{})
		}
	case gone:
		return m.gone()
	case marked:
		if m.state == held {
			m.state, m.cause = revoked, m.causes.revoked
		}
	case fresh:
		if m.state == held {
			m.state = writing
			return op{action: write, at: m.at}
		}
	case expired:
		return m.finish(in.err)
	case quit:
		return m.quit(in.err)
	}
	return op{}
}

// seen goes on when it is known whose a znode is.
func (m *machine) seen(in input) op {
	switch ours := in.whose == mine; {
	case m.state == writing && ours:
		m.at = in.at
		if m.cause != nil {
			return m.leave(nil)
		}
		return op{action: write, at: m.at}
	case m.state == writing:
		return m.rob()
	case m.state == checking && ours:
		m.at = in.at
		switch {
		case m.cause == nil:
			return m.renew()
		case m.absent:
			m.state = renaming
			return op{action: rename}
		}
		return m.remove()
	case m.state == checking && m.guarded:
		m.displaced = true
		return m.drop()
	case m.state == checking:
		return m.create(znode{})
	case ours:
		m.at, m.token = in.at, in.at.czxid
		return m.clear()
	case in.whose == nobody:
		return m.create(znode{})
	case in.whose == former:
		return m.create(in.at)
	case !m.wait || m.cause != nil:
		return m.finish(in.err)
	}
	m.state = taken
	return op{action: watch, at: in.at}
}

// refused goes on when a request was not carried out.
func (m *machine) refused(err error) op {
	switch m.state {
	case writing:
		return m.wrote() // or not: our znode has the data that it had
	case clearing:
		if !m.strict {
			return m.check()
		}
		return m.leave(err)
	case checking, dropping, leaving, renaming:
		m.left = err
	}
	return m.finish(err)
}

// create makes our znodes, of which there are none, unless it is too late.
func (m *machine) create(instead znode) op {
	if m.token, m.at, m.displaced = 0, (znode{}), false; m.cause != nil {
		return m.finish(nil)
	}
	m.state = creating
	return op{action: create, at: instead}
}

// clear has the guards of earlier holders removed. Ours is there before that, so
// what they do from then on, such as the rest of a release, does not touch it.
func (m *machine) clear() op {
	if m.cause != nil {
		return m.leave(nil)
	}
	m.state = clearing
	return op{action: clear}
}

// check asks whether the znode at the path is ours: an earlier holder may have
// removed it by a release that came before its guard was gone.
func (m *machine) check() op {
	m.state = checking
	return op{action: look}
}

func (m *machine) renew() op {
	m.state = renewing
	return op{action: renew}
}

// wrote goes on after a write.
func (m *machine) wrote() op {
	if m.cause != nil {
		return m.leave(nil)
	}
	m.state = held
	return op{}
}

// gone notes that the znode at the path is not ours any more.
func (m *machine) gone() op {
	switch m.state {
	case held, revoked:
		return m.rob()
	case writing: // the reply comes first
		m.displaced, m.cause = true, cmp.Or(m.cause, m.causes.deleted)
	}
	return op{}
}

// rob is gone when no request is in flight.
func (m *machine) rob() op {
	m.displaced = true
	return m.leave(m.causes.deleted)
}

// quit gives up for err: at once or, with a request in flight, when its reply
// tells what there is to be removed.
func (m *machine) quit(err error) op {
	switch m.state {
	case taken, held, revoked:
		return m.leave(err)
	}
	m.cause = cmp.Or(m.cause, err)
	return op{}
}

// leave removes what is ours. The first cause stands.
func (m *machine) leave(err error) op {
	m.cause = cmp.Or(m.cause, err)
	switch {
	case m.token == 0, m.displaced && !m.guarded:
		return m.finish(nil)
	case m.displaced:
		return m.drop()
	case m.guarded:
		return m.remove()
	}
	// A removal can be bound to a version and to a guard, and not to an owner.
	return m.check()
}

func (m *machine) remove() op {
	m.state = leaving
	return op{action: remove, at: m.at, keep: m.keep}
}

func (m *machine) drop() op {
	m.state = dropping
	return op{action: drop}
}

// finish ends it without a request. The first cause stands.
func (m *machine) finish(err error) op {
	m.cause = cmp.Or(m.cause, err)
	m.state = done
	return op{}
}
