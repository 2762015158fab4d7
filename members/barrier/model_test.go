package barrier

import (
	"errors"
)

// Errors of the model: what the owners, the servers and the driver give.
var (
	errCanceled = errors.New("canceled")
	errReleased = errors.New("released")
	errExpired  = errors.New("expired")
	errDeleted  = errors.New("deleted")
	errTaken    = errors.New("taken")
	errDenied   = errors.New("denied")

	modelErrors = []error{nil, errCanceled, errReleased, errExpired, errDeleted, errTaken, errDenied}
)

// A node is the znode of a member in the model.
type node struct {
	czxid int8 // zero: it is not there
	owner int8 // the client
	round int8 // of those that were opened, while it was there
}

// A budget says how many events of each kind a world still has in store.
type budget struct{ loss, cancel, expire, delete, refuse int8 }

// A rule is one world to be walked through to the end.
type rule struct {
	name   string
	n      int    // how many open a round
	differ bool   // the first client wants one more
	many   int    // clients
	rounds int8   // how often each enters
	twice  int8   // so many of them, the first ones, enter once more
	same   bool   // the last two have one ID
	relic  bool   // a round is open that nobody is in
	patent bool   // nobody cancels or dies, and so nobody is left waiting
	budget budget // the events in it, in every distribution over it
	deep   bool   // too large for every day
}

// A world is everything that can differ between two states.
type world struct {
	rule    *rule
	step    func(*machine, input) op
	version int8
	ready   bool
	nodes   [3]node // by ID
	guards  [3]int8 // by client: the transaction that has made it, zero if it is not there
	zxid    int8
	rounds  int8 // that were opened
	budget  budget
	clients [3]client
	fault   string
}

// phase says how far a request is, or how a znode is followed.
type phase uint8

const (
	idle phase = iota
	sent
	answered // followed: the watch is armed
)

// A followedNode is a stream of the driver.
type followedNode struct {
	phase phase
	czxid int8 // of the znode that was seen first
	due   bool // there is a word
	word  kind
}

// A client is one machine with its driver, its link and its session.
type client struct {
	m     machine
	born  int8 // how often it has entered
	up    bool // the link
	over  bool // the session, as the client knows
	ended bool // the session, as the servers know

	phase phase // of the request in flight
	req   op
	reply input
	asks  int8

	self, ready, ahead followedNode

	owed    int8 // the round that was opened while it was in
	round   int8 // in which it was let in
	left    bool // an operator has deleted its znode, or the servers have refused something
	granted bool
	quit    bool
}

var ids = [...]string{"a", "b", "c"}

// slot returns the index of the ID of client i.
func (w *world) slot(i int) int {
	if w.rule.same && i == w.rule.many-1 {
		return i - 1
	}
	return i
}

func newWorld(r *rule, step func(*machine, input) op) world {
	w := world{rule: r, step: step, budget: r.budget}
	if r.relic {
		w.ready, w.version, w.rounds = true, 1, 1
	}
	for i := range r.many {
		w.enter(i)
	}
	return w
}

// enter has client i enter, perhaps again.
func (w *world) enter(i int) {
	n := w.rule.n
	if w.rule.differ && i == 0 {
		n++
	}
	w.clients[i] = client{
		m:     machine{id: ids[w.slot(i)], n: n, lost: errDeleted},
		born:  w.clients[i].born + 1,
		left:  w.clients[i].left,
		up:    true,
		phase: sent,
		req:   op{action: list},
	}
}
