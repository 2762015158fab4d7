package watch

import (
	"context"
	"time"

	"github.com/zkcoord/zkcoord/event"
)

// A key is what a watch is on.
type key struct {
	path         string // absolute
	kind         event.Kind
	untilDeleted bool // only until the znode is gone; see Loop.WatchUntilDeleted
}

// keysAt returns every key that there can be at path.
func keysAt(path string) [6]key {
	return [...]key{
		{path, event.Presence, false}, {path, event.Data, false}, {path, event.Children, false},
		{path, event.Presence, true}, {path, event.Data, true}, {path, event.Children, true},
	}
}

// An entry is one followed (path, kind). It outlives its last subscriber while
// its watch is armed, since that can not be withdrawn, and a later subscriber
// can use it. What the znode had is not kept for that long.
type entry struct {
	key
	subs        map[*subscription]struct{} // nil if there are none
	snap        event.Snapshot             // what was last published or, without subscribers, last read
	have        bool                       // snap has been read in this session, and may only be stale if suspended
	armed       watch
	unconfirmed bool      // the link is new, and the server has not said yet that the watch is armed there
	reading     bool      // a read is pending or in flight
	readSeq     int       // counts reads
	link        int       // of which connection the last one is that was begun
	rereadAfter bool      // read once more when it is back
	fired       bool      // an event came while the read was in flight
	notBefore   time.Time // no read shall begin before; see pausePerChild
}

// gone reports whether e is known to have ended for good.
func (e *entry) gone() bool {
	return e.untilDeleted && e.have && !e.snap.Exists
}

// upToDate reports whether what was last read holds until an event says otherwise.
func (e *entry) upToDate() bool {
	return e.have && !e.reading && !e.snap.Suspended && (e.gone() || e.armed != unarmed && !e.unconfirmed)
}

// A subscription is one stream's share in an entry.
type subscription struct {
	key
	ctx      context.Context // nil if it ends otherwise
	as       string          // the path as the subscriber wrote it
	out      sink
	stop     func() bool // withdraws what waits for ctx to end; set by subscribe
	minRead  int         // its first snapshot is that of this read, or a later one; zero once it has one
	upToDate bool        // as out has been told
}

// A sink is where the snapshots of a subscription go.
type sink interface {
	Publish(event.Snapshot)
	Close(error)
	// setUpToDate says whether the last snapshot holds until an event says otherwise.
	// What is read after a change is always preceded by setUpToDate(false) for
	// everything that changed with it.
	setUpToDate(bool)
}

// A streamSink is the sink that is a stream. Its receiver is not told more than
// the snapshots.
type streamSink struct {
	event.Publisher[event.Snapshot]
}

func (streamSink) setUpToDate(bool) {}

func (l *Loop) subscribe(sub *subscription) {
	e := l.entries[sub.key]
	if e == nil {
		e = &entry{key: sub.key}
		l.entries[sub.key] = e
	}
	if e.gone() {
		e.have = false // the name is used again after all
	}
	if e.subs == nil {
		e.subs = make(map[*subscription]struct{})
	}
	e.subs[sub] = struct{}{}
	sub.stop = func() bool { return false }
	if sub.ctx != nil {
		sub.stop = context.AfterFunc(sub.ctx, func() {
			sub.out.Close(l.source.Ended(sub.as, context.Cause(sub.ctx)))
			l.inbox.post(func() { l.unsubscribe(sub) })
		})
	}
	if e.upToDate() {
		// As true as another read would be.
		l.deliver(e, sub)
		l.noteUpToDate(e)
		return
	}
	// What is known may be older than something that the subscriber has done and
	// seen answered. What is read from now on is not.
	sub.minRead = e.readSeq + 1
	l.requestRead(e)
	l.noteUpToDate(e) // for those who had the end of what was there before
}

func (l *Loop) unsubscribe(sub *subscription) {
	if e := l.entries[sub.key]; e != nil {
		delete(e.subs, sub)
		l.drop(e)
	}
}

// drop forgets of e what nobody needs: all of it if nothing will come for it.
func (l *Loop) drop(e *entry) {
	if len(e.subs) > 0 {
		return
	}
	e.subs = nil // a map keeps the room for the most it ever had; so does that of the entries
	switch {
	case e.reading:
	case e.armed == unarmed:
		delete(l.entries, e.key)
		if len(l.entries) == 0 {
			l.entries = make(map[key]*entry)
		}
	case e.snap.Data != nil || e.snap.Children != nil:
		e.snap, e.have = event.Snapshot{}, false
	}
}

// end ends all streams of e.
func (l *Loop) end(e *entry, err error) {
	for sub := range e.subs {
		sub.stop()
		sub.out.Close(l.source.Ended(sub.as, err))
	}
	clear(e.subs)
	e.have = false // whoever comes now is to hear of it too
	l.drop(e)
}

// publish makes snap, which the read with this number has brought, the state of
// e, and tells the subscribers if it is news to them.
func (l *Loop) publish(e *entry, snap event.Snapshot, read int) {
	news := !e.have || !same(e.kind, e.snap, snap)
	e.have = true
	if news {
		e.snap = snap
	}
	for sub := range e.subs {
		if sub.minRead <= read && (news || sub.minRead > 0) {
			sub.minRead = 0
			l.deliver(e, sub)
		}
	}
}

func (l *Loop) deliver(e *entry, sub *subscription) {
	snap := e.snap
	snap.Path = sub.as
	sub.out.Publish(snap)
}

// noteUpToDate tells the subscribers of e whether it is up to date, if that is news.
func (l *Loop) noteUpToDate(e *entry) {
	upToDate := e.upToDate()
	for sub := range e.subs {
		if now := upToDate && sub.minRead == 0; now != sub.upToDate {
			sub.upToDate = now
			sub.out.setUpToDate(now)
		}
	}
}
