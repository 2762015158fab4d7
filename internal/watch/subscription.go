package watch

import (
	"context"
	"slices"

	"github.com/zkcoord/zkcoord/event"
)

// A subscription is one stream's share, or one Set's, in an entry.
type subscription struct {
	key
	index    int  // in entry.subs
	owed     owed // the read that its first snapshot must come from
	upToDate bool // it has been told so

	// For the loop.
	as   string          // the path as the subscriber wrote it
	out  sink            // where snapshots go
	ctx  context.Context // nil if it ends otherwise
	stop func() bool     // withdraws what waits for ctx to end; nil without a ctx
}

// owed names a read for whose answer a subscription waits.
type owed uint8

const (
	nothing  owed = iota // it has had its first snapshot
	nextRead             // one that has not begun
	thisRead             // the one under way or, if that fails, the next
)

func (e *entry) subscribe(sub *subscription, do *actions) {
	sub.index = len(e.subs)
	e.subs = append(e.subs, sub)
	if e.state == watching && e.upToDate() {
		e.deliver(sub, do) // as true as what another read would bring
		return
	}
	// What is known may be older than a write that this subscriber has already
	// seen acknowledged, and a name that was gone may be in use again. A read
	// that begins now is newer.
	sub.owed = nextRead
	e.requestRead(do)
}

func (e *entry) remove(sub *subscription) {
	i, last := sub.index, len(e.subs)-1
	if i > last || e.subs[i] != sub {
		return // it was ended in the meantime
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

// publish makes snap what was read last, and delivers it: to those to whom it is
// news, and as the first one to those who wait for this read or, if they are
// meant too, for the next.
func (e *entry) publish(snap event.Snapshot, first owed, do *actions) {
	news := !e.has || !same(e.kind, e.snap, snap)
	e.has = true
	if news {
		e.snap = snap
	}
	for _, sub := range e.subs {
		if sub.owed == nothing && news || sub.owed != nothing && (sub.owed == first || first == nextRead) {
			e.deliver(sub, do)
		}
	}
}

func (e *entry) deliver(sub *subscription, do *actions) {
	sub.owed = nothing
	do.add(action{verb: deliver, sub: sub, snap: e.snap})
}

// tell tells the subscribers whether they are up to date, if they have not been
// told.
func (e *entry) tell(do *actions) {
	upToDate := e.upToDate()
	for _, sub := range e.subs {
		if now := upToDate && sub.owed == nothing; now != sub.upToDate {
			sub.upToDate = now
			do.add(action{verb: tellUpToDate, sub: sub, upToDate: now})
		}
	}
}

// end ends all subscriptions but those that wait for the read spared.
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

// tidy keeps nothing for nobody but a watch that is armed.
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
