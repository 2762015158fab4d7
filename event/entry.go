package event

import (
	"context"

	"github.com/go-zookeeper/zk"
)

// A key is what a watch is on.
type key struct {
	path string // absolute
	kind Kind
}

// An entry is one followed (path, kind). It outlives its last subscriber while
// its watch is armed, since that can not be withdrawn, and a later subscriber
// can use it.
type entry struct {
	key
	subs    map[*subscription]struct{}
	snap    Snapshot // what was last published or, without subscribers, last read
	have    bool     // snap has been read in this session, and may only be stale if suspended
	armed   watch
	reading bool // a read is pending or in flight
	again   bool // read once more when it is back
	fired   bool // an event came while the read was in flight
}

// gone reports whether e is known to have ended for good.
func (e *entry) gone() bool {
	return e.kind == life && e.have && !e.snap.Exists
}

// A subscription is one stream's share in an entry.
type subscription struct {
	key
	ctx  context.Context
	as   string // the path as the subscriber wrote it
	out  Publisher[Snapshot]
	stop func() bool // withdraws what waits for ctx to end; set by subscribe
}

func (l *Loop) subscribe(sub *subscription) {
	e := l.entries[sub.key]
	if e == nil {
		e = &entry{key: sub.key, subs: make(map[*subscription]struct{})}
		l.entries[sub.key] = e
	}
	e.subs[sub] = struct{}{}
	sub.stop = context.AfterFunc(sub.ctx, func() {
		sub.out.Close(l.source.Ended(sub.as, context.Cause(sub.ctx)))
		l.inbox.post(func() { l.unsubscribe(sub) })
	})
	if e.have {
		l.tell(e, sub)
	}
	// What is armed and was read since the link came up is as true as another
	// read would be.
	if !e.have || e.armed == unarmed {
		l.need(e)
	}
}

func (l *Loop) unsubscribe(sub *subscription) {
	if e := l.entries[sub.key]; e != nil {
		delete(e.subs, sub)
		l.drop(e)
	}
}

// drop forgets e if nobody needs it and nothing will come for it.
func (l *Loop) drop(e *entry) bool {
	if len(e.subs) > 0 || e.armed != unarmed || e.reading {
		return false
	}
	delete(l.entries, e.key)
	return true
}

// end ends all streams of e.
func (l *Loop) end(e *entry, err error) {
	for sub := range e.subs {
		sub.stop()
		sub.out.Close(l.source.Ended(sub.as, err))
	}
	clear(e.subs)
	l.drop(e)
}

func (l *Loop) event(ev zk.Event) {
	for kind := Presence; kind <= life; kind++ {
		e := l.entries[key{ev.Path, kind}]
		if e == nil {
			continue
		}
		if e.reading && e.armed == unarmed {
			// The callback runs before the reply that armed the watch has
			// reached us, so this event may be that watch's.
			e.fired = e.fired || kind.hearsOf(ev.Type)
			continue
		}
		if !e.armed.firedBy(ev.Type) {
			continue
		}
		e.armed = unarmed
		if kind == life && ev.Type == zk.EventNodeDeleted {
			// Such a znode does not come back, so there is nothing to read, and
			// whoever waits for its end need not wait for an answer too.
			l.publish(e, Snapshot{})
			continue
		}
		l.need(e)
	}
}

func (l *Loop) suspend() {
	l.down = true
	for _, e := range l.entries {
		if e.have && !e.gone() {
			snap := e.snap
			snap.Suspended = true
			l.publish(e, snap)
		}
	}
}

func (l *Loop) resume(anew bool) {
	l.down = false
	if anew {
		l.epoch++
	}
	for _, e := range l.entries {
		if anew {
			e.armed = unarmed
		}
		if len(e.subs) > 0 {
			l.need(e)
		} else {
			e.have = false
			l.drop(e)
		}
	}
}

// need has e read, once more if a read is under way that may be too old.
func (l *Loop) need(e *entry) {
	if e.gone() {
		return
	}
	if e.reading {
		e.again = true
		return
	}
	if len(e.subs) == 0 {
		e.have = false
		l.drop(e)
		return
	}
	e.reading = true
	l.pending = append(l.pending, e)
	l.start()
}

// start begins pending reads, as many as may be in flight.
func (l *Loop) start() {
	for len(l.pending) > 0 && l.reads < maxReads {
		e := l.pending[0]
		l.pending = l.pending[1:]
		if len(e.subs) == 0 { // left while it was pending
			e.reading, e.have = false, false
			l.drop(e)
			continue
		}
		e.again, e.fired = false, false
		l.reads++
		go l.read(e, e.armed == unarmed, l.epoch)
	}
}

func (l *Loop) read(e *entry, arm bool, epoch int) {
	type reading struct {
		snap  Snapshot
		armed watch
	}
	got := make(chan reading, 1) // Request may leave f behind and return
	err := l.source.Request(func(c Conn) error {
		snap, armed, err := read(c, e.path, e.kind, arm)
		got <- reading{snap, armed}
		return err
	})
	var r reading
	if err == nil {
		r = <-got
	}
	l.inbox.force(func() { l.result(e, r.snap, r.armed, err, epoch) })
}

func (l *Loop) result(e *entry, snap Snapshot, armed watch, err error, epoch int) {
	l.reads--
	e.reading = false
	defer l.start()
	switch {
	case e.gone(): // an event has overtaken this answer
		l.drop(e)
		return
	case epoch != l.epoch:
		l.need(e)
		return
	case err != nil && l.source.Refused(err):
		l.end(e, err)
		return
	case err != nil:
		l.need(e)
		return
	}
	switch {
	case e.fired:
		e.armed = unarmed
	case armed != unarmed:
		e.armed = armed
	case e.armed != unarmed && e.have && !same(e.kind, unsuspended(e.snap), snap):
		// Read without arming, because a watch was there; but it has let a
		// change pass. (A reconnect re-arms what the server still agrees with.)
		e.armed = unarmed
	}
	// A read that began before the link went down may be answered after it: it
	// is the truth of then, and the one that Resume asks for follows.
	snap.Suspended = l.down
	l.publish(e, snap)
	if e.again || e.armed == unarmed {
		l.need(e)
	}
}

func unsuspended(s Snapshot) Snapshot {
	s.Suspended = false
	return s
}

// publish makes snap the state of e, and tells the subscribers if it is news.
func (l *Loop) publish(e *entry, snap Snapshot) {
	if e.have && same(e.kind, e.snap, snap) {
		return
	}
	e.snap, e.have = snap, true
	for sub := range e.subs {
		l.tell(e, sub)
	}
	l.drop(e)
}

func (l *Loop) tell(e *entry, sub *subscription) {
	snap := e.snap
	snap.Path = sub.as
	sub.out.Publish(snap)
}
