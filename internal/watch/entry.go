package watch

import (
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
)

// A key is what is followed: one aspect of one znode.
type key struct {
	path         string // absolute
	kind         event.Kind
	untilDeleted bool // of Data and Children: only until the znode is deleted
}

func (k key) String() string {
	if k.untilDeleted {
		return fmt.Sprint(k.kind, " of ", k.path, " until it is deleted")
	}
	return fmt.Sprint(k.kind, " of ", k.path)
}

// keysAt returns every key that there can be at path.
func keysAt(path string) [5]key {
	return [...]key{
		{path, event.Presence, false}, {path, event.Data, false}, {path, event.Children, false},
		{path, event.Data, true}, {path, event.Children, true},
	}
}

// A state says what an entry is about.
type state uint8

const (
	idle     state = iota // no read is due and no watch is armed: new, or of no more use
	queued                // a read is due, and begins when there is room for it
	reading               // a read is under way
	watching              // no read is due: the watch will say when one is
	gone                  // the znode was deleted, and followed only until then
)

var states = [...]string{"idle", "queued", "reading", "watching", "gone"}

func (s state) String() string { return states[s] }

// An entry is one key that is followed, whoever follows it. It does no I/O and
// reads no clock: step depends on nothing but what the entry has been told.
//
// An entry outlives its last subscriber while its watch is armed, for a watch
// cannot be withdrawn, and a later subscriber can use it. What was read is not
// kept for that long.
//
// Two watches are never armed for one entry where one will do: a read arms one
// only if there is none. While a read that arms one is under way, an event may be
// that of the new watch, because events reach the loop on a shorter way than
// answers; and after a reconnect nobody can tell whether the server knows of it.
// In both cases the entry does not rely on it, and reads again.
type entry struct {
	key
	state state
	down  bool // the connection is
	subs  []*subscription

	snap event.Snapshot // what was read last; as delivered, Suspended included
	has  bool           // there is such a snapshot; never without subscribers

	watch       watch
	unconfirmed bool // the connection is new, and the server has not said yet that watch is armed there

	read    *Read // the one under way, in reading alone; answers to others are void
	reread  bool  // it may be too old for somebody: read once more
	suspect bool  // the watch that it arms is not to be relied on
}

// step takes note of in and adds to do what is to be done about it.
//
// A subscriber hears that it is no longer up to date before it is given anything
// new, and that it is up to date after it has been given what is.
func (e *entry) step(in input, do *actions) {
	switch in.kind {
	case subscribe:
		e.subscribe(in.sub, do)
	case unsubscribe:
		e.remove(in.sub)
	case fired:
		e.fired(in.event, do)
	case suspended:
		e.down = true
		e.tell(do)
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
		if e.state == queued { // else all have left, and perhaps others come
			e.begin(do)
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

// ended reports whether snap is the last that there is to say of the znode.
func (e *entry) ended(snap event.Snapshot) bool { return e.untilDeleted && !snap.Exists }

// upToDate reports whether what was read last holds until an event says otherwise.
func (e *entry) upToDate() bool {
	return e.state == gone || e.state == watching && e.has && !e.down && !e.unconfirmed
}

func (e *entry) fired(t zk.EventType, do *actions) {
	switch {
	case e.watch == unarmed:
		e.suspect = e.suspect || canFire(e.kind, t)
	case !e.watch.firedBy(t):
	case e.untilDeleted && t == zk.EventNodeDeleted:
		// Whether the name is in use again does not matter, so nobody need wait
		// for an answer.
		e.watch, e.unconfirmed = unarmed, false
		e.state, e.read = gone, nil
		e.publish(event.Snapshot{}, nextRead, do)
	default:
		e.watch, e.unconfirmed = unarmed, false
		e.requestRead(do)
	}
}

func (e *entry) resumed(newSession bool, do *actions) {
	e.down = false
	if newSession {
		e.watch = unarmed
		if e.state == reading {
			e.state, e.read = idle, nil // whatever becomes of the read, it is void
		}
	}
	e.unconfirmed = e.watch != unarmed
	e.suspect = true
	if e.state != gone {
		e.requestRead(do)
	}
}

// requestRead has the znode read, once more if a read is under way.
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

func (e *entry) begin(do *actions) {
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
		// Those who have come since the read began may have reason to expect
		// another answer.
		e.end(in.err, nextRead, do)
		e.requestRead(do)
		return
	}
	snap := in.answer.snap
	switch {
	case in.answer.armed != unarmed && !e.suspect:
		e.watch, e.unconfirmed = in.answer.armed, false
	case e.watch != unarmed && e.has && !same(e.kind, unsuspended(e.snap), snap):
		// The read has armed nothing because there was a watch; but that has let
		// a change pass.
		e.watch = unarmed
	}
	// An answer may come after word that the connection is lost. It is the truth
	// of then, and the read that follows a reconnect will make up for it. But none
	// follows on an end, so that is said as it is.
	snap.Suspended = e.down && !e.ended(snap)
	e.publish(snap, thisRead, do)
	switch {
	case e.ended(snap) && !e.owes():
		e.state = gone
	case e.reread || e.watch == unarmed:
		e.requestRead(do)
	}
}
