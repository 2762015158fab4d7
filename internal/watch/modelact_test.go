package watch

import (
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
)

// What can happen.
type happening uint8

const (
	subscribes   happening = iota + 1 // a subscriber comes
	unsubscribes                      // a subscriber goes
	creates                           // somebody creates the znode, or changes it
	deletes                           // somebody deletes it
	begins                            // the loop has room for the read
	serves                            // the server works off the read
	declines                          // or refuses it
	errs                              // or answers with an error that is no refusal
	rearms                            // the server works off the SetWatches
	answersOther                      // and a read of another znode
	delivers                          // the client gets what is on the wire
	returns                           // the loop is told of an answer
	breaks                            // the connection breaks, and with it what has been sent
	interrupts                        // the connection breaks, and the read had not been sent
	mends                             // the connection is back
	expires                           // the session is over
	outlives                          // the session is over, and the read is made in the next
)

var happenings = [...]string{"start", "subscribe", "unsubscribe", "change", "delete", "begin", "serve", "refuse", "fail", "rearm",
	"serve another", "deliver", "return", "break", "break before it is sent", "reconnect", "expire", "expire before it is sent"}

// An act is one thing that happens.
type act struct {
	what happening
	who  int8
}

func (a act) String() string {
	return fmt.Sprint(happenings[a.what], " ", a.who)
}

// Enabled returns what can happen next.
func (w *world) Enabled() []act {
	acts := w.internal(nil)
	can := func(ok bool, what happening, who int8) {
		if ok {
			acts = append(acts, act{what, who})
		}
	}
	for i := range w.is {
		can(w.is[i].state == absent && (i == 0 || w.is[0].state != absent && !w.rule.alone), subscribes, int8(i))
		can(w.is[i].state == present && w.left.unsubscribe > 0, unsubscribes, int8(i))
	}
	room := w.left.change > 0 && w.wires < maxWire-2
	can(room, creates, 0)
	can(room && w.versions[w.now].exists, deletes, 0)
	can(w.connected && w.left.other > 0, answersOther, 0)
	can(w.connected && w.left.reset > 0, breaks, 0)
	can(w.left.expire > 0 && !w.over, expires, 0)
	for i := range w.reading {
		r := &w.reading[i]
		waits := r.Read != nil && r.phase == sent && r.session == w.session && !w.over
		can(waits && w.connected && w.left.refuse > 0, declines, int8(i))
		can(waits && w.connected && w.left.fail > 0, errs, int8(i))
		can(waits && w.connected && w.left.reset > 0, interrupts, int8(i))
		can(waits && w.left.expire > 0, outlives, int8(i))
	}
	return acts
}

// internal returns what happens sooner or later by itself.
func (w *world) internal(acts []act) []act {
	can := func(ok bool, what happening, who int) {
		if ok {
			acts = append(acts, act{what, int8(who)})
		}
	}
	can(w.live && w.e.state == queued && !w.e.down, begins, 0)
	for i := range w.reading {
		r := &w.reading[i]
		can(r.Read != nil && r.phase == sent && r.session == w.session && w.connected, serves, i)
		can(r.Read != nil && r.phase >= returned, returns, i)
	}
	can(w.rearm.sent && w.connected, rearms, 0)
	can(w.wires > 0, delivers, 0)
	can(!w.connected, mends, 0)
	return acts
}

// Do lets a happen, and returns what was wrong with that, if anything.
func (w *world) Do(a act) string {
	subs := make([]*subscription, 0, len(w.subs)) // those of w, and not of what it is a copy of
	for _, sub := range w.e.subs {
		subs = append(subs, &w.subs[slices.Index(names[:], sub.as)])
	}
	w.e.subs = subs
	w.do(a)
	return w.fault
}

// Stuck says what should still happen in a world in which nothing can: nothing, for
// Wrong sees a world that comes to rest, whatever more may happen in it.
func (w *world) Stuck() string { return "" }

// names are those of the subscribers.
var names = [...]string{"a", "b"}

func (w *world) do(a act) {
	switch a.what {
	case subscribes:
		is := &w.is[a.who]
		is.state, is.version = present, w.seen
		w.subs[a.who] = subscription{key: w.rule.key, as: names[a.who]}
		if !w.live {
			w.e, w.live = entry{key: w.rule.key, down: !w.connected}, true
		}
		w.tell(input{kind: subscribe, sub: &w.subs[a.who]})
	case unsubscribes:
		w.left.unsubscribe--
		w.is[a.who].state = left
		w.tell(input{kind: unsubscribe, sub: &w.subs[a.who]})
	case creates:
		w.left.change--
		if !w.versions[w.now].exists {
			w.change(version{true, w.now + 1}, zk.EventNodeCreated)
		} else if w.rule.key.kind == event.Children {
			w.change(w.versions[w.now], zk.EventNodeChildrenChanged)
		} else {
			w.change(w.versions[w.now], zk.EventNodeDataChanged)
		}
	case deletes:
		w.left.change--
		w.change(version{}, zk.EventNodeDeleted)
	case begins:
		w.tell(input{kind: begin})
		if w.live && w.e.state == queued {
			w.fault = "a read that is due does not begin"
		}
	case serves:
		w.serve(a.who)
	case declines:
		w.left.refuse--
		w.reading[a.who].phase = replied
		w.send(frame{kind: aRefusal, who: a.who})
	case errs:
		w.left.fail--
		w.reading[a.who].phase = failing
	case rearms:
		w.rearmAll()
	case answersOther:
		w.left.other--
		w.send(frame{kind: otherAnswer, at: w.now})
	case delivers:
		f := w.wire[0]
		copy(w.wire[:], w.wire[1:w.wires])
		w.wires--
		w.wire[w.wires] = frame{}
		w.deliver(f)
	case returns:
		w.answer(a.who)
	case breaks, interrupts:
		w.left.reset--
		w.disconnect(a)
		w.tell(input{kind: suspended})
	case mends:
		w.connected = true
		if w.over {
			w.over, w.session = false, w.session+1
			w.tell(input{kind: resumed, newSession: true})
			return
		}
		if w.lib != (tables{}) {
			w.rearm = rearming{true, w.seen, w.lib}
		}
		w.tell(input{kind: resumed})
	case expires, outlives:
		w.left.expire--
		w.disconnect(a)
		for i := range w.reading {
			if r := &w.reading[i]; a == (act{outlives, int8(i)}) {
				r.session++
			} else if r.phase == sent {
				r.phase = failing
			}
		}
		w.over = true
		w.lib = tables{}
		w.tell(input{kind: suspended})
	}
}

// tell gives in to the entry and does what it wants done. If in is an answer,
// asked are those who were there when it was asked for.
func (w *world) tell(in input, asked ...bool) {
	if !w.live {
		return
	}
	var do actions
	w.step(&w.e, in, &do)
	for _, a := range do {
		who := 0
		for i := range w.subs {
			if a.sub == &w.subs[i] {
				who = i
			}
		}
		is := &w.is[who]
		switch a.verb {
		case enqueue:
		case read:
			w.ask(a.read)
		case forget:
			if w.e.watch != unarmed {
				w.fault = "forgotten with an armed watch"
			}
			w.live, w.e = false, entry{}
		case deliver:
			w.given(is, a.snap)
		case tellUpToDate:
			w.told(is, a.upToDate)
		case end:
			if !asked[who] {
				w.fault = "ended by a refusal of what had been asked for before it came"
			}
			is.state = ended
		}
	}
}

// ask begins a read.
func (w *world) ask(r *Read) {
	w.reads++
	if int(w.reads) > w.rule.mostReads() {
		w.fault = "reads without end"
	}
	if len(w.e.subs) == 0 {
		w.fault = "reads for nobody"
	}
	if r.arm != (w.e.watch == unarmed) {
		w.fault = "arms what is armed, or does not arm what is not"
	}
	i := slices.IndexFunc(w.reading[:], func(r request) bool { return r.Read == nil })
	if i < 0 {
		w.fault = "four reads at a time"
		return
	}
	for _, other := range w.reading {
		if other.Read != nil && other.arm && r.arm && other.began == w.session {
			w.fault = "two arm at a time"
		}
	}
	w.reading[i] = request{Read: r, phase: sent, exists: r.kind == event.Presence, session: w.session, began: w.session}
	for n := range w.is {
		w.reading[i].asked[n] = w.is[n].state == present
	}
}
