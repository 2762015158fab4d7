package watch

import (
	"github.com/go-zookeeper/zk"
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
	lib     tables
	seen    int8
	rearm   rearming
	reading [3]request // the read under way, and those that are void
	session int8       // the number of the session
	over    bool       // the session is, and the next has not begun

	e    entry
	live bool // there is an entry
	subs [2]subscription
	is   [2]subscriber // what the walk keeps of them

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
	change, reset, expire, refuse, fail, other, unsubscribe int8
}

// A frame is an event or an answer on its way to the client.
type frame struct {
	kind  frameKind
	who   int8 // whose answer it is
	event zk.EventType
	at    int8 // the version in which an answer was given

	watches tables // that have been taken over
}

// tables are those that are armed, or believed to be.
type tables [onChild + 1]bool

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
	watches tables
}

// A request is a read that the entry has asked for.
type request struct {
	*Read           // nil if there is none
	asked   [2]bool // by whom
	phase   phase
	exists  bool  // it is being asked whether the znode is there
	session int8  // in which it is made
	began   int8  // the session in which the entry asked for it
	at      int8  // the version that was read
	armed   watch // what has been armed for it
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
	version int8 // what it has, at the earliest; before it has anything, the oldest that it may get
	has     bool
	down    bool // what it has says suspended
	told    bool // that it is up to date
}

type subscriberState uint8

const (
	absent subscriberState = iota
	present
	left
	ended
)

func newWorld(r *rule, step func(*entry, input, *actions)) world {
	w := world{rule: r, step: step, left: r.budget, connected: true}
	w.versions[0] = version{exists: r.exists}
	return w
}
