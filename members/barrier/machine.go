package barrier

import (
	"cmp"
	"slices"
)

// A state says where one that enters stands. The driver reads off it what to tell the
// owner: being inside is the acquisition, a cause is the end of it, and done is when
// nothing more is to be done.
type state uint8

const (
	listing    state = iota // asked who is in, and whether a round is open
	entering                // asked for our znodes
	checking                // the answer to that was lost; asked whether they are there
	opening                 // n are in; asked to open the round
	waiting                 // in, until somebody opens the round
	confirming              // the round is open; it is to be confirmed that our znode is there
	inside                  // acquired
	staying                 // leaving, the lowest; following the highest, to list again when it has left
	going                   // leaving, another; asked for the lowest to be followed, to go then
	removing                // asked for the removal of our znodes
	outside                 // not in; following one that is, to list again when it has left
	clearing                // a round is open in which nobody is left; asked to end it
	done
)

// A kind is what an input is about.
type kind uint8

const (
	// Replies to the one request in flight.
	listed  kind = iota // list: the directory is as the input says
	created             // create, check: our znodes are there
	changed             // create, open, clear: done, or the directory is not as it was listed; check: our znodes are not there
	taken               // create: another has the ID, because of err
	unknown             // create: the connection broke, it may have been done or not
	removed             // remove: our znodes are gone
	closed              // remove: and so is ready; all have left
	refused             // any: err, and it was not done

	// Word of ready, which is followed while waiting, or the reply to open.
	opened // the round is open

	// Word of our znode, which is followed until we ask for its removal.
	confirmed // it is there
	doubted   // the connection is down
	gone      // it is not there any more

	// Word of the znode that is followed because an op said so.
	followed // it is there, and its end will be told
	left     // it is gone, or is another one's now

	expired // the session is over because of err; goes before all else that is due
	quit    // the owner wants it no more because of err, never nil
)

// An input is one thing that has happened.
type input struct {
	kind
	barrier       // listed
	token   int64 // created: the transaction that has made our znode
	held    bool  // quit: it was acquired
	err     error
}

// A barrier is the directory as it was at one moment.
type barrier struct {
	version int32    // of its data, which are written to when a round opens and when it ends
	open    bool     // ready is there
	few     bool     // fewer than were asked for are in; nothing else is known
	members []string // the IDs of those who are in, in order
}

// An action is what a machine wants to be done.
type action uint8

const (
	nothing action = iota
	list           // list the directory; with n, only if so many are in
	create         // make our znodes, if the directory has the version
	check          // find out whether our znodes are there
	open           // open a round of the members, if all are in and the directory has the version
	await          // follow ready until it is there
	follow         // follow the znode of the first of the members
	remove         // remove our znodes; with last, and ready, if the directory has the version
	clear          // remove ready, if the directory has the version
)

// An op is an action with what it is about.
type op struct {
	action
	n       int
	version int32
	members []string
	last    bool
}

// A machine decides what one that enters does next. It is a value: what it has come to
// depends on its inputs alone.
type machine struct {
	id    string
	n     int
	lost  error // the cause of the end when our znode was deleted
	state state

	in       bool   // our znodes are there, or were
	sure     bool   // our znode was there on this connection
	vanished bool   // it was deleted, and perhaps others that we do not know of came in
	token    int64  // the transaction that has made it
	patient  bool   // was inside and is released: not done before all have left
	round    int32  // which then was open
	ahead    string // the one that is followed in staying, going and outside; "" once it has left
	known    bool   // that one is followed: its end will be told
	blind    bool   // the directory may not be listed
	cause    error  // of the end
	stays    error  // why our znodes could not be removed
}

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
	in := !m.vanished && slices.Contains(b.members, m.id)
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
	o.action = remove
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
