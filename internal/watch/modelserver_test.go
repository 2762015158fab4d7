package watch

import (
	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
)

// change makes v the newest version of the znode, and the watches that it
// concerns fire.
func (w *world) change(v version, t zk.EventType) {
	w.now++
	w.versions[w.now] = v
	data := w.data && t != zk.EventNodeChildrenChanged
	child := w.child && (t == zk.EventNodeChildrenChanged || t == zk.EventNodeDeleted)
	if data || child {
		w.data, w.child = w.data && !data, w.child && !child
		w.send(frame{kind: anEvent, event: t})
	}
}

func (w *world) send(f frame) {
	w.wire[w.wires] = f
	w.wires++
}

// serve works off a read.
func (w *world) serve(who int8) {
	r := &w.reading[who]
	there := w.versions[w.now].exists
	if r.arm {
		switch {
		case r.exists:
			w.data = true
		case there && r.kind == event.Children:
			w.child = true
		case there:
			w.data = true
		}
	}
	r.phase, r.at = replied, w.now
	w.send(frame{kind: anAnswer, who: who, at: w.now})
}

// rearmAll works off the SetWatches: what has changed since the client was told of
// anything is told, and the rest is armed.
func (w *world) rearmAll() {
	r := w.rearm
	w.rearm = rearming{}
	there := w.versions[w.now].exists
	written := w.now
	if w.rule.key.kind == event.Children { // its changes are those of its children
		written = w.versions[w.now].created
	}
	switch {
	case !r.watches[onData]:
	case !there:
		w.send(frame{kind: anEvent, event: zk.EventNodeDeleted})
	case written > r.seen:
		w.send(frame{kind: anEvent, event: zk.EventNodeDataChanged})
	default:
		w.data = true
	}
	switch {
	case !r.watches[onExist]:
	case there:
		w.send(frame{kind: anEvent, event: zk.EventNodeCreated})
	default:
		w.data = true
	}
	switch {
	case !r.watches[onChild]:
	case !there:
		w.send(frame{kind: anEvent, event: zk.EventNodeDeleted})
	case w.now > r.seen:
		w.send(frame{kind: anEvent, event: zk.EventNodeChildrenChanged})
	default:
		w.child = true
	}
	w.send(frame{kind: rearmedAll, watches: r.watches})
}

// deliver is what the client library does with f: it keeps the record of its
// watches, and passes on what it is.
func (w *world) deliver(f frame) {
	switch f.kind {
	case anEvent:
		ends := w.live && w.e.untilDeleted && w.e.watch != unarmed && f.event == zk.EventNodeDeleted
		w.tell(input{kind: fired, event: f.event})
		for i := range w.is {
			if is := &w.is[i]; ends && is.state == present && !w.atEnd(is) {
				w.fault = "a deletion was not told at once"
			}
		}
		for x := unarmed + 1; x <= onChild; x++ {
			w.lib[x] = w.lib[x] && !x.firedBy(f.event)
		}
	case otherAnswer:
		w.seen = max(w.seen, f.at)
	case rearmedAll:
		for x := unarmed + 1; x <= onChild; x++ {
			if f.watches[x] {
				w.tell(input{kind: rearmed, watch: x})
			}
		}
	case aRefusal:
		w.reading[f.who].phase = refusing
	case anAnswer:
		w.seen = max(w.seen, f.at)
		w.reply(&w.reading[f.who])
	}
}

// reply is what the goroutine that reads does with an answer: it may have to ask
// once more. See [Read.Do].
func (w *world) reply(r *request) {
	there := w.versions[r.at].exists
	r.phase, r.armed = returned, unarmed
	switch kind := r.kind; {
	case !r.arm:
	case r.exists && there:
		w.lib[onData], r.armed = true, onData
		if kind != event.Presence {
			r.phase, r.exists = sent, false
		}
	case r.exists:
		w.lib[onExist], r.armed = true, onExist
	case !there && !r.untilDeleted:
		r.phase, r.exists = sent, true
	case !there:
	case kind == event.Children:
		w.lib[onChild], r.armed = true, onChild
	default:
		w.lib[onData], r.armed = true, onData
	}
}

// answer tells the loop what has become of a read.
func (w *world) answer(who int8) {
	r := w.reading[who]
	w.reading[who] = request{}
	in := input{kind: answered, read: r.Read}
	switch r.phase {
	case refusing:
		in.kind = refused
	case failing:
		in.kind = failed
	default:
		in.answer = &Answer{snap: w.snapshot(r.at), armed: r.armed}
	}
	w.tell(in, r.asked[:]...)
}

// someData stands for what is not worth keeping for nobody.
var someData = []byte("data")

// snapshot returns what a read in version v shows.
func (w *world) snapshot(v int8) event.Snapshot {
	if !w.versions[v].exists {
		return event.Snapshot{}
	}
	stat := event.Stat{Czxid: int64(w.versions[v].created), Mzxid: int64(v), Pzxid: int64(v)}
	return event.Snapshot{Exists: true, Stat: stat, Data: someData}
}

// shows reports whether s is what a read in version v shows, to a subscriber that follows
// what the rule says.
func (w *world) shows(v int8, s event.Snapshot) bool {
	return same(w.rule.key.kind, w.snapshot(v), unsuspended(s))
}

// disconnect loses what is under way because of a. A read that has been sent fails.
func (w *world) disconnect(a act) {
	w.connected = false
	w.data, w.child = false, false
	w.wire, w.wires = [maxWire]frame{}, 0
	w.rearm = rearming{}
	for i := range w.reading {
		unsent := (a.what == interrupts || a.what == outlives) && a.who == int8(i)
		if r := &w.reading[i]; r.phase == replied || r.phase == sent && !unsent && r.session == w.session {
			r.phase = failing
		}
	}
}
