package event

import (
	"context"
	"time"
)

// A key is what a watch is on.
type key struct {
	path string // absolute
	kind Kind
	once bool // only until the znode is gone; see Loop.Follow
}

// at returns every key that there can be at path.
func at(path string) [6]key {
	return [...]key{
		{path, Presence, false}, {path, Data, false}, {path, Children, false},
		{path, Presence, true}, {path, Data, true}, {path, Children, true},
	}
}

// An entry is one followed (path, kind). It outlives its last subscriber while
// its watch is armed, since that can not be withdrawn, and a later subscriber
// can use it. What the znode had is not kept for that long.
type entry struct {
	key
	subs     map[*subscription]struct{} // nil if there are none
	snap     Snapshot                   // what was last published or, without subscribers, last read
	have     bool                       // snap has been read in this session, and may only be stale if suspended
	armed    watch
	doubtful bool      // the link is new, and the server has not said yet that the watch is armed there
	reading  bool      // a read is pending or in flight
	begun    int       // counts reads
	link     int       // of which connection the last one is that was begun
	again    bool      // read once more when it is back
	fired    bool      // an event came while the read was in flight
	rest     time.Time // no read shall begin before; see perChild
}

// gone reports whether e is known to have ended for good.
func (e *entry) gone() bool {
	return e.once && e.have && !e.snap.Exists
}

// settled reports whether what was last read holds until an event says otherwise.
func (e *entry) settled() bool {
	return e.have && !e.reading && !e.snap.Suspended && (e.gone() || e.armed != unarmed && !e.doubtful)
}

// A subscription is one stream's share in an entry.
type subscription struct {
	key
	ctx     context.Context // nil if it ends otherwise
	as      string          // the path as the subscriber wrote it
	out     sink
	stop    func() bool // withdraws what waits for ctx to end; set by subscribe
	from    int         // its first snapshot is that of this read, or a later one; zero once it has one
	settled bool        // as out has been told
}

// A sink is where the snapshots of a subscription go.
type sink interface {
	Publish(Snapshot)
	Close(error)
	// settle says whether the last snapshot holds until an event says otherwise.
	// What is read after a change is always preceded by settle(false) for
	// everything that changed with it.
	settle(bool)
}

// A streamSink is the sink that is a stream. Its receiver is not told more than
// the snapshots.
type streamSink struct{ Publisher[Snapshot] }

func (streamSink) settle(bool) {}

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
	if e.settled() {
		// As true as another read would be.
		l.tell(e, sub)
		l.settle(e)
		return
	}
	// What is known may be older than something that the subscriber has done and
	// seen answered. What is read from now on is not.
	sub.from = e.begun + 1
	l.need(e)
	l.settle(e) // for those who had the end of what was there before
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
		e.snap, e.have = Snapshot{}, false
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
func (l *Loop) publish(e *entry, snap Snapshot, read int) {
	news := !e.have || !same(e.kind, e.snap, snap)
	e.have = true
	if news {
		e.snap = snap
	}
	for sub := range e.subs {
		if sub.from <= read && (news || sub.from > 0) {
			sub.from = 0
			l.tell(e, sub)
		}
	}
}

func (l *Loop) tell(e *entry, sub *subscription) {
	snap := e.snap
	snap.Path = sub.as
	sub.out.Publish(snap)
}

// settle tells the subscribers of e whether it is settled, if that is news.
func (l *Loop) settle(e *entry) {
	settled := e.settled()
	for sub := range e.subs {
		if now := settled && sub.from == 0; now != sub.settled {
			sub.settled = now
			sub.out.settle(now)
		}
	}
}
