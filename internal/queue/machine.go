package queue

import (
	"cmp"
	"errors"
)

// A state says where a contender stands. The driver derives from it what to tell
// the owner: entering held is the acquisition; held to leaving is a release,
// held to any other state but downgrading, and back, the loss; done is the end,
// with m.cause as the reason of it all.
type state uint8

const (
	creating    state = iota // a create is in flight, and no other node of ours exists
	looking                  // a create's answer was lost: asked for the queue, to learn its fate
	listing                  // our node exists; asked for the queue
	equipping                // our node exists, with many before it; asked for a baton
	waiting                  // our node exists; watching the nearest contender that blocks it
	confirming               // nobody blocks our node; waiting for word that it is still there
	held                     // ours, until our node or the session is known to be gone
	downgrading              // ours, unless there is a cause to end; our node is a write, a read in its place, or gone
	revoked                  // was held, told to give way; our node keeps the others out until the owner quits
	leaving                  // asked for our node's removal
	done                     // nothing more will be asked, and no input matters
)

// A kind is the kind of an input.
type kind uint8

const (
	// Replies to the one request in flight.
	created  kind = iota // create: node is ours with token; onlyChild if no other child was there
	unknown              // create: the connection broke, it may have been done or not
	listed               // list: names are the directory's children; none if there is no directory
	equipped             // equip: our baton is there, or cannot be had
	removed              // remove or replace: our node is not there any more
	replaced             // replace: node stands in its place
	refused              // any but watch: err, and it was not done

	// News of the node that watch named.
	blockerGone // it is gone
	passed      // it held, and is gone, as its baton says

	// News of our own node, in the order in which it was learned. The driver
	// watches that node from some time after the machine knows its name; at once while
	// it is not confirmed.
	confirmed   // it is there with token, owned by our session, and a watch on it is armed
	doubt       // the connection is down, so a watch may be blind; confirmed or gone follows
	gone        // it is not there, or not ours
	revokeAsked // somebody wrote into it that the holder shall give way

	// News of neither. If several inputs are due, expired goes first.
	expired        // the session is over because of err, and every request in flight is void
	quit           // the owner wants it no more because of err, never nil; may come more than once
	downgradeAsked // the owner holds it for writing and wants it for reading
)

// An input is what a machine is told.
type input struct {
	kind      kind
	node      string
	token     int64
	onlyChild bool
	names     []string
	order     *order // names in order, if many look for their places there
	err       error
}

// place returns the place of the contender id in what was listed.
func (in input) place(id string) place {
	if in.order != nil {
		return in.order.place(id)
	}
	return placeOf(in.names, id)
}

// A verb is the kind of an action.
type verb uint8

const (
	nothing verb = iota
	create       // make our node, and our baton if we have one: created, unknown or refused
	list         // read the directory's children: listed or refused
	equip        // make a baton for our node, again and again until there is an answer: equipped
	watch        // watch node until it is gone, in place of the one before: blockerGone or, if it was the baton that was watched, passed
	remove       // delete node, if it is named, and our baton, again and again until they are gone: removed or refused
	replace      // put a read in the place of node, again and again until that is known: replaced, removed or refused
)

// An action is what a machine wants done. All but watch are requests, of which
// at most one is in flight.
type action struct {
	verb verb
	node string
	sync bool // bring the server up to date first
	// baton: watch the node's baton in its place; or pass ours on; or create our node
	// without one, and remove the one there may be of a node that is gone, for the one
	// behind that may wait for it. A baton is a second node of a contender, written to
	// when it is deleted by one that held.
	baton bool
}

// causes are the reasons for which the machine itself gives up.
type causes struct {
	deleted   error // somebody else removed our node
	revoked   error // somebody asked us to give way
	locked    error // somebody is ahead, and we were not to wait
	exhausted error // the numbers have run out, so there is no order any more

	foreign func(child string) error // the directory is that of another recipe, whose child this is
}

// A machine takes one contender through the queue in one session. It does no I/O
// and reads no clock: step is a pure function of its inputs so far. It starts
// in creating with action{verb: create} in flight.
type machine struct {
	id     string // identifies our node; chosen before the create, so that a lost answer can be made good
	mode   Mode   // of our node when created
	try    bool   // leave rather than wait
	many   int    // so many before our node are many
	causes *causes

	state       state
	node        string // name of our node once known; changed by replaced alone
	token       int64  // set before held is entered
	confirmed   bool   // our node was there when it was created or last read, and the connection has not been lost since
	gone        bool   // our node is gone, and what remains is our baton
	late        bool   // a baton has been asked for that our node was not created with
	next        action // in equipping: what to watch then
	lastBlocker bool   // in waiting: the contender that we watch is the only one that blocks
	head        bool   // we do not only read, and all that were before our node are gone
	stays       bool   // in done: our node may be there still
	cause       error  // the first reason to end; once it is set, the machine neither enters held nor waits
}

// step takes one input and returns what to do about it.
func (m *machine) step(in input) action {
	if m.state == done {
		return action{} // the answer to a request made void by gone or expired
	}
	switch in.kind {
	case created:
		m.node, m.token, m.confirmed = in.node, in.token, in.token != 0
		me, _ := parse(in.node)
		switch {
		case m.cause != nil:
			return m.leave(nil)
		case !in.onlyChild:
			return m.list()
		case !inRange(me):
			return m.leave(m.causes.exhausted)
		}
		m.state = held // the transaction that made our node found no other child
		m.head = m.mode != Read
	case unknown:
		m.state = looking
		return action{verb: list, sync: true} // unsynced, a server that lags would hide our node
	case listed:
		return m.decide(in.place(m.id))
	case equipped:
		if m.cause != nil {
			return m.leave(nil)
		}
		m.state = waiting
		return m.next
	case removed:
		if m.state == downgrading {
			return m.lose()
		}
		return m.finish(nil)
	case replaced:
		// The token stays. It is less than those of the writers that have come
		// to wait in the meantime, and the new node's would not be.
		m.node = in.node
		return m.afterDowngrade()
	case refused:
		if m.state == downgrading {
			return m.afterDowngrade()
		}
		if m.node != "" && m.state != leaving {
			return m.leave(in.err)
		}
		// Either there is no node of ours, or it stays until the session
		// ends: it may not be removed or, with the create's answer lost, not
		// be looked for.
		m.cause, m.stays = errors.Join(m.cause, in.err), true
		return m.finish(nil)
	case passed:
		if m.state != waiting {
			return action{} // too late: leaving
		}
		// The nearest that blocked us held: so all before it were gone.
		return m.atHead()
	case blockerGone:
		if m.state != waiting {
			return action{} // too late: leaving
		}
		if !m.lastBlocker {
			return m.list() // it may have given up, with others still ahead of it
		}
		// Nobody can have come in before us since the listing, for numbers
		// only grow. So the one that blocked was the last.
		return m.atHead()
	case confirmed:
		m.confirmed, m.token = true, cmp.Or(m.token, in.token)
		if m.state == confirming {
			m.state = held
		}
	case doubt:
		m.confirmed = false
	case gone:
		if m.state == downgrading {
			return action{} // by our own doing or not: the reply will tell
		}
		if m.hasBaton() && (m.state == listing || m.state == equipping || m.state == leaving) {
			// The reply tells when our baton may be removed, or is.
			m.gone, m.cause = true, cmp.Or(m.cause, m.causes.deleted)
			return action{}
		}
		return m.lose()
	case revokeAsked:
		switch m.state {
		case held:
			m.state, m.cause = revoked, m.causes.revoked
		case revoked: // said twice, or read again after a reconnect
		case downgrading: // void if the write is replaced, and otherwise read again
		default:
			return m.end(m.causes.revoked)
		}
	case expired:
		m.stays = true
		return m.finish(in.err)
	case quit:
		return m.end(in.err)
	case downgradeAsked:
		if m.state == held {
			m.state = downgrading
			return action{verb: replace, node: m.node}
		}
	}
	return action{}
}

// afterDowngrade goes on after a downgrade, done or refused. The driver watches
// our node anew, for what was heard in the meantime may have been about the
// former one.
func (m *machine) afterDowngrade() action {
	if m.cause != nil {
		return m.leave(nil)
	}
	m.state = held
	return action{}
}

func (m *machine) list() action {
	m.state = listing
	return action{verb: list}
}
