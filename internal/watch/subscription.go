package watch

import (
	"context"
	"slices"

	"github.com/zkcoord/zkcoord/event"
)

// A subscription is one stream, or one znode of a Set, as a subscriber of an entry. The
// entry decides by its fields what the subscriber gets; the loop, and nobody else, calls
// out.
type subscription struct {
	key
	index    int  // in entry.subs, so that leaving costs the same for any number
	owed     owed // the read that its first snapshot must come from
	upToDate bool // it has been told so

	// What the loop needs.
	as   string          // the path as the subscriber wrote it
	out  sink            // where snapshots go
	ctx  context.Context // nil if it ends otherwise
	stop func() bool     // withdraws what waits for ctx to end; nil without a ctx
}

// owed says which read brings a subscription its first snapshot. A read that had begun
// before the subscriber came can be older than what the subscriber has seen acknowledged.
type owed uint8

const (
	nothing  owed = iota // it has had its first snapshot
	nextRead             // one that has not begun
	thisRead             // the one under way or, if that fails, the next
)

// subscribe adds sub. If what is known is as good as what another read would bring, sub
// gets that; otherwise it waits for a read that begins later.
func (e *entry) subscribe(sub *subscription, do *actions) {
	sub.index = len(e.subs)
	e.subs = append(e.subs, sub)
	if e.state == watching && e.upToDate() {
		e.deliver(sub, do)
		return
	}
	// This includes an entry that is gone: its name may be in use again.
	sub.owed = nextRead
	e.requestRead(do)
}

// ended reports whether snap is the last that there is to say of the znode.
func (e *entry) ended(snap event.Snapshot) bool { return e.untilDeleted && !snap.Exists }

// remove removes sub, unless it has been ended in the meantime.
func (e *entry) remove(sub *subscription) {
	i, last := sub.index, len(e.subs)-1
	if i > last || e.subs[i] != sub {
		return
	}
	e.subs[i] = e.subs[last]
	e.subs[i].index = i
	e.subs[last] = nil
	e.subs = e.subs[:last]
}

// owes reports whether somebody waits for a read that has not begun.
func (e *entry) owes() bool {
	return slices.ContainsFunc(e.subs, func(sub *subscription) bool { return sub.owed == nextRead })
}

// publish makes snap what was read last and delivers it: if it is news, to subscribers
// that have had their first snapshot; and as the first one to those that wait for the
// read called first, where nextRead stands for any. No subscriber gets the same snapshot
// twice in a row.
func (e *entry) publish(snap event.Snapshot, first owed, do *actions) {
	news := !e.has || !same(e.kind, e.snap, snap)
	e.has = true
	if news { // if not, the old one is kept, whose data subscribers share
		e.snap = snap
	}
	for _, sub := range e.subs {
		if sub.owed == nothing && news || sub.owed != nothing && (sub.owed == first || first == nextRead) {
			e.deliver(sub, do)
		}
	}
}

// deliver gives sub what was read last.
func (e *entry) deliver(sub *subscription, do *actions) {
	sub.owed = nothing
	do.add(action{verb: deliver, sub: sub, snap: e.snap})
}

// tell tells the subscribers whether they are up to date, if they were told otherwise.
// One that still waits for its first snapshot is not, although the entry may be.
func (e *entry) tell(do *actions) {
	upToDate := e.upToDate()
	for _, sub := range e.subs {
		if now := upToDate && sub.owed == nothing; now != sub.upToDate {
			sub.upToDate = now
			do.add(action{verb: tellUpToDate, sub: sub, upToDate: now})
		}
	}
}

// end ends all subscriptions, except those that wait for the read called spared: those
// came after the read that was refused had begun, and have reason to hope for another
// answer.
func (e *entry) end(err error, spared owed, do *actions) {
	kept := e.subs[:0]
	for _, sub := range e.subs {
		if spared != nothing && sub.owed == spared {
			sub.index = len(kept)
			kept = append(kept, sub)
			continue
		}
		do.add(action{verb: end, sub: sub, err: err})
	}
	clear(e.subs[len(kept):])
	e.subs = kept
}

// tidy lets go of what nobody needs. For an entry without subscribers no read begins and
// no snapshot is kept. What remains is a watch that is armed, or a read that may arm one.
// If there is neither, the entry is forgotten: so a name that was used once costs nothing
// later.
func (e *entry) tidy(do *actions) {
	if len(e.subs) > 0 {
		return
	}
	e.subs, e.snap, e.has = nil, event.Snapshot{}, false
	switch {
	case e.state == reading:
	case e.watch == unarmed:
		e.state = idle
		do.add(action{verb: forget})
	default:
		e.state = watching
	}
}
