package semaphore

import (
	"errors"
	"fmt"
)

// Errors of the model: what the owners, the server and the driver give.
var (
	errCanceled = errors.New("canceled")
	errReleased = errors.New("released")
	errExpired  = errors.New("expired")
	errDenied   = errors.New("permission denied")
	errExpelled = errors.New("place deleted")

	modelCauses = causes{errors.New("deleted"), errors.New("revoked"), errors.New("locked")}
)

// A budget says how many events of each kind a world still has in store.
type budget struct {
	loss, cancel, expire, refuse int8
	stale                        int8 // reads of a server that is behind
	delete                       int8 // operators that delete a lease
	expel                        int8 // or a place in the queue
	mark                         int8 // or revoke
	grow, shrink                 int8 // resizes by one
}

// A rule is one world to be walked through to the end.
type rule struct {
	name    string
	n       int  // clients
	permits int  // as they have them
	odd     int  // so many of them, the last ones, have one more
	try     int  // so many of them, the last ones, will not wait
	written bool // the number is written already
	mute    bool // the answer to a create tells nothing
	peer    bool // there is a contender of Curator beside them
	budget  budget
	deep    bool // too large for every day
}

// most is how many requests a client needs at most: those of one way through, and for all
// that can happen on the way, another read, create, look and remove.
func (r *rule) most() int {
	b := r.budget
	return 6 + 4*(r.n+1) + 6*int(b.loss+b.cancel+b.expire+b.refuse+b.stale+b.delete+b.expel+b.mark+b.grow+b.shrink)
}

// curator is the owner of what the contender of Curator has.
const curator = 3

// A lease is one of the model. Its czxid is zero if it is not there.
type lease struct {
	czxid, owner int8
	marked       bool
}

// phase says how far a request is.
type phase uint8

const (
	idle phase = iota
	sent
	answered
)

// A client is one machine with its driver, its link and its session.
type client struct {
	m       machine
	started bool // it has its place in the queue, or had it
	up      bool // the link
	over    bool // the session, as the client knows
	ended   bool // the session, as the server knows

	arrived  bool // was told that the gate is its own
	blocked  bool // or that others are before it
	expelled bool // or that it has no place any more
	freed    bool // has given its place up
	wrote    bool // its server has all that was there when it came to the gate
	follows  bool // the leases
	known    int8 // the last change of the leases that it has read
	number   int8 // with them
	version  int8

	phase phase
	req   action
	reply input
	asks  int8 // requests so far

	quit    bool // was heard
	told    bool // that its lease is gone
	warned  bool // that it shall give way
	harmed  bool // an operator has removed something of it
	tainted bool // a refusal lets something of it be
}

// steps of the contender of Curator
const (
	absentPeer int8 = iota
	queuedPeer
	leasedPeer  // at the gate, with its lease
	holdingPeer // and a permit
	freePeer    // the gate is left
	donePeer
)

// A world is everything that can differ between two states.
type world struct {
	rule    *rule
	step    func(*machine, input) action
	number  int8 // of permits; zero: not written
	version int8
	largest int8 // the largest number that was in force
	zxid    int8
	pzxid   int8 // the last change of the leases
	leases  [5]lease
	places  [4]int8 // the queue: owners plus one
	peer    int8
	lagged  bool // a stale read has been served
	budget  budget
	clients [3]client
	fault   string
}

func newWorld(r *rule, step func(*machine, input) action) world {
	w := world{rule: r, step: step, budget: r.budget, largest: int8(r.permits)}
	if r.written {
		w.number, w.version = int8(r.permits), 1
	}
	for i := range r.n {
		m := machine{permits: r.permits, try: i >= r.n-r.try, causes: &modelCauses}
		if i >= r.n-r.odd {
			m.permits++
		}
		w.clients[i] = client{m: m, up: true}
	}
	return w
}

// What can happen.
type happening uint8

const (
	begin     happening = iota // a client gets a place in the queue
	arrive                     // it hears that the gate is its own
	block                      // it hears that others are before it
	word                       // it hears that its place was deleted
	serve                      // the server works off the request in flight
	lag                        // it does so from what it knew before the client came to the gate
	decline                    // or does not want to
	answer                     // the client hears the reply
	hear                       // or that the leases have changed
	tell                       // or that its lease is gone
	warn                       // or that it shall give way
	free                       // its place in the queue is removed, as it has asked
	lose                       // the link breaks, with all that is under way
	mend                       // the link is back
	cancel                     // the owner wants it no more
	release                    // the holder gives it back
	expire                     // the session is over for the client
	bury                       // and for the server, which removes its znodes
	operate                    // an operator removes a lease
	expel                      // or a place in the queue
	mark                       // or writes that a holder shall give way
	grow                       // the number is made larger
	shrink                     // or smaller
	peerActs                   // the contender of Curator does what comes next
	peerQuits                  // or gives up
)

var happenings = [...]string{"begin", "arrive", "hear of others before", "hear of the place's end", "serve", "serve what was", "refuse", "answer", "hear of the leases",
	"hear of the lease's end", "hear of the mark", "free the place", "lose link", "mend link", "cancel", "release", "expire", "bury session",
	"operator removes lease", "operator removes place", "mark lease", "grow", "shrink", "Curator acts", "Curator gives up"}

// An act is one thing that happens, to a client or a lease.
type act struct {
	what happening
	who  int8
}

func (a act) String() string { return fmt.Sprint(happenings[a.what], " ", a.who) }

func (w *world) Enabled() []act {
	var acts []act
	can := func(ok bool, what happening, who int8) {
		if ok {
			acts = append(acts, act{what, who})
		}
	}
	b := w.budget
	for i := range int8(w.rule.n) {
		c := &w.clients[i]
		if i > 0 && !w.clients[i-1].started && w.clients[i-1].m == c.m {
			continue // they are alike: let them begin in one order
		}
		live := c.started && c.m.state != done && !c.over
		holds := c.m.state == held || c.m.state == revoked
		there, placed := w.leaseOf(i) != nil, w.place(i) >= 0
		can(!c.started, begin, i)
		can(live && c.up && w.place(i) == 0 && !c.arrived, arrive, i)
		can(live && c.up && w.place(i) > 0 && c.m.try && !c.blocked, block, i)
		can(live && c.up && !placed && !c.expelled && !c.freed, word, i)
		can(c.phase == sent && c.up, serve, i)
		can(c.phase == sent && c.up && live && b.stale > 0 && !c.wrote && c.req.verb == read && w.count() > 0, lag, i)
		can(c.phase == sent && c.up && live && b.refuse > 0, decline, i)
		can(c.phase == answered, answer, i)
		can(live && c.up && (c.m.state == waiting || c.m.state == entering) && c.follows && w.pzxid > c.known, hear, i)
		can(live && c.up && holds && !there, tell, i)
		can(live && c.up && c.m.state == held && there && w.leaseOf(i).marked, warn, i)
		can(c.started && c.up && !c.ended && placed && !c.m.state.atGate(), free, i)
		can(live && c.up && b.loss > 0, lose, i)
		can(c.started && !c.ended && !c.up, mend, i)
		can(live && b.cancel > 0, cancel, i)
		can(holds && !c.quit, release, i)
		can(live && b.expire > 0, expire, i)
		can((c.over || c.m.state == done && c.tainted) && !c.ended, bury, i)
		can(placed && b.expel > 0, expel, i)
		can(there && b.delete > 0, operate, i)
		can(there && b.mark > 0 && !w.leaseOf(i).marked, mark, i)
	}
	can(w.number > 0 && b.grow > 0, grow, 0)
	can(w.number > 1 && b.shrink > 0, shrink, 0)
	can(w.peerCan(), peerActs, 0)
	can(w.peer == leasedPeer, peerQuits, 0)
	return acts
}

func (w *world) Do(a act) string {
	w.fault = ""
	w.do(a.what, a.who)
	return w.fault
}
