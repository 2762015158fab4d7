package watch

import (
	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
)

// A state says what an entry is waiting for. In the usual course they follow each other
// like this:
//
//	idle -> queued       somebody subscribes
//	queued -> reading    there is a connection, and room for the read
//	reading -> watching  the answer has come, and left a watch
//	watching -> queued   the watch has fired; or the connection is another; or somebody
//	                     subscribes, and what was read may be out of date
//
// And apart from that:
//
//	reading -> queued    the read has failed, or another one is to follow
//	reading -> idle      the session is over, and the read with it
//	any -> gone          the znode was deleted, and followed only until then
//	gone -> queued       somebody subscribes: the name may be in use again
//	queued -> watching   nobody is left, but a watch is
//	any -> idle          nobody is left, and no watch: the entry is forgotten
type state uint8

const (
	// idle: nothing is known, armed or under way. An entry begins like this, and is
	// forgotten when it has come back to it.
	idle state = iota
	// queued: a read is due, and begins when there is a connection and room for it.
	// A watch may be armed, as after a reconnect.
	queued
	// reading: the read e.read is under way. If it was to arm a watch, there is none.
	reading
	// watching: a watch is armed, or will be again when there is a connection. It
	// says when to read next. The state in which an entry spends its life.
	watching
	// gone: the znode was deleted, and followed only until then. Nothing is armed,
	// and nothing will be read unless somebody else begins to follow it.
	gone
)

var states = [...]string{"idle", "queued", "reading", "watching", "gone"}

func (s state) String() string { return states[s] }

// An entry is one key that is followed, by any number of subscribers. It outlives its last
// subscriber while its watch is armed: a watch cannot be withdrawn, and may serve a
// later subscriber. What was read is not kept for that long.
type entry struct {
	key
	state state
	down  bool // there is no connection
	subs  []*subscription

	snap event.Snapshot // what was read last; as delivered, Suspended included
	has  bool           // there is such a snapshot; never without subscribers

	watch watch // the one that is armed
	// unconfirmed: there is a new connection, and the server has not said yet that
	// watch is armed there.
	unconfirmed bool
	carried     bool // watch was armed in an earlier connection

	read *Read // in reading, the one under way; answers to others are void
	// reread: the answer may be older than something that has happened since the
	// read began, so another read is to follow.
	reread bool
	// suspect: the watch that the read arms may be used up before its answer comes,
	// or unknown to the server. It is not relied on, and another read is to follow.
	suspect bool

	// Of children alone: what has been told of them, and whether they must be listed
	// because the Stat of the directory has not been enough.
	roster   roster
	unlisted bool
}

// step takes note of in and adds to do what is to be done about it. It is a pure
// function of what the entry has been told.
//
// A subscriber is told that it is not up to date before it is given anything new,
// and that it is up to date after it has been given what is.
func (e *entry) step(in input, do *actions) {
	switch in.kind {
	case subscribe:
		e.subscribe(in.sub, do)
	case unsubscribe:
		e.remove(in.sub)
	case fired:
		e.fired(in.event, do)
	case came:
		if len(e.subs) > 0 {
			e.roster.hear(in.coming)
		}
	case lost:
		e.lost(do)
	case suspended:
		e.down = true
		e.roster.lose()
		e.tell(do) // first: what comes next is uncertain
		if e.has && !e.ended(e.snap) {
			snap := e.snap
			snap.Suspended = true
			e.publish(snap, nothing, do)
		}
	case resumed:
		e.resumed(in.newSession, do)
	case rearmed:
		if e.watch == in.watch {
			e.unconfirmed = false
		}
	case begin:
		if e.state == queued { // otherwise all have left, or it has begun already
			e.begin(in.told, do)
		}
	case responded:
		if in.read == e.read {
			e.roster.answered()
		}
	case answered, failed, refused:
		if in.read == e.read {
			e.reply(in, do)
		}
	case closed:
		e.end(in.err, nothing, do)
	}
	e.tell(do)
	e.tidy(do)
}

// upToDate reports whether what was read last holds until an event says otherwise.
func (e *entry) upToDate() bool {
	return e.state == gone || e.state == watching && e.has && !e.down && !e.unconfirmed
}

// fired takes note of an event. It is about a watch on the path, and so perhaps not
// about the entry's own: each kind of watch is in a table of its own, and several
// keys can be at one path.
func (e *entry) fired(t zk.EventType, do *actions) {
	switch {
	case e.watch == unarmed:
		// If a read is under way, this may be the event of the watch that it arms.
		e.suspect = e.suspect || canFire(e.kind, t)
	case !e.watch.firedBy(t):
	case e.kind == baton && t == zk.EventNodeDataChanged && !e.down && !e.carried:
		// Nobody writes to a baton but to pass it on, in the transaction that deletes it.
		// After a reconnect the server would say so of any change.
		e.watch = unarmed
		e.state, e.read = gone, nil
		e.publish(passed, nextRead, do)
	case e.untilDeleted && t == zk.EventNodeDeleted:
		// Whether the name is in use again does not matter, so nobody need wait for
		// an answer. One that is under way armed nothing, and is void.
		e.watch, e.unconfirmed = unarmed, false
		e.state, e.read = gone, nil
		e.publish(event.Snapshot{}, nextRead, do)
	default:
		e.watch, e.unconfirmed = unarmed, false
		e.requestRead(do)
	}
}

// resumed takes note of a new connection. The znode is read again, even in the same
// session: what the server announces there is reliable, but values that said Suspended
// must be replaced in any case.
func (e *entry) resumed(newSession bool, do *actions) {
	e.down = false
	if newSession {
		e.watch = unarmed
		if e.state == reading {
			e.state, e.read = idle, nil // the old read is void, and not waited for
		}
	}
	e.unconfirmed = e.watch != unarmed
	e.carried = e.unconfirmed
	// The server may have been told of a watch that is being armed, or not; and it
	// may have announced a change already, before the answer comes.
	e.suspect = true
	if e.state != gone {
		e.requestRead(do)
	}
}

// requestRead makes a read due, one more if a read is under way.
func (e *entry) requestRead(do *actions) {
	switch {
	case len(e.subs) == 0 || e.state == queued:
	case e.state == reading:
		e.reread = true
	default:
		e.state = queued
		do.add(action{verb: enqueue})
	}
}

// begin begins a read. It arms a watch if there is none: never a second one, which
// would fire for nothing. Subscribers that wait for the next read to begin wait for this
// one. A directory is not listed if the Stat may do, because its children are told.
func (e *entry) begin(told bool, do *actions) {
	for _, sub := range e.subs {
		if sub.owed == nextRead {
			sub.owed = thisRead
		}
	}
	e.state, e.read = reading, &Read{key: e.key, arm: e.watch == unarmed}
	e.reread, e.suspect = false, false
	if e.has {
		e.read.known = e.snap
	}
	e.read.brief = told && e.counts()
	e.roster.begin()
	e.unlisted = false
	do.add(action{verb: read, read: e.read})
}

// reply takes note of what has become of the read under way.
func (e *entry) reply(in input, do *actions) {
	e.state, e.read = watching, nil // unless something below says otherwise
	switch in.kind {
	case failed:
		e.requestRead(do)
		return
	case refused:
		// Subscribers that have come since the read began may have reason to expect
		// another answer: they may have changed the access list meanwhile.
		e.end(in.err, nextRead, do)
		e.requestRead(do)
		return
	}
	snap, listed := in.answer.snap, true
	if in.answer.brief {
		snap.Children, listed = e.roster.children(e.snap, snap.Stat)
	}
	switch {
	case in.answer.armed != unarmed && !e.suspect:
		e.watch, e.unconfirmed, e.carried = in.answer.armed, false, false
	case e.watch != unarmed && e.has && listed && !same(e.kind, unsuspended(e.snap), snap):
		// The read armed nothing because there was a watch, but that has let a
		// change pass. A server does not do that; if one does, all is not lost.
		e.watch = unarmed
	}
	if !listed {
		e.unlisted = true
		e.requestRead(do)
		return
	}
	if e.kind == event.Children {
		e.roster.rebase(snap)
	}
	// An answer may come after word that the connection is lost. It was true then,
	// and the read after the reconnect will replace it. No read follows on an end, so
	// that is delivered as it is.
	snap.Suspended = e.down && !e.ended(snap)
	e.publish(snap, thisRead, do)
	switch {
	case e.ended(snap) && !e.owes():
		e.state = gone
	case e.reread || e.watch == unarmed:
		e.requestRead(do)
	}
}
