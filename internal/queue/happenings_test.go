package queue

import "fmt"

// What can happen.
type happening uint8

const (
	serve     happening = iota + 1 // the server works off the request in flight
	decline                        // or does not want to
	answer                         // the client hears the reply
	readOwn                        // the server is asked about the own node
	word                           // the client hears of it
	readAhead                      // the server is asked about the node ahead
	vanish                         // the client hears that it is gone
	lose                           // the link breaks, with all that is under way
	sever                          // the link breaks, with all replies in already
	mend                           // the link is back
	cancel                         // the owner wants it no more
	release                        // the holder gives it back
	downgrade                      // or goes on as a reader
	expire                         // the session is over for the client
	bury                           // and for the server, which removes its nodes
	operate                        // an operator removes a node
	warn                           // somebody asks a node's owner to give way
	reap                           // the server removes the empty directory: numbers begin again
	depart                         // the client not ours goes
	snatch                         // an operator removes a baton
)

var happenings = [...]string{"end", "serve", "refuse", "answer", "read own", "word of own", "read ahead", "freed",
	"lose link", "sever link", "mend link", "cancel", "release", "downgrade", "expire", "bury session", "operator removes",
	"mark", "reap directory", "foreigner goes", "operator removes baton"}

// An act is one thing that happens, to a client or a node.
type act struct {
	what happening
	who  int8
}

func (a act) String() string { return fmt.Sprint(happenings[a.what], " ", a.who) }

// Enabled returns what can happen next.
func (w *world) Enabled() []act {
	var acts []act
	for i := range int8(w.rule.n) {
		c := &w.clients[i]
		if i > 0 && !w.clients[i-1].touched && w.clients[i-1].m.try == c.m.try && w.clients[i-1].m.mode == c.m.mode && bornWithBaton(w.clients[i-1].m.id) == bornWithBaton(c.m.id) {
			continue // they are alike: let them begin in one order
		}
		can := func(ok bool, what happening) {
			if ok {
				acts = append(acts, act{what, i})
			}
		}
		live := c.m.state != done && !c.over
		can(c.phase == sent && c.up, serve)
		can(c.phase == sent && live && c.up && w.budget.refuse > 0, decline)
		can(c.phase == answered, answer)
		can(c.own == asked && c.up, readOwn)
		can(c.nword > 0, word)
		can(c.ahead == asked && c.up, readAhead)
		can(c.freed, vanish)
		can(live && c.up && w.budget.loss > 0, lose)
		can(live && c.up && w.budget.loss > 0, sever)
		can(live && !c.up, mend)
		can(live && w.budget.cancel > 0, cancel)
		can(c.m.state == held || c.m.state == revoked || c.m.state == downgrading && c.m.cause == nil, release)
		can(c.m.state == held && c.mode() == Write && w.budget.share > 0, downgrade)
		can(live && w.budget.expire > 0, expire)
		can((c.over || c.m.state == done && c.orphan) && !c.ended, bury)
	}
	for k := range w.n {
		if w.budget.delete > 0 {
			acts = append(acts, act{operate, k})
		}
		if w.budget.mark > 0 && !w.nodes[k].marked && w.nodes[k].owner != foreigner {
			acts = append(acts, act{warn, k})
		}
		if w.nodes[k].owner == foreigner {
			acts = append(acts, act{depart, k})
		}
	}
	for i, there := range w.batons {
		if there && w.budget.delete > 0 {
			acts = append(acts, act{snatch, int8(i)})
		}
	}
	if w.budget.reap > 0 && w.n == 0 && w.next > 0 {
		acts = append(acts, act{reap, 0})
	}
	return acts
}
