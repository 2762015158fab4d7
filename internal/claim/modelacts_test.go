package claim

import "fmt"

// What can happen.
type happening uint8

const (
	serve      happening = iota // the server works off the request in flight
	decline                     // or does not want to
	detain                      // or will not remove a guard
	answer                      // the client hears the reply
	read                        // the server is asked about the node that is followed
	word                        // the client hears of it
	lose                        // the link breaks, with all that is under way
	sever                       // the link breaks, with all replies in already
	mend                        // the link is back
	cancel                      // the owner wants it no more
	release                     // the holder gives it back
	change                      // the owner has new data
	notice                      // the driver sees that
	expire                      // the session is over for the client
	bury                        // and for the server, which removes its nodes
	buryFormer                  // or the last session is
	operate                     // an operator removes what is at the path
	snatch                      // or a guard
	meddle                      // or writes into what is at the path
	mark                        // or writes that its holder shall give way
	intrude                     // another program takes the path
	depart                      // and leaves it
)

var happenings = [...]string{"serve", "refuse", "refuse to remove the guard", "answer", "read followed", "word of followed",
	"lose link", "sever link", "mend link", "cancel", "release", "new data", "driver sees new data", "expire", "bury session", "bury former session",
	"operator removes", "operator removes guard", "operator writes", "mark", "stranger comes", "stranger goes"}

// An act is one thing that happens, to a client or a node.
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
	for i := range int8(w.rule.n) {
		c := &w.clients[i]
		if b := &w.clients[max(0, i-1)]; i > 0 && !b.touched && b.m.guarded == c.m.guarded && b.m.wait == c.m.wait && !w.rule.former {
			continue // they are alike: let them begin in one order
		}
		live := c.m.state != done && !c.over
		holds := c.m.state == held || c.m.state == writing || c.m.state == revoked
		can(c.phase == sent && c.up, serve, i)
		can(c.phase == sent && live && c.up && w.budget.refuse > 0 && c.req.action != look && c.req.action != renew, decline, i)
		can(c.phase == sent && live && c.up && w.budget.keep > 0 && c.req.action == remove && c.m.guarded && !c.req.keep, detain, i)
		can(c.phase == answered, answer, i)
		can(c.follows == sent && c.up, read, i)
		can(c.nword > 0, word, i)
		can(live && c.up && w.budget.loss > 0, lose, i)
		can(live && c.up && w.budget.loss > 0 && c.phase == answered, sever, i)
		can(live && !c.up, mend, i)
		can(live && w.budget.cancel > 0, cancel, i)
		can(holds && !c.quit, release, i)
		can(live && !c.quit && w.budget.fresh > 0, change, i)
		can(c.m.state == held && c.acked != c.newest && !w.rule.strict, notice, i)
		can(live && w.budget.expire > 0, expire, i)
		can((c.over || c.m.state == done && (c.tainted || c.detained)) && !c.ended, bury, i)
	}
	for _, g := range w.guards {
		can(g.czxid > 0 && w.budget.snatch > 0 && g.owner < past, snatch, g.guard)
	}
	there := w.path.czxid > 0
	can(there && w.budget.delete > 0, operate, 0)
	can(there && w.budget.meddle > 0, meddle, 0)
	can(there && w.budget.mark > 0 && w.path.owner < past, mark, 0)
	can(!there && w.budget.intrude > 0, intrude, 0)
	can(there && w.path.owner == stranger, depart, 0)
	can(w.anyOf(past), buryFormer, 0)
	return acts
}

func (w *world) Do(a act) string {
	w.fault = ""
	w.do(a)
	return w.fault
}

func (w *world) do(a act) {
	switch a.what {
	case operate:
		w.budget.delete--
		w.harm(w.path.claim)
		w.unlink()
		return
	case snatch:
		w.budget.snatch--
		g := w.guard(a.who)
		w.harm(g.claim)
		if v := &w.clients[g.claim]; v.m.token == 0 {
			v.tainted = true // it cannot tell whether its lost create was carried out
		}
		*g = node{}
		return
	case meddle:
		w.budget.meddle--
		w.path.version++
		w.path.data = -1
		return
	case mark:
		w.budget.mark--
		w.path.version++
		w.path.marked = true
		w.fire(marked)
		return
	case intrude:
		w.budget.intrude--
		w.zxid++
		w.path = node{czxid: w.zxid, owner: stranger, claim: stranger}
		return
	case depart:
		w.unlink()
		return
	case buryFormer:
		w.bury(past)
		return
	}
	c := &w.clients[a.who]
	c.touched = true
	switch a.what {
	case serve:
		c.reply = w.serve(a.who, c)
		c.phase = answered
		if c.over || c.m.state == done {
			c.phase, c.req, c.reply = idle, op{}, input{}
		}
	case decline:
		w.budget.refuse--
		c.phase, c.reply = answered, input{kind: refused, err: errDenied}
		if c.req.action == create && c.m.guarded && !c.m.strict {
			c.reply.kind = guardless
		}
		c.tainted = true
	case detain:
		w.budget.keep--
		c.detained = true
		c.phase, c.reply = answered, w.serve(a.who, c)
		if c.reply.kind == removed {
			panic("removed what may not be removed")
		}
	case answer:
		in := c.reply
		c.phase, c.reply, c.req = idle, input{}, op{}
		w.tell(c, in)
	case read:
		c.follows = idle
		switch p := w.path; {
		case p.czxid != c.at && c.m.state == taken:
			c.push(freed)
		case p.czxid != c.at:
			c.push(gone)
		default:
			if c.follows = answered; p.marked && c.m.state != taken {
				c.push(marked)
			}
		}
	case word:
		k := c.words[0]
		copy(c.words[:], c.words[1:])
		c.nword--
		c.words[c.nword] = 0
		if k != marked || w.rule.strict {
			w.tell(c, input{kind: k})
		}
	case lose, sever:
		w.budget.loss--
		w.breakLink(c, a.what == lose)
	case mend:
		c.up = true
		if c.at != 0 && c.nword == 0 {
			c.follows = sent
		}
	case cancel:
		w.budget.cancel--
		c.quit = true
		w.tell(c, input{kind: quit, err: errCanceled})
	case release:
		c.quit = true
		w.tell(c, input{kind: quit, err: errReleased})
	case change:
		w.budget.fresh--
		c.newest++
	case notice:
		w.tell(c, input{kind: fresh})
	case expire:
		w.budget.expire--
		c.over = true
		w.tell(c, input{kind: expired, err: errExpired})
	case bury:
		c.ended = true
		c.phase, c.req, c.reply = idle, op{}, input{}
		w.bury(a.who)
	}
}
