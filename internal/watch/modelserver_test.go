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

// serve works off the read.
func (w *world) serve() {
	r := &w.read
	there := w.versions[w.now].exists
	if r.arm {
		switch {
		case r.exists:
			w.data = true
		case there && w.rule.key.kind == event.Children:
			w.child = true
		case there:
			w.data = true
		}
	}
	r.phase, r.at = replied, w.now
	w.send(frame{kind: anAnswer, at: w.now})
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
		w.tell(input{kind: fired, event: f.event})
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
		w.read.phase = refusing
	case anAnswer:
		w.seen = max(w.seen, f.at)
		w.reply()
	}
}

// reply is what the goroutine that reads does with the answer: it may have to ask
// once more. It is what [readRequest.read] does.
func (w *world) reply() {
	r := &w.read
	there := w.versions[r.at].exists
	r.phase, r.armed = returned, unarmed
	switch kind := w.rule.key.kind; {
	case !r.arm:
	case r.exists && there:
		w.lib[onData], r.armed = true, onData
		if kind != event.Presence {
			r.phase, r.exists = sent, false
		}
	case r.exists:
		w.lib[onExist], r.armed = true, onExist
	case !there && !w.rule.key.untilDeleted:
		r.phase, r.exists = sent, true
	case !there:
	case kind == event.Children:
		w.lib[onChild], r.armed = true, onChild
	default:
		w.lib[onData], r.armed = true, onData
	}
}

// answer tells the loop what has become of the read.
func (w *world) answer() {
	r := w.read
	w.read = request{}
	switch r.phase {
	case refusing:
		w.tell(input{kind: refused})
	case failing:
		w.tell(input{kind: failed})
	default:
		w.tell(input{kind: answered, watch: r.armed, snap: w.snapshot(r.at)})
	}
}

// snapshot returns what a read in version v shows.
func (w *world) snapshot(v int8) event.Snapshot {
	if !w.versions[v].exists {
		return event.Snapshot{}
	}
	stat := zk.Stat{Czxid: int64(w.versions[v].created), Mzxid: int64(v), Pzxid: int64(v)}
	return event.Snapshot{Exists: true, Stat: stat}
}

// shows reports whether s is what a read in version v shows, to one who follows
// what the rule says.
func (w *world) shows(v int8, s event.Snapshot) bool {
	return same(w.rule.key.kind, w.snapshot(v), unsuspended(s))
}
