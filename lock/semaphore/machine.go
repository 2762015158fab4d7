package semaphore

import (
	"cmp"
	"fmt"
)

// A state says where a contender stands. The driver derives from it what to do about the
// gate and what to tell the owner: the gate is ours, or waited for, until the state is
// past withdrawing; entering held is the acquisition; a cause is the end of it, whether the
// permit was held or not; done is when nothing is left but perhaps the gate's znode.
type state uint8

const (
	entering    state = iota // waits for the gate; a try that is blocked follows the leases
	asking                   // so, and asked for the number of permits and the leases
	overtaken                // at the gate; the answer to that, which is void, is due
	reading                  // at the gate; asked for the number of permits and the leases
	waiting                  // at the gate; no permit is free: following both
	creating                 // at the gate; asked for a lease
	looking                  // at the gate; the answer to that was lost: asked whether our lease is there
	withdrawing              // at the gate; our lease is one too many: asked for its removal
	held                     // our lease is there, until it or the session is known to be gone
	revoked                  // was held, told to give way; our lease keeps the permit until the owner quits
	leaving                  // asked for the removal of our lease
	done                     // nothing more will be asked, and no input matters
)

// atGate reports whether a contender in state s needs the gate.
func (s state) atGate() bool { return s <= withdrawing }

// A kind is the kind of an input.
type kind uint8

const (
	// News of the gate.
	entered  kind = iota // it is ours
	blocked              // others are before us
	gateLost             // it is not ours any more, or never will be, because of err

	// Replies to the one request in flight.
	seen     // read: so many permits and leases there are. Else: so many leases, by now
	created  // create: our lease is there, one of so many; token is zero if the answer does not tell
	outdated // create: the number of permits was written to since it was read
	shut     // create: the gate was not ours
	unknown  // create: the connection broke, it may have been done or not
	found    // look: our lease is there, with token, one of so many
	absent   // look: it is not
	removed  // remove: it is not there any more
	refused  // any: err, and it was not done

	// Other news.
	vanished    // the leases' directory, which is followed, is not there
	gone        // our lease is not there, or not ours
	revokeAsked // somebody wrote into our lease that the holder shall give way
	expired     // the session is over because of err, and every request in flight is void
	quit        // the owner wants it no more because of err, never nil; may come more than once
)

// An input is what a machine is told. If several are due, expired goes first.
type input struct {
	kind  kind
	view  view  // seen; of created and found, the leases
	token int64 // of our lease: the id of the transaction that created it
	err   error
}

// A view is what is in the directory.
type view struct {
	permits int   // the number in force; zero if none is written
	version int32 // of the number
	leases  int
}

// A verb is the kind of an action.
type verb uint8

const (
	nothing verb = iota
	read         // ask for the number of permits and the leases: seen or refused
	follow       // tell when the leases change: seen or vanished
	create       // make our lease, if the gate is ours and the number as read: created, outdated, shut, unknown or refused
	look         // bring the server up to date and ask for our lease: found, absent, gone or refused
	remove       // delete our lease, again and again until it is gone: removed or refused
)

// An action is what a machine wants done. All but follow are requests, of which at most
// one is in flight, but for a read that the end has made void.
type action struct {
	verb    verb
	version int32 // create: of the number as it was read
	write   bool  // create: write the number, too
}

// causes are the reasons that the machine itself finds to give up.
type causes struct {
	deleted error // somebody else removed our lease, or our place at the gate
	revoked error // somebody asked us to give way
	locked  error // no permit is free, and we were not to wait
}

// A machine takes one contender through the gate to a permit and back, in one session.
// It does no I/O and reads no clock: step is a pure function of its inputs so far. It
// starts in entering.
type machine struct {
	permits int  // how many there are, as we were told
	try     bool // leave rather than wait
	causes  *causes

	state    state
	token    int64 // of our lease; set before held is entered
	gateLost error // why the gate is not ours any more
	left     error // in done: why our lease may be there still
	cause    error // the first reason to end; once it is set, nothing is waited for or held
}

// step takes one input and returns what to do about it.
func (m *machine) step(in input) action {
	if m.state == done {
		return action{} // the answer to a request that the end has made void
	}
	switch in.kind {
	case entered:
		switch m.state {
		case entering:
			return m.read()
		case asking:
			m.state = overtaken // it may show what was before we were at the gate
		}
	case blocked:
		if m.state == entering && m.try {
			m.state = asking
			return action{verb: read}
		}
	case gateLost:
		m.gateLost = in.err
		switch m.state {
		case entering, asking, overtaken, reading, waiting:
			return m.finish(in.err)
		}
		// The transaction that makes our lease has seen to the gate by itself.
	case seen:
		switch m.state {
		case entering, asking:
			return m.stay(in.view)
		case overtaken:
			return m.read()
		case reading, waiting:
			return m.decide(in.view)
		}
	case vanished:
		if m.state == waiting {
			return m.read()
		}
	case created, found:
		return m.acquired(in)
	case absent:
		return m.read() // the lost create was never done, and never will be; or it was undone
	case outdated:
		return m.read()
	case shut:
		return m.finish(cmp.Or(m.gateLost, m.causes.deleted))
	case unknown:
		m.state = looking
		return action{verb: look}
	case removed:
		if m.state == withdrawing {
			return m.read()
		}
		return m.finish(nil)
	case refused:
		switch m.state {
		case looking, withdrawing, leaving:
			m.left = in.err
		}
		return m.finish(in.err)
	case gone:
		switch m.state {
		case looking, held, revoked:
			return m.finish(m.causes.deleted)
		}
	case revokeAsked:
		if m.state == held {
			m.state, m.cause = revoked, m.causes.revoked
		}
	case expired:
		return m.finish(in.err)
	case quit:
		return m.quit(in.err)
	}
	return action{}
}

// read asks what there is, unless it is too late for that.
func (m *machine) read() action {
	if m.cause != nil || m.gateLost != nil {
		return m.finish(m.gateLost)
	}
	m.state = reading
	return action{verb: read}
}

// stay decides whether a try waits for the gate. It does as long as a permit is free: then
// nobody before it waits for one that is held.
func (m *machine) stay(v view) action {
	switch {
	case m.disagrees(v):
		return m.refuse(v)
	case v.leases < m.permits:
		m.state = entering
		return action{verb: follow}
	case m.state == entering:
		m.state = asking // the number may be another; and what our client gives back is no obstacle
		return action{verb: read}
	}
	return m.finish(m.causes.locked)
}

// decide decides what to do at the gate.
//
// Nobody else makes a lease while the gate is ours. So if a permit is free in a view that
// is older than the latest change, it is free. The view may be even older than our coming
// to the gate, if the word of that came from a server that was ahead of the one that has
// answered. Then the answer to the create says that there is a lease too many.
func (m *machine) decide(v view) action {
	switch {
	case m.disagrees(v):
		return m.refuse(v)
	case v.leases < m.permits:
		m.state = creating
		return action{verb: create, version: v.version, write: v.permits == 0}
	case m.try:
		return m.finish(m.causes.locked)
	case m.state == waiting:
		return m.read() // the number may be another: see [Semaphore.Resize]
	}
	m.state = waiting
	return action{verb: follow}
}

// disagrees reports whether there is another number of permits than ours.
func (m *machine) disagrees(v view) bool { return v.permits != 0 && v.permits != m.permits }

// refuse ends what asks for a permit of which there is another number.
func (m *machine) refuse(v view) action {
	return m.finish(fmt.Errorf("%w: %d here, %d in the directory", ErrPermits, m.permits, v.permits))
}

// acquired goes on when our lease is there. Without a token the answer does not say how
// many there are either.
func (m *machine) acquired(in input) action {
	switch {
	case m.cause != nil:
		return m.leave(nil)
	case in.token == 0:
		m.state = looking
		return action{verb: look}
	case in.view.leases > m.permits:
		m.state = withdrawing
		return action{verb: remove}
	}
	m.state, m.token = held, in.token
	return action{}
}

// quit gives up for err: at once or, if a lease may have been asked for, when the reply
// tells what there is to be removed.
func (m *machine) quit(err error) action {
	switch m.state {
	case entering, asking, overtaken, reading, waiting:
		return m.finish(err)
	case held, revoked:
		return m.leave(err)
	}
	m.cause = cmp.Or(m.cause, err)
	return action{}
}

// leave removes our lease. The first cause stands.
func (m *machine) leave(err error) action {
	m.cause = cmp.Or(m.cause, err)
	m.state = leaving
	return action{verb: remove}
}

// finish ends it without a request. The first cause stands.
func (m *machine) finish(err error) action {
	m.cause = cmp.Or(m.cause, err)
	m.state = done
	return action{}
}
