package watch

import (
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
)

// A key is what a watch is on.
type key struct {
	path         string // absolute
	kind         event.Kind
	untilDeleted bool // only until the znode is gone; see Loop.WatchUntilDeleted
}

func (k key) String() string {
	if k.untilDeleted {
		return fmt.Sprint(k.kind, " of ", k.path, " until it is deleted")
	}
	return fmt.Sprint(k.kind, " of ", k.path)
}

// keysAt returns every key that there can be at path.
func keysAt(path string) [6]key {
	return [...]key{
		{path, event.Presence, false}, {path, event.Data, false}, {path, event.Children, false},
		{path, event.Presence, true}, {path, event.Data, true}, {path, event.Children, true},
	}
}

// A state says what an entry is about to do.
type state uint8

const (
	quiet   state = iota // no read is under way
	queued               // a read is due, and begins when there is room for it
	reading              // a read is in flight
)

type inputKind uint8

const (
	subscribe inputKind = iota
	unsubscribe
	fired
	suspend
	resume
	rearmed
	begin
	answered
	failed
	refused
	shut
)

// An input is what an entry is told.
type input struct {
	kind       inputKind
	sub        *subscription
	event      zk.EventType
	newSession bool
	watch      watch
	snap       event.Snapshot
	err        error
}

type verb uint8

const (
	enqueue verb = iota
	read
	publish
	tellUpToDate
	end
	forget
)

// An action is what an entry wants done.
type action struct {
	verb     verb
	sub      *subscription
	snap     event.Snapshot
	arm      bool
	upToDate bool
	err      error
}

type actions []action

func (a *actions) add(x action) { *a = append(*a, x) }

// owed says which read the first snapshot of a subscription must come from.
type owed uint8

const (
	nothing  owed = iota // it has had its first
	nextRead             // one that has not begun
	thisRead             // the one in flight, or a later one
)

// An entry is one followed (path, kind). It outlives its last subscriber while
// its watch is armed, since that can not be withdrawn, and a later subscriber
// can use it. What the znode had is not kept for that long.
type entry struct {
	key
	state       state
	subs        []*subscription
	snap        event.Snapshot // what was last published or, without subscribers, last read
	has         bool           // snap has been read in this session, and may only be stale if suspended
	watch       watch
	unconfirmed bool // the link is new, and the server has not said yet that the watch is armed there
	down        bool // the link is

	// Of the read in flight.
	stale bool // it began on an earlier connection
	void  bool // it began in an earlier session
	again bool // it may be too old for somebody: read once more
	fired bool // an event has come since it began
}

// gone reports whether e is known to have ended for good.
func (e *entry) gone() bool { return e.untilDeleted && e.has && !e.snap.Exists }

// upToDate reports whether what was last read holds until an event says otherwise.
func (e *entry) upToDate() bool {
	return e.has && e.state == quiet && !e.snap.Suspended && (e.gone() || e.watch != unarmed && !e.unconfirmed)
}

func (e *entry) step(in input, do *actions) {
	switch in.kind {
	case subscribe:
		e.subscribe(in.sub, do)
	case unsubscribe:
		if i := slices.Index(e.subs, in.sub); i >= 0 {
			e.subs = slices.Delete(e.subs, i, i+1)
		}
	case fired:
		e.event(in.event, do)
	case suspend:
		e.down = true
		if e.has && !e.gone() {
			snap := e.snap
			snap.Suspended = true
			e.publish(snap, nothing, do)
		}
	case resume:
		e.resume(in.newSession, do)
	case rearmed:
		if e.watch == in.watch {
			e.unconfirmed = false
		}
	case begin:
		e.begin(do)
	case answered, failed, refused:
		e.result(in, do)
	case shut:
		e.end(in.err, do)
	}
	for _, sub := range e.subs {
		if now := e.upToDate() && sub.owed == nothing; now != sub.upToDate {
			sub.upToDate = now
			do.add(action{verb: tellUpToDate, sub: sub, upToDate: now})
		}
	}
	e.drop(do)
}

func (e *entry) subscribe(sub *subscription, do *actions) {
	if e.gone() {
		e.has = false // the name is used again after all
	}
	e.subs = append(e.subs, sub)
	if e.upToDate() {
		// As true as another read would be.
		e.deliver(sub, do)
		return
	}
	// What is known may be older than something that the subscriber has done and
	// seen answered. What is read from now on is not.
	sub.owed = nextRead
	e.requestRead(do)
}

func (e *entry) event(t zk.EventType, do *actions) {
	if e.state != quiet && e.watch == unarmed {
		// The callback runs before the reply that armed the watch has
		// reached us, so this event may be that watch's.
		e.fired = e.fired || canFire(e.kind, t)
		return
	}
	if !e.watch.firedBy(t) {
		return
	}
	e.watch, e.unconfirmed = unarmed, false
	if e.untilDeleted && t == zk.EventNodeDeleted {
		// Whether it has come back does not matter, and
		// whoever waits for its end need not wait for an answer too.
		e.publish(event.Snapshot{}, nextRead, do)
		return
	}
	e.requestRead(do)
}

func (e *entry) resume(newSession bool, do *actions) {
	e.down = false
	e.stale = true
	if newSession {
		e.watch = unarmed
		e.void = true
	}
	e.unconfirmed = e.watch != unarmed
	if len(e.subs) > 0 {
		e.requestRead(do)
	} else {
		e.has = false
	}
}

// requestRead has e read, once more if a read is under way that may be too old.
func (e *entry) requestRead(do *actions) {
	switch {
	case e.gone():
	case e.state != quiet:
		e.again = true
	case len(e.subs) == 0:
		e.has = false
	default:
		e.state = queued
		do.add(action{verb: enqueue})
	}
}

func (e *entry) begin(do *actions) {
	if len(e.subs) == 0 { // left while it was pending
		e.state, e.has = quiet, false
		return
	}
	e.state = reading
	e.again, e.fired, e.stale, e.void = false, false, false, false
	for _, sub := range e.subs {
		if sub.owed == nextRead {
			sub.owed = thisRead
		}
	}
	a := action{verb: read, arm: e.watch == unarmed}
	if e.has {
		a.snap = e.snap
	}
	do.add(a)
}

func (e *entry) result(in input, do *actions) {
	e.state = quiet
	switch {
	case e.gone(): // an event has overtaken this answer
		return
	case e.void:
		e.requestRead(do)
		return
	case in.kind == refused:
		e.end(in.err, do)
		return
	case in.kind == failed:
		e.requestRead(do)
		return
	}
	snap := in.snap
	switch {
	case e.fired:
		e.watch = unarmed
	case in.watch != unarmed && e.stale:
		// The server may have been told of this watch or not, and may have
		// answered that already. Another is armed by the read that follows.
	case in.watch != unarmed:
		e.watch, e.unconfirmed = in.watch, false
	case e.watch != unarmed && e.has && !same(e.kind, unsuspended(e.snap), snap):
		// Read without arming, because a watch was there; but it has let a
		// change pass. (A reconnect re-arms what the server still agrees with.)
		e.watch = unarmed
	}
	// A read that began before the link went down may be answered after it: it
	// is the truth of then, and the one that Resume asks for follows. But none
	// follows on an end.
	snap.Suspended = e.down && (snap.Exists || !e.untilDeleted)
	// Once it was known to be gone, an answer from before that is no news.
	if !e.untilDeleted || e.has || !e.again {
		e.publish(snap, thisRead, do)
	}
	if e.again && e.gone() {
		e.has = false // who has come since this read began is to have another
	}
	if e.again || e.watch == unarmed {
		e.requestRead(do)
	}
}

// drop forgets of e what nobody needs: all of it if nothing will come for it.
func (e *entry) drop(do *actions) {
	switch {
	case len(e.subs) > 0 || e.state != quiet:
	case e.watch == unarmed:
		do.add(action{verb: forget})
	case e.snap.Data != nil || e.snap.Children != nil:
		e.snap, e.has = event.Snapshot{}, false
	}
}

// end ends all streams of e.
func (e *entry) end(err error, do *actions) {
	for _, sub := range e.subs {
		do.add(action{verb: end, sub: sub, err: err})
	}
	e.subs = nil
	e.has = false // whoever comes now is to hear of it too
}

// publish makes snap the state of e, and tells the subscribers if it is news to them.
func (e *entry) publish(snap event.Snapshot, served owed, do *actions) {
	news := !e.has || !same(e.kind, e.snap, snap)
	e.has = true
	if news {
		e.snap = snap
	}
	for _, sub := range e.subs {
		first := sub.owed == thisRead && served != nothing || sub.owed == nextRead && served == nextRead
		if first || news && sub.owed == nothing {
			sub.owed = nothing
			e.deliver(sub, do)
		}
	}
}

func (e *entry) deliver(sub *subscription, do *actions) {
	do.add(action{verb: publish, sub: sub, snap: e.snap})
}

func unsuspended(s event.Snapshot) event.Snapshot {
	s.Suspended = false
	return s
}

// same reports whether a reader who follows kind has nothing to learn from b
// after a. It compares transaction ids and not versions: a znode deleted and
// created anew starts again at version zero.
func same(kind event.Kind, a, b event.Snapshot) bool {
	if a.Exists != b.Exists || a.Suspended != b.Suspended || a.Czxid != b.Czxid {
		return false
	}
	switch kind {
	case event.Data:
		return a.Mzxid == b.Mzxid
	case event.Children:
		// The names are compared too: a server that is asked in the middle of a
		// burst may give the parent's ids and its children of two moments.
		return a.Pzxid == b.Pzxid && a.Cversion == b.Cversion && slices.Equal(a.Children, b.Children)
	}
	return true
}
