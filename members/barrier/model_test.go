package barrier

import (
	"errors"
	"slices"
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

// listing is the directory as it is.
func (w *world) listing() barrier {
	b := barrier{version: int32(w.version), open: w.ready}
	for k, n := range w.nodes {
		if n.czxid != 0 {
			b.members = append(b.members, ids[k])
		}
	}
	return b
}

// serve carries out the request of client i.
func (w *world) serve(i int) input {
	c := &w.clients[i]
	k := w.slot(i)
	switch o := c.req; o.action {
	case list:
		b := w.listing()
		if len(b.members) < o.n {
			b = barrier{version: b.version, few: true}
		}
		return input{kind: listed, barrier: b}
	case create:
		switch n := w.nodes[k]; {
		case o.version != int32(w.version):
			return input{kind: changed}
		case n.czxid != 0 && int(n.owner) == i && !c.left:
			w.fault = "creates its znode twice"
		case n.czxid != 0:
			return input{kind: taken, err: errTaken}
		case w.ready:
			w.fault = "enters a round that is open"
		}
		w.zxid++
		w.nodes[k] = node{czxid: w.zxid, owner: int8(i)}
		w.guards[i] = w.zxid
		return input{kind: created, token: int64(w.zxid)}
	case check:
		if w.guards[i] != 0 {
			return input{kind: created, token: int64(w.guards[i])}
		}
		return input{kind: changed}
	case open:
		here := w.listing()
		for _, id := range append(slices.Clone(o.members), c.m.id) {
			if !slices.Contains(here.members, id) {
				return input{kind: changed}
			}
		}
		switch {
		case o.version != here.version || here.open:
			return input{kind: changed}
		case len(here.members) < w.rule.n:
			w.fault = "opens a round with too few"
		}
		w.version++
		w.ready = true
		w.rounds++
		for j := range w.nodes {
			w.nodes[j].round = w.rounds
		}
		for j := range w.rule.many {
			if w.own(j) != 0 {
				w.clients[j].owed = w.rounds
			}
		}
		w.fire(func(c *client) *followedNode { return &c.ready }, func(*client) bool { return true }, sent, false)
		return input{kind: opened}
	case remove:
		switch {
		case w.guards[i] == 0:
			return input{kind: removed}
		case w.own(i) == 0, !o.last:
			w.guards[i] = 0
			w.unlink(k, int8(i))
			return input{kind: removed}
		case !w.ready || o.version != int32(w.version):
			w.guards[i] = 0
			w.unlink(k, int8(i))
			return input{kind: removed}
		}
		w.guards[i] = 0
		w.unlink(k, int8(i))
		w.end()
		return input{kind: closed}
	case clear:
		if w.ready && o.version == int32(w.version) {
			w.end()
		}
		return input{kind: changed}
	}
	panic("no such request")
}

// own returns the transaction that has made the znode of client i, zero if it is gone.
func (w *world) own(i int) int8 {
	if n := w.nodes[w.slot(i)]; int(n.owner) == i {
		return n.czxid
	}
	return 0
}

// end removes ready.
func (w *world) end() {
	if len(w.listing().members) > 0 {
		w.fault = "ends a round that somebody is in"
	}
	w.version++
	w.ready = false
}

// unlink removes the znode of an ID, if it is that of client i.
func (w *world) unlink(k int, i int8) {
	n := w.nodes[k]
	if n.czxid == 0 || n.owner != i {
		return
	}
	w.nodes[k] = node{}
	w.fire(func(c *client) *followedNode { return &c.self }, func(c *client) bool { return c == &w.clients[i] }, idle, true)
	w.fire(func(c *client) *followedNode { return &c.ahead }, func(c *client) bool { return c.m.ahead == ids[k] }, idle, true)
}

// fire fires the watches on a znode. With word, the driver is told at once what has
// happened, and otherwise its loop reads again.
func (w *world) fire(of func(*client) *followedNode, on func(*client) bool, then phase, word bool) {
	for j := range w.clients {
		c := &w.clients[j]
		f := of(c)
		if f.phase != answered || !c.up || !on(c) {
			continue
		}
		f.phase = then
		if word {
			f.due, f.word = true, left
			if f == &c.self {
				f.word = gone
			}
		}
	}
}

// read reads the znode that client i follows, and arms the watch.
func (w *world) read(i int, which int8) {
	c := &w.clients[i]
	f := c.stream(which)
	f.phase = answered
	switch which {
	case ofSelf:
		f.due, f.word = true, confirmed
		if int64(w.own(i)) != c.m.token {
			f.phase, f.word = idle, gone
		}
	case ofReady:
		if w.ready {
			f.phase, f.due, f.word = idle, true, opened
		}
	case ofAhead:
		n := w.nodes[slices.Index(ids[:], c.m.ahead)]
		switch {
		case n.czxid == 0, f.czxid != 0 && n.czxid != f.czxid:
			f.phase, f.due, f.word = idle, true, left
		case f.czxid == 0:
			f.czxid, f.due, f.word = n.czxid, true, followed
		}
	}
}

const (
	ofSelf int8 = iota
	ofReady
	ofAhead
)

func (c *client) stream(which int8) *followedNode {
	return [...]*followedNode{&c.self, &c.ready, &c.ahead}[which]
}
