package barrier

import "fmt"

// What can happen.
type happening uint8

const (
	served     happening = iota // the servers work off the request in flight
	denied                      // or refuse it
	replied                     // the client hears the reply
	read                        // the servers are asked about a znode that is followed
	heard                       // the client hears of it
	lose                        // the link breaks, with all that is under way
	sever                       // the link breaks, with all replies in already
	mend                        // the link is back
	cancel                      // the owner wants it no more
	release                     // the owner leaves
	enter                       // and enters again
	expire                      // the session is over for the client
	bury                        // and for the servers, which remove its znodes
	operate                     // an operator deletes its znode
	happenings = operate + 1
)

var words = [happenings]string{"serve", "refuse", "reply to", "read followed", "word of followed", "lose link", "sever link", "mend link",
	"cancel", "release", "enter again", "expire", "bury session", "operator deletes"}

// An act is one thing that happens to a client.
type act struct {
	what  happening
	who   int8
	which int8 // the stream
}

func (a act) String() string {
	return fmt.Sprint(words[a.what], " ", a.who, [...]string{"", " (ready)", " (ahead)"}[a.which])
}

func (w *world) Enabled() []act {
	var acts []act
	for i := range int8(w.rule.many) {
		c := &w.clients[i]
		can := func(ok bool, what happening, which int8) {
			if ok {
				acts = append(acts, act{what, i, which})
			}
		}
		live := c.m.state != done && !c.over
		can(c.phase == sent && c.up, served, 0)
		can(c.phase == sent && live && c.up && w.budget.refuse > 0 && c.req.action != check, denied, 0)
		can(c.phase == answered, replied, 0)
		for which := range int8(3) {
			f := c.stream(which)
			can(f.phase == sent && c.up, read, which)
			can(f.due, heard, which)
		}
		can(live && c.up && w.budget.loss > 0, lose, 0)
		can(live && c.up && w.budget.loss > 0 && c.phase == answered, sever, 0)
		can(live && !c.up, mend, 0)
		can(live && !c.quit && !c.granted && w.budget.cancel > 0, cancel, 0)
		can(live && !c.quit && c.granted, release, 0)
		can(c.m.state == done && !c.over && c.born < w.times(i), enter, 0)
		can(live && w.budget.expire > 0, expire, 0)
		can((c.over || c.m.state == done && c.left) && !c.ended, bury, 0)
		can(w.own(int(i)) != 0 && w.budget.delete > 0, operate, 0)
	}
	return acts
}

func (w *world) Do(a act) string {
	w.fault = ""
	w.do(a)
	return w.fault
}

func (w *world) do(a act) {
	i := int(a.who)
	c := &w.clients[i]
	switch a.what {
	case served:
		c.reply, c.phase = w.serve(i), answered
		if c.over {
			c.phase, c.req, c.reply = idle, op{}, input{}
		}
	case denied:
		w.budget.refuse--
		c.left = true
		c.phase, c.reply = answered, input{kind: refused, err: errDenied}
	case replied:
		in := c.reply
		w.hear(c)
		c.phase, c.reply, c.req = idle, input{}, op{}
		w.tell(c, in)
	case read:
		w.read(i, a.which)
	case heard:
		if a.which != ofSelf {
			w.hear(c)
		}
		if f := c.stream(a.which); f.due {
			f.due = false
			w.tell(c, input{kind: f.word})
		}
	case lose, sever:
		w.budget.loss--
		w.breakLink(c, a.what == lose)
	case mend:
		c.up = true
		for which := range int8(3) {
			if f := c.stream(which); f.phase == idle && f.czxid < 0 {
				f.phase, f.czxid = sent, -1-f.czxid
			}
		}
	case cancel:
		w.budget.cancel--
		c.quit = true
		w.tell(c, input{kind: quit, err: errCanceled})
	case release:
		c.quit = true
		w.tell(c, input{kind: quit, held: true, err: errReleased})
	case enter:
		w.enter(i)
	case expire:
		w.budget.expire--
		c.over = true
		w.tell(c, input{kind: expired, err: errExpired})
		c.phase, c.req, c.reply = idle, op{}, input{}
	case bury:
		c.ended = true
		w.unlink(w.slot(i), a.who)
		w.guards[i] = 0
	case operate:
		w.budget.delete--
		c.left = true
		w.unlink(w.slot(i), a.who)
	}
}

// breakLink takes the link from c. Its driver asks again for what can be asked twice, and
// cannot know what became of a create. Its streams read again when the link is back.
func (w *world) breakLink(c *client, lose bool) {
	c.up = false
	if lose && c.phase == answered && c.reply.kind != unknown && c.reply.kind != refused {
		c.phase, c.reply = sent, input{}
	}
	if c.phase == sent && c.req.action == create {
		c.phase, c.reply = answered, input{kind: unknown}
	}
	for which := range int8(3) {
		f := c.stream(which)
		if f.phase == idle && !(lose && f.due) {
			continue
		}
		if f.due && f.word == followed {
			f.due, f.czxid = false, 0 // Suspended comes first
		}
		if which == ofSelf && (f.phase == answered || f.due) {
			f.due, f.word = true, doubted
		} else if lose {
			f.due = false
		}
		f.phase, f.czxid = idle, -1-f.czxid // until mended
	}
}

// hear has the machine of c hear what is due of its own znode, which comes first.
func (w *world) hear(c *client) {
	if c.self.due {
		c.self.due = false
		w.tell(c, input{kind: c.self.word})
	}
}

// tell hands in to the machine of c, and does what its driver does then.
func (w *world) tell(c *client, in input) {
	i := 0
	for &w.clients[i] != c {
		i++
	}
	was := c.m.state
	o := w.step(&c.m, in)
	switch there := c.m.in && c.m.state != removing; {
	case !there:
		c.self = followedNode{}
	case c.self != followedNode{}:
	case w.rule.budget.loss+w.rule.budget.delete == 0: // nothing is ever said of it but this
		c.self.phase = answered
		w.step(&c.m, input{kind: confirmed})
	default:
		c.self.follow(c.up)
	}
	if c.m.state != waiting {
		c.ready = followedNode{}
	}
	if c.m.ahead == "" {
		c.ahead = followedNode{}
	}
	switch o.action {
	case nothing:
	case await:
		c.ready.follow(c.up)
	case follow:
		c.ahead = followedNode{}
		c.ahead.follow(c.up)
	default:
		if c.phase != idle {
			w.fault = "two requests in flight"
		}
		c.req, c.phase = o, sent
		if c.asks++; c.asks > w.most() {
			w.fault = "asks without end"
		}
	}
	if c.m.state == inside && was != inside {
		w.grant(c, i)
	}
	if c.m.state == done {
		c.phase, c.req, c.reply = idle, op{}, input{}
		c.self, c.ready, c.ahead = followedNode{}, followedNode{}, followedNode{}
		c.up = true
		w.finished(c)
	}
}

// follow begins to follow, as soon as the link is up.
func (f *followedNode) follow(up bool) {
	f.phase = sent
	if !up {
		f.phase, f.czxid = idle, -1
	}
}
