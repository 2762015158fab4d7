package queue

import (
	"errors"
	"slices"
)

// Errors of the model: what the owners, the server and the driver give.
var (
	errCanceled = errors.New("canceled")
	errReleased = errors.New("released")
	errExpired  = errors.New("expired")
	errDenied   = errors.New("permission denied")

	modelCauses = causes{
		deleted:   errors.New("deleted"),
		revoked:   errors.New("revoked"),
		locked:    errors.New("locked"),
		exhausted: errors.New("exhausted"),
		foreign:   func(string) error { return errForeignModel },
	}
	errForeignModel = errors.New("foreign")
	modelErrors     = []error{
		nil, errCanceled, errReleased, errExpired, errDenied,
		modelCauses.deleted, modelCauses.revoked, modelCauses.locked, modelCauses.exhausted, errForeignModel,
	}
)

// Contender 0 has the last id of all as text, so that an order by text is
// wrong as soon as 0 is not the last.
var modelIDs = [3]string{
	"c0000000-0000-4000-8000-000000000000",
	"b0000000-0000-4000-8000-000000000000",
	"a0000000-0000-4000-8000-000000000000",
}

const foreigner = 3 // owns the node of a client not ours

// A znode is a child of the lock directory.
type znode struct {
	name   string
	owner  int8
	token  int64
	marked bool
}

// A budget says how many faults of each kind a world still has in store.
type budget struct {
	loss, cancel, expire, delete, mark, refuse, reap, share int8
}

// A world is everything that can differ between two states. It is copied by
// assignment: slices in it are never written to once shared.
type world struct {
	rule    *rule
	step    func(*machine, input) action
	names   map[string]byte // numbers for the keys, the same for all worlds of a walk
	nodes   [6]znode
	n       int8
	next    int32 // number of the next node
	zxid    int64 // token of the last node
	granted int64 // the greatest token granted
	written int64 // the greatest token granted to a holder that is alone
	budget  budget
	clients [3]client
	batons  [3]bool // those of the clients that are there
	fault   string
}

// A client is one machine with its driver, its link and its session.
type client struct {
	m       machine
	touched bool
	up      bool // the link
	over    bool // the session, as the client knows
	ended   bool // the session, as the server knows
	lags    bool // its server has not seen the client's own create yet

	phase phase // of the request in flight
	req   action
	reply input
	asks  int8 // requests since the first create

	own   following
	token int64   // what the last read of the own node said
	words [8]kind // not heard yet, of the own node
	nword int8
	ahead following
	name  string // of the node ahead
	baton bool   // its baton is followed in its place
	freed bool   // not heard yet
	hand  bool   // and that is word of its baton, that it was passed, or of a neighbor, that all before it were gone
	near  bool   // the one ahead is a neighbor, which tells how it leaves

	parted bool // has told its neighbors so

	sure   bool // confirmed was heard, and no doubt since
	told   bool // that its node is gone
	quit   bool // was heard
	warned bool // revokeAsked was heard
	orphan bool // its node may stay until the session is over: the server refused
}

func newWorld(r *rule, step func(*machine, input) action) world {
	w := world{names: make(map[string]byte), rule: r, step: step, next: r.first, budget: r.budget}
	if r.foreign {
		w.add(foreigner, "f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0__lock__")
	}
	if r.latch {
		w.add(foreigner, "f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0-latch-")
	}
	for i := range r.n {
		w.clients[i] = client{
			m:     machine{id: r.id(i), mode: r.mode(i), try: i >= r.n-r.try, causes: &modelCauses, many: 1},
			up:    true,
			phase: sent,
			req:   action{verb: create},
		}
	}
	return w
}

// Do lets a happen, and returns what was wrong with that, if anything.
func (w *world) Do(a act) string {
	w.do(a)
	return w.fault
}

// do lets a happen.
func (w *world) do(a act) {
	switch a.what {
	case operate:
		w.budget.delete--
		w.delete(int(a.who))
		return
	case warn:
		w.budget.mark--
		z := &w.nodes[a.who]
		z.marked = true
		if c := &w.clients[z.owner]; c.own == armed {
			c.push(revokeAsked)
		}
		return
	case reap:
		w.budget.reap--
		w.next = 0
		return
	case depart:
		w.delete(int(a.who))
		return
	case snatch:
		w.budget.delete--
		w.dropBaton(a.who, false)
		return
	}
	c := &w.clients[a.who]
	c.touched = true
	switch a.what {
	case serve:
		c.reply = w.serve(a.who, c)
		c.phase = answered
		if c.over || c.m.state == done {
			c.phase, c.req, c.reply = idle, action{}, input{}
		}
	case decline:
		w.budget.refuse--
		c.phase, c.reply = answered, input{kind: refused, err: errDenied}
		if c.req.verb == equip {
			c.reply = input{kind: equipped} // it goes on without
		}
	case answer:
		in := c.reply
		c.phase, c.reply, c.req = idle, input{}, action{}
		w.tell(c, in)
	case readOwn:
		c.own = off
		if k := w.find(c.m.node); k < 0 {
			c.push(gone)
		} else {
			c.own, c.token = armed, w.nodes[k].token
			c.push(confirmed)
			if w.nodes[k].marked {
				c.push(revokeAsked)
			}
		}
	case word:
		s := c.words[0]
		copy(c.words[:], c.words[1:])
		c.nword--
		c.words[c.nword] = 0
		w.tell(c, input{kind: s, token: c.token})
	case readAhead:
		switch {
		case c.baton && !w.batons[w.owner(c.name)]:
			c.baton = false // and the node itself is asked about
		case !c.baton && w.find(c.name) < 0:
			c.ahead, c.freed = off, true
		default:
			c.ahead = armed
		}
	case vanish:
		in := input{kind: blockerGone}
		if c.hand {
			in.kind = passed
		}
		c.freed, c.hand, c.baton, c.near, c.name = false, false, false, false, ""
		w.tell(c, in)
	case lose, sever:
		w.budget.loss--
		w.breakLink(c, a.what == lose)
	case mend:
		c.up = true
		if c.m.node != "" && !slices.Contains(c.words[:c.nword], gone) {
			c.own = asked
		}
		if c.name != "" && !c.freed && !c.near {
			c.ahead = asked
		}
	case cancel:
		w.budget.cancel--
		w.tell(c, input{kind: quit, err: errCanceled})
	case release:
		w.tell(c, input{kind: quit, err: errReleased})
	case downgrade:
		w.budget.share--
		w.tell(c, input{kind: downgradeAsked})
	case expire:
		w.budget.expire--
		c.over = true
		w.tell(c, input{kind: expired, err: errExpired})
	case bury:
		c.ended = true
		c.phase, c.req, c.reply = idle, action{}, input{}
		for k := int(w.n) - 1; k >= 0; k-- {
			if w.nodes[k].owner == a.who {
				w.delete(k)
			}
		}
		w.dropBaton(a.who, false)
	}
}
