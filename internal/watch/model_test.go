package watch

import (
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
)

// A world is everything that can differ between two states of the walk: a server
// with one znode, a connection to it that can break, the client library with its
// record of watches, an entry, and two subscribers. It is copied by assignment.
type world struct {
	rule *rule
	step func(*entry, input, *actions)
	left budget

	// The server. The znode's history is that of its versions, each as old as the
	// transaction that made it; the last one is how it is now.
	versions  [maxVersions]version
	now       int8
	data      bool // a watch is armed, by getData or exists
	child     bool // and one by getChildren
	connected bool

	// What is under way from the server, in order. It is lost with the connection.
	wire  [maxWire]frame
	wires int8

	// The client library: the watches that it knows of, the newest transaction that
	// an answer has told it of, and what it asks for.
	lib     watches
	seen    int8
	rearm   rearming
	read    request
	session int8
	over    bool // the session is, and the next has not begun

	e    entry
	live bool // there is an entry
	subs [2]subscription
	is   [2]subscriber

	reads int8
	fault string
}

const (
	maxVersions = 8
	maxWire     = 8
)

// A version is one state of the znode.
type version struct {
	exists  bool
	created int8 // the version that its creation made
}

// A budget says how much of each kind may still happen.
type budget struct {
	change, reset, expire, refuse, other, unsubscribe int8
}

// A frame is an event or an answer on its way to the client.
type frame struct {
	kind  frameKind
	event zk.EventType
	at    int8 // the version in which an answer was given

	watches watches // that have been taken over
}

// watches are those that are armed, or believed to be.
type watches [onChild + 1]bool

type frameKind uint8

const (
	anEvent frameKind = iota + 1
	anAnswer
	aRefusal
	rearmedAll
	otherAnswer
)

// A rearming is a SetWatches.
type rearming struct {
	sent    bool
	seen    int8
	watches watches
}

// A request is the read that the entry has asked for.
type request struct {
	phase   phase
	arm     bool
	exists  bool // it is being asked whether the znode is there
	session int8
	at      int8  // the version that was read
	armed   watch // what the read has armed
}

type phase uint8

const (
	none     phase = iota
	sent           // on its way to the server, or not sent yet
	replied        // the answer is on its way
	returned       // the answer is with the goroutine that asked
	refusing       // a refusal is
	failing        // it is with that goroutine that there is none
)

// A subscriber is what the walk keeps of a subscription.
type subscriber struct {
	state   subscriberState
	version int8 // the newest one that what it has may be; before it has anything, the oldest that it may get
	last    event.Snapshot
	has     bool
	told    bool // that it is up to date
}

type subscriberState uint8

const (
	absent subscriberState = iota
	present
	left
	ended
)

func newWorld(r *rule, step func(*entry, input, *actions)) *world {
	w := &world{rule: r, step: step, left: r.budget, connected: true}
	w.versions[0] = version{exists: r.exists}
	return w
}

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
	rearms                            // the server works off the SetWatches
	answersOther                      // and a read of another znode
	delivers                          // the client gets what is on the wire
	returns                           // the loop is told of an answer
	breaks                            // the connection breaks, and with it what has been sent
	interrupts                        // the connection breaks, and the read had not been sent
	mends                             // the connection is back
	expires                           // the session is over
)

var happenings = [...]string{"start", "subscribe", "unsubscribe", "change", "delete", "begin", "serve", "refuse", "rearm",
	"serve another", "deliver", "return", "break", "break before it is sent", "reconnect", "expire"}

// An act is one thing that happens.
type act struct {
	what happening
	who  int8
}

func (a act) String() string {
	if a.what == subscribes || a.what == unsubscribes {
		return fmt.Sprint(happenings[a.what], " ", a.who)
	}
	return happenings[a.what]
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
		can(w.is[i].state == absent && (i == 0 || w.is[0].state != absent), subscribes, int8(i))
		can(w.is[i].state == present && w.left.unsubscribe > 0, unsubscribes, int8(i))
	}
	room := w.left.change > 0 && w.wires < maxWire-2
	can(room, creates, 0)
	can(room && w.versions[w.now].exists, deletes, 0)
	can(w.read.phase == sent && w.ours() && w.connected && w.left.refuse > 0, declines, 0)
	can(w.connected && w.left.other > 0, answersOther, 0)
	can(w.connected && w.left.reset > 0, breaks, 0)
	can(w.connected && w.left.reset > 0 && w.read.phase == sent && w.ours(), interrupts, 0)
	can(w.left.expire > 0 && !w.over, expires, 0)
	return acts
}

// internal returns what happens sooner or later by itself.
func (w *world) internal(acts []act) []act {
	can := func(ok bool, what happening) {
		if ok {
			acts = append(acts, act{what, 0})
		}
	}
	can(w.live && w.e.state == queued, begins)
	can(w.read.phase == sent && w.ours() && w.connected, serves)
	can(w.rearm.sent && w.connected, rearms)
	can(w.wires > 0, delivers)
	can(w.read.phase >= returned, returns)
	can(!w.connected, mends)
	return acts
}

// ours reports whether the read is one of this session.
func (w *world) ours() bool { return w.read.session == w.session && !w.over }

// After returns the world in which a has happened.
func (w *world) After(a act) *world {
	after := w.clone()
	after.do(a)
	return after
}

func (w *world) clone() *world {
	c := *w
	c.e.subs = nil
	for _, sub := range w.e.subs {
		for i := range w.subs {
			if sub == &w.subs[i] {
				c.e.subs = append(c.e.subs, &c.subs[i])
			}
		}
	}
	return &c
}

func (w *world) do(a act) {
	switch a.what {
	case subscribes:
		is := &w.is[a.who]
		is.state, is.version = present, w.seen
		w.subs[a.who].key = w.rule.key
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
	case serves:
		w.serve()
	case declines:
		w.left.refuse--
		w.read.phase = replied
		w.send(frame{kind: aRefusal})
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
		w.answer()
	case breaks, interrupts:
		w.left.reset--
		w.disconnect(a.what == interrupts)
		w.tell(input{kind: suspend})
	case mends:
		w.connected = true
		if w.over {
			w.over, w.session = false, w.session+1
			w.tell(input{kind: resume, newSession: true})
			return
		}
		if w.lib != (watches{}) {
			w.rearm = rearming{true, w.seen, w.lib}
		}
		w.tell(input{kind: resume})
	case expires:
		w.left.expire--
		w.disconnect(false)
		if w.read.phase == sent {
			w.read.phase = failing
		}
		w.over = true
		w.lib = watches{}
		w.tell(input{kind: suspend})
	}
}

// disconnect loses what is under way. A read that has been sent fails.
func (w *world) disconnect(unsent bool) {
	w.connected = false
	w.data, w.child = false, false
	w.wire, w.wires = [maxWire]frame{}, 0
	w.rearm = rearming{}
	if (w.read.phase == sent && !unsent || w.read.phase == replied) && w.ours() {
		w.read.phase = failing
	}
}

// tell gives in to the entry and does what it wants done.
func (w *world) tell(in input) {
	if !w.live {
		return
	}
	var do actions
	w.step(&w.e, in, &do)
	for _, a := range do {
		var is *subscriber
		for i := range w.subs {
			if a.sub == &w.subs[i] {
				is = &w.is[i]
			}
		}
		switch a.verb {
		case enqueue:
		case read:
			if w.read.phase != none {
				w.fault = "two reads at a time"
				return
			}
			w.reads++
			w.read = request{phase: sent, arm: a.arm, exists: w.rule.key.kind == event.Presence, session: w.session}
			if w.over {
				w.read.session++
			}
		case publish:
			w.published(is, a.snap)
		case tellUpToDate:
			is.told = a.upToDate
		case end:
			is.state = ended
		case forget:
			w.live, w.e = false, entry{}
		}
	}
}
