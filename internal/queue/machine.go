package queue

import (
	"cmp"
	"errors"
	"math"
	"slices"
)

// A state says where a contender stands. The driver reads off it what to tell
// the owner: entering held is the acquisition; held to leaving is a release,
// held to any other state but downgrading, and back, the loss; done is the end,
// with m.cause as the reason of it all.
type state uint8

const (
	creating    state = iota // a create is in flight, and no other node of ours exists
	looking                  // a create's answer was lost: asked who is in the queue, to learn its fate
	listing                  // our node exists; asked who is in the queue
	waiting                  // our node exists; following the nearest contender that blocks it
	confirming               // nobody blocks our node; waiting for proof that it is still there
	held                     // ours, until our node or the session is known to be gone
	downgrading              // ours, unless there is a cause to end; our node is a write, a read in its place, or gone
	revoked                  // was held, told to give way; our node keeps the others out until the owner quits
	leaving                  // asked for our node's removal
	done                     // nothing more will be asked, and nothing heard matters
)

// A signal is the kind of an event.
type signal uint8

const (
	// Replies to the one request in flight.
	created signal = iota // create: node is ours with token; alone if no other child was there
	unknown               // create: the link broke, it may have been done or not
	listed                // list: names are the directory's children; none if there is no directory
	removed               // remove or replace: our node is not there any more
	moved                 // replace: node stands in its place
	refused               // any but watch: err, and it was not done

	// Word of the node that watch named.
	freed // it is gone

	// Word of our own node, in the order in which it was learned. The driver
	// follows that node from the moment the machine knows its name.
	proof  // it is there with token, owned by our session, and a watch on it is armed
	doubt  // the link is down, so the watch may be blind; a new proof or gone follows
	gone   // it is not there, or not ours
	marked // somebody wrote into it that the holder shall give way

	// Word of neither. If several events are due, expired goes first.
	expired // the session is over because of err, and every request in flight is void
	quit    // the owner wants it no more because of err, never nil; may come more than once
	share   // the owner, who holds it for writing, wants it for reading
)

// An event is what a machine is told.
type event struct {
	signal signal
	node   string
	token  int64
	alone  bool
	names  []string
	err    error
}

// A verb is the kind of an op.
type verb uint8

const (
	nothing verb = iota
	create       // make our node: created, unknown or refused
	list         // read the directory's children: listed or refused
	watch        // follow node until it is gone, in place of the one before: freed
	remove       // delete node, again and again until it is gone: removed or refused
	replace      // put a read in the place of node, again and again until that is known: moved, removed or refused
)

// An op is what a machine wants done. All but watch are requests, of which
// one at most is in flight.
type op struct {
	verb verb
	node string
	sync bool // bring the server up to date first
}

// causes are the reasons that the machine itself finds to give up.
type causes struct {
	deleted   error // somebody else removed our node
	revoked   error // somebody asked us to give way
	locked    error // somebody is ahead, and we were not to wait
	exhausted error // the numbers have run out, so there is no order any more
}

// A machine takes one contender through the queue in one session. It does no I/O
// and reads no clock: step is a pure function of what it has been told. It starts
// in creating with op{verb: create} in flight.
type machine struct {
	id     string // marks our node; chosen before the create, so that a lost answer can be made good
	kind   kind   // of our node when created
	try    bool   // leave rather than wait
	causes causes

	state  state
	node   string // name of our node once known; changed by moved alone
	token  int64  // set before held is entered
	proven bool   // our node is there as far as an armed watch can tell
	sole   bool   // in waiting: the contender that we follow is the only one that blocks
	cause  error  // the first reason to end; none may be held or waited for after it
}

// step takes note of ev and returns what to do about it.
func (m *machine) step(ev event) op {
	if m.state == done {
		return op{} // the answer to a request made void by gone or expired
	}
	switch ev.signal {
	case created:
		m.node, m.token = ev.node, ev.token
		me, _ := parse(ev.node)
		switch {
		case m.cause != nil:
			return m.leave(nil)
		case !ev.alone:
			return m.list()
		case !ordered([]contender{me}, me):
			return m.leave(m.causes.exhausted)
		}
		// The transaction that made our node found no other child. That is as
		// good as a proof, and the driver arms the watch.
		m.state = held
	case unknown:
		m.state = looking
		return op{verb: list, sync: true} // unsynced, a server that lags would hide our node
	case listed:
		return m.place(line(ev.names))
	case removed:
		return m.finish(m.causes.deleted) // in leaving that is no news, and there is a cause
	case moved:
		// The token stays. It is less than those of the writers who have come
		// to wait in the meantime, and the new node's would not be.
		m.node = ev.node
		return m.settle()
	case refused:
		if m.state == downgrading {
			return m.settle()
		}
		if m.node != "" && m.state != leaving {
			return m.leave(ev.err)
		}
		// Either there is no node of ours, or it stays until the session
		// ends: it may not be removed or, with the create's answer lost, not
		// be looked for.
		m.cause = errors.Join(m.cause, ev.err)
		return m.finish(nil)
	case freed:
		if m.state != waiting {
			return op{} // too late: leaving
		}
		if !m.sole {
			return m.list() // it may have given up, with others still ahead of it
		}
		// Nobody can have come in before us since the listing, for numbers
		// only grow. So the one that blocked was the last.
		return m.head()
	case proof:
		m.proven, m.token = true, cmp.Or(m.token, ev.token)
		if m.state == confirming {
			m.state = held
		}
	case doubt:
		m.proven = false
	case gone:
		if m.state == downgrading {
			return op{} // by our own doing or not: the reply will tell
		}
		return m.finish(m.causes.deleted)
	case marked:
		switch m.state {
		case held:
			m.state, m.cause = revoked, m.causes.revoked
		case revoked: // said twice, or read again after a break of the link
		case downgrading: // void if the write is replaced, and otherwise read again
		default:
			return m.end(m.causes.revoked)
		}
	case expired:
		return m.finish(ev.err)
	case quit:
		return m.end(ev.err)
	case share:
		if m.state == held {
			m.state = downgrading
			return op{verb: replace, node: m.node}
		}
	}
	return op{}
}

// place decides what our place in line means.
func (m *machine) place(line []contender) op {
	i := slices.IndexFunc(line, func(c contender) bool { return c.id == m.id })
	switch {
	case i < 0 && m.node != "":
		return m.finish(m.causes.deleted)
	case i < 0 && m.cause != nil:
		return m.finish(nil)
	case i < 0:
		m.state = creating // the lost create was never done, and never will be
		return op{verb: create}
	}
	me := line[i]
	m.node = me.name
	switch {
	case m.cause != nil:
		return m.leave(nil)
	case !ordered(line, me):
		return m.leave(m.causes.exhausted)
	}
	ahead := blockers(line, i)
	switch {
	case len(ahead) == 0:
		return m.head()
	case m.try:
		return m.leave(m.causes.locked)
	}
	nearest := ahead[len(ahead)-1]
	// A writer that goes may have become a reader in the same place. If that
	// blocks us too, look again.
	m.sole = len(ahead) == 1 && (nearest.kind != write || !blocks(read, me.kind))
	// Following the nearest, and not the head, makes each release wake one.
	m.state = waiting
	return op{verb: watch, node: nearest.name}
}

// ordered reports whether the numbers in line tell who came first. At its
// largest the server's counter sticks or runs over: from there on it hands
// out numbers twice, and negative ones.
func ordered(line []contender, me contender) bool {
	return !slices.ContainsFunc(line, func(c contender) bool {
		return c.number < 0 || c.number == math.MaxInt32 || c.number == me.number && c.id != me.id
	})
}

// settle goes on after a downgrade, done or refused. The driver asks anew how our
// node is, for what was heard in the meantime may have been about the former one.
func (m *machine) settle() op {
	if m.cause != nil {
		return m.leave(nil)
	}
	m.state = held
	return op{}
}

// head takes the lock, or waits for the proof without which it must not be
// taken: our node may have been removed while the link was down.
func (m *machine) head() op {
	m.state = confirming
	if m.proven {
		m.state = held
	}
	return op{}
}

func (m *machine) list() op {
	m.state = listing
	return op{verb: list}
}

// end gives up for err: at once or, with a request in flight, when its reply
// tells what there is to be removed.
func (m *machine) end(err error) op {
	switch m.state {
	case waiting, confirming, held, revoked:
		return m.leave(err)
	}
	m.cause = cmp.Or(m.cause, err)
	return op{}
}

// leave removes our node. The first cause stands.
func (m *machine) leave(err error) op {
	m.cause = cmp.Or(m.cause, err)
	m.state = leaving
	return op{verb: remove, node: m.node}
}

// finish ends it without a request. The first cause stands.
func (m *machine) finish(err error) op {
	m.cause = cmp.Or(m.cause, err)
	m.state = done
	return op{}
}
