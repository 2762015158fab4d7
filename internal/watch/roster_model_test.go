package watch

import (
	"fmt"
	"math/bits"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
)

// A dirWorld is everything that can differ between two states of the second walk: a server
// with a directory, of which some children may not be read; a connection that can break;
// a server that may tell of less than it should; and an entry that follows the children.
type dirWorld struct {
	step func(*entry, input, *actions)
	left dirBudget

	history   [maxMoments]offspring // what the children were, after each change
	now       int8                  // the number of changes
	net, tree bool                  // the watch on the children is armed, and the recursive one
	connected bool

	wire  [maxWire]dirFrame // on its way to the client
	wires int8

	lib     bool // the client has the watch on its list
	seen    int8 // the newest moment that an answer has told it of
	read    *Read
	phase   phase
	at      int8 // the moment that was read
	e       entry
	sub     subscription
	shown   int8 // the moment that the subscriber has
	any     bool // it has one
	current bool // it is told that it is up to date
	reads   int8
	fault   string
}

const maxMoments = 7

type dirBudget struct{ change, hidden, reset, deaf, other int8 }

// offspring is a set of the names below, by bits. The last may not be read.
type offspring uint8

var childNames = [...]string{"a", "b", "h"}

func (c offspring) names() (names []string) {
	for i, name := range childNames {
		if c&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

type dirFrame struct {
	kind dirFrameKind
	child,
	at int8
	left bool
}

type dirFrameKind uint8

const (
	childEvent dirFrameKind = iota + 1
	childrenEvent
	dirAnswer
	dirRearmed
	dirOther
)

// A dirAct is one thing that happens.
type dirAct struct {
	what  happening
	child int8
}

const goesDeaf = outlives + 1 // the server no longer tells of what is below

func (a dirAct) String() string {
	if a.what == goesDeaf {
		return "the server tells no more"
	}
	return fmt.Sprint(happenings[a.what], " ", a.child)
}

func newDirWorld(left dirBudget, step func(*entry, input, *actions)) dirWorld {
	w := dirWorld{step: step, left: left, connected: true, tree: true}
	w.history[0] = 1
	w.sub = subscription{key: children, as: "/a"}
	w.e = entry{key: children}
	return w
}

func (w *dirWorld) Enabled() []dirAct {
	acts := w.internal()
	can := func(ok bool, what happening, child int8) {
		if ok {
			acts = append(acts, dirAct{what, child})
		}
	}
	can(len(w.e.subs) == 0, subscribes, 0)
	room := w.wires < maxWire-2
	can(room && w.left.change > 0, creates, 0)
	can(room && w.left.change > 0, creates, 1)
	can(room && w.left.hidden > 0, creates, 2)
	can(room && w.connected && w.left.other > 0, answersOther, 0)
	can(w.connected && w.left.reset > 0, breaks, 0)
	can(w.tree && w.left.deaf > 0, goesDeaf, 0)
	return acts
}

func (w *dirWorld) internal() (acts []dirAct) {
	can := func(ok bool, what happening) {
		if ok {
			acts = append(acts, dirAct{what, 0})
		}
	}
	can(w.e.state == queued && !w.e.down, begins)
	can(w.read != nil && w.phase == sent && w.connected, serves)
	can(w.read != nil && w.phase >= returned, returns)
	can(w.wires > 0, delivers)
	can(!w.connected, mends)
	return acts
}

func (w *dirWorld) Stuck() string { return "" }

func (w *dirWorld) send(f dirFrame) {
	w.wire[w.wires] = f
	w.wires++
}

func (w *dirWorld) Do(a dirAct) string {
	if len(w.e.subs) > 0 { // of w, and not of what it is a copy of
		w.e.subs = []*subscription{&w.sub}
	}
	w.e.roster.told = append([]coming(nil), w.e.roster.told...)
	switch a.what {
	case subscribes:
		w.tell(input{kind: subscribe, sub: &w.sub})
	case creates: // or deletes
		if a.child == 2 {
			w.left.hidden--
		} else {
			w.left.change--
		}
		w.now++
		w.history[w.now] = w.history[w.now-1] ^ 1<<a.child
		if w.tree && a.child != 2 {
			w.send(dirFrame{kind: childEvent, child: a.child, left: w.history[w.now]&(1<<a.child) == 0})
		}
		if w.net {
			w.net = false
			w.send(dirFrame{kind: childrenEvent})
		}
	case goesDeaf:
		w.left.deaf--
		w.tree = false
	case begins:
		w.tell(input{kind: begin, told: true})
	case serves:
		w.net = w.net || w.read.arm
		w.phase, w.at = responding, w.now
		w.send(dirFrame{kind: dirAnswer, at: w.now})
	case answersOther:
		w.left.other--
		w.send(dirFrame{kind: dirOther, at: w.now})
	case returns:
		read, phase := w.read, w.phase
		w.read = nil
		if phase == failing {
			w.tell(input{kind: failed, read: read})
			break
		}
		answer := &Answer{snap: w.snapshot(w.at), brief: read.brief}
		if read.arm {
			answer.armed = onChild
		}
		if read.brief {
			answer.snap.Children = nil
		}
		w.tell(input{kind: answered, read: read, answer: answer})
	case breaks:
		w.left.reset--
		w.connected, w.net, w.tree = false, false, false
		w.wire, w.wires = [maxWire]dirFrame{}, 0
		if w.read != nil && w.phase < returned {
			w.phase = failing
		}
		w.tell(input{kind: suspended})
	case mends:
		w.connected, w.tree = true, true
		if w.lib {
			if w.now > w.seen {
				w.send(dirFrame{kind: childrenEvent})
			} else {
				w.net = true
			}
			w.send(dirFrame{kind: dirRearmed})
		}
		w.tell(input{kind: resumed})
	case delivers:
		f := w.wire[0]
		copy(w.wire[:], w.wire[1:w.wires])
		w.wires--
		w.wire[w.wires] = dirFrame{}
		w.deliver(f)
	}
	return w.fault
}

// responding is the phase in which the answer is on its way.
const responding = replied

func (w *dirWorld) deliver(f dirFrame) {
	switch f.kind {
	case childEvent:
		w.tell(input{kind: came, coming: coming{childNames[f.child], f.left}})
	case childrenEvent:
		w.lib = false
		w.tell(input{kind: fired, event: zk.EventNodeChildrenChanged})
	case dirOther:
		w.seen = max(w.seen, f.at)
	case dirRearmed:
		w.tell(input{kind: rearmed, watch: onChild})
	case dirAnswer:
		w.seen = max(w.seen, f.at)
		w.lib = w.lib || w.read.arm
		w.phase = returned
		w.tell(input{kind: responded, read: w.read})
	}
}

func (w *dirWorld) snapshot(at int8) event.Snapshot {
	c := w.history[at]
	return event.Snapshot{Exists: true, Children: c.names(), Stat: event.Stat{
		Czxid: 1, Pzxid: int64(at), Cversion: int32(at), NumChildren: int32(bits.OnesCount8(uint8(c)))}}
}

func (w *dirWorld) tell(in input) {
	var do actions
	w.step(&w.e, in, &do)
	for _, a := range do {
		switch a.verb {
		case read:
			if w.reads++; w.reads > 20 {
				w.fault = "reads without end"
			}
			w.read, w.phase = a.read, sent
		case deliver:
			at := int8(a.snap.Cversion)
			switch {
			case at < w.shown:
				w.fault = "goes back"
			case fmt.Sprint(a.snap.Children) != fmt.Sprint(w.history[at].names()):
				w.fault = fmt.Sprintf("%v after %d changes, and there were %v", a.snap.Children, at, w.history[at].names())
			case w.current:
				w.fault = "something new while it was up to date"
			}
			w.shown, w.any = at, true
		case tellUpToDate:
			w.current = a.upToDate
		case forget: // nobody has come yet
			w.e = entry{key: children, down: !w.connected}
		case end:
			w.fault = "ended"
		}
	}
}

func (w *dirWorld) Wrong() string {
	rest := len(w.internal()) == 0
	switch {
	case w.current && w.shown < w.seen:
		return "up to date, and has not what has been announced"
	case rest && len(w.e.subs) > 0 && (!w.any || w.shown != w.now):
		return "at rest, and has not what is"
	case rest && len(w.e.subs) > 0 && !w.current:
		return "at rest, and not up to date"
	}
	return ""
}
