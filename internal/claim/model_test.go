package claim

import "errors"

// Errors of the model: what the owners, the server and the driver give.
var (
	errCanceled = errors.New("canceled")
	errReleased = errors.New("released")
	errExpired  = errors.New("expired")
	errDenied   = errors.New("permission denied")
	errTaken    = errors.New("taken")

	modelCauses = causes{deleted: errors.New("deleted"), revoked: errors.New("revoked")}
	modelErrors = []error{nil, errCanceled, errReleased, errExpired, errDenied, errTaken, modelCauses.deleted, modelCauses.revoked}
)

// Whose a node of the model is: a client's, by its number, or
const (
	past     int8 = 4 // and more: of that client's last session
	stranger int8 = 8 // another program's, or nobody's
)

// A node is a znode of the model.
type node struct {
	czxid   int8 // zero: it is not there
	version int8
	owner   int8 // its session
	claim   int8 // whose claim has made it, where clients share a session
	guard   int8 // of a guard: its name
	data    int8
	marked  bool
}

// A budget says how many events of each kind a world still has in store.
type budget struct {
	loss, cancel, expire, delete, snatch, meddle, mark, refuse, keep, intrude, fresh int8
}

// A rule is one world to be walked through to the end.
type rule struct {
	name    string
	n       int    // clients
	bare    int    // so many of them, the last ones, have no guard
	strict  bool   // they are locks
	try     int    // so many of them, the last ones, will not wait
	one     bool   // they share a session
	former  bool   // the last session of client 0 has left its znodes
	foreign bool   // another program's znode is at the path, and leaves some time
	noDir   bool   // there is no directory for guards
	budget  budget // the events in it, in every distribution over it
	deep    bool   // too large for every day
}

// most is how many requests a claim needs at most: its entry and its end and,
// for all that can happen on the way, another entry.
func (r *rule) most() int {
	b := r.budget
	return 8 + 6*(r.n-1) + 6*int(b.loss+b.delete+b.snatch+b.meddle+b.refuse+b.keep+b.intrude+b.fresh+b.mark+b.cancel+b.expire)
}

// A world is everything that can differ between two states.
type world struct {
	rule    *rule
	step    func(*machine, input) op
	path    node
	guards  [6]node
	zxid    int8
	names   int8 // of guards, given out
	budget  budget
	clients [3]client
	fault   string
}

// phase says how far a request is, or how a node is followed.
type phase uint8

const (
	idle phase = iota
	sent
	answered
)

// A client is one machine with its driver, its link and its session.
type client struct {
	m       machine
	touched bool
	up      bool // the link
	over    bool // the session, as the client knows
	ended   bool // the session, as the server knows
	lags    bool // its server has not seen the client's own create yet

	phase phase // of the request in flight
	req   op
	reply input
	asks  int8 // requests so far
	own   int8 // the name of our guard

	follows phase // sent: asked for the node; answered: a watch on it is armed
	at      int8  // the czxid of the node that is followed
	words   [4]kind
	nword   int8

	newest, sent, acked int8 // data: as the owner wants them, as in the request, and as known to be there; -1: not known

	quit     bool // was heard
	told     bool // that its node is gone
	warned   bool // that it shall give way
	harmed   bool // an operator has removed something of it
	tainted  bool // a refusal lets guards of earlier holders be, or something of its own
	detained bool // its own guard may not be removed
}

func newWorld(r *rule, step func(*machine, input) op) world {
	w := world{rule: r, step: step, budget: r.budget}
	if r.former {
		w.names++
		w.zxid++
		w.path = node{czxid: w.zxid, version: 1, owner: past, claim: past}
		w.guards[0] = node{czxid: w.zxid, owner: past, claim: past, guard: w.names}
	}
	if r.foreign {
		w.zxid++
		w.path = node{czxid: w.zxid, owner: stranger, claim: stranger}
	}
	for i := range r.n {
		w.names++
		w.clients[i] = client{
			m:     machine{guarded: i < r.n-r.bare, strict: r.strict, wait: i < r.n-r.try, causes: modelCauses},
			up:    true,
			phase: sent,
			req:   op{action: create},
			own:   w.names,
			acked: -1,
		}
	}
	return w
}

// session returns the session of client i.
func (w *world) session(i int8) int8 {
	if w.rule.one {
		return 0
	}
	return i
}
