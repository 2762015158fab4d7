package queue

import (
	"fmt"
	"slices"
)

// phase says how far a request is.
type phase uint8

const (
	idle phase = iota
	sent
	answered
)

// following says how a node is followed.
type following uint8

const (
	off following = iota
	asked
	armed
)

// breakLink takes the link from c. Its driver asks again for what can be asked
// twice, and cannot know what became of a create.
func (w *world) breakLink(c *client, lose bool) {
	c.up = false
	if lose {
		c.words, c.nword = [8]kind{}, 0
		if !c.near {
			c.freed, c.hand = false, false
		}
		if c.phase == answered && c.reply.kind != unknown {
			c.lags = c.lags || c.reply.kind == created
			c.phase, c.reply = sent, input{}
		}
	}
	if c.phase == sent && c.req.verb == create {
		c.phase, c.reply = answered, input{kind: unknown}
	}
	// Word of it comes with what is followed, if there is any. Of a node of its own that
	// it has only just made it may hear nothing.
	if c.m.node != "" && (c.own == armed || c.ahead == armed || c.near) {
		c.push(doubt)
	}
	c.own, c.ahead = off, off
}

// serve carries out the request of client i.
func (w *world) serve(i int8, c *client) input {
	switch c.req.verb {
	case create:
		z := w.add(i, prefix(c.m.id, c.m.mode))
		w.dropBaton(i, false)
		w.batons[i] = bornWithBaton(c.m.id) && !c.req.baton
		return input{kind: created, node: z.name, token: z.token, onlyChild: w.n == 1}
	case list:
		c.lags = c.lags && !c.req.sync
		var names []string
		for _, z := range w.nodes[:w.n] {
			if !c.lags || z.owner != i {
				names = append(names, z.name)
			}
		}
		slices.Reverse(names) // a server's order is none
		return input{kind: listed, names: names}
	case equip:
		w.batons[i] = w.batons[i] || w.find(c.req.node) >= 0
		return input{kind: equipped}
	case replace:
		reader := asRead(c.req.node)
		k := w.find(c.req.node)
		switch {
		case w.find(reader) >= 0: // it was done, and the answer lost
		case k < 0:
			return input{kind: removed}
		default:
			w.delete(k)
			w.dropBaton(i, false)
			w.zxid++
			w.nodes[w.n] = znode{name: reader, owner: i, token: w.zxid}
			w.n++
		}
		return input{kind: replaced, node: reader}
	default:
		k := w.find(c.req.node)
		if c.req.node == "" || c.m.hasBaton() {
			w.dropBaton(i, c.req.baton && k >= 0) // without our node nothing is passed
		}
		if k >= 0 {
			w.delete(k)
		}
		return input{kind: removed}
	}
}

// mode says what c's node is as far as it knows.
func (c *client) mode() Mode {
	me, _ := parse(c.m.node)
	return me.mode
}

func (w *world) add(owner int8, prefix string) znode {
	w.zxid++
	z := znode{name: fmt.Sprintf("%s%010d", prefix, w.next), owner: owner, token: w.zxid}
	if w.next < 1<<31-1 {
		w.next++ // at the end it sticks, as measured on 3.8
	}
	w.nodes[w.n] = z
	w.n++
	return z
}

// delete removes the node at k, and the watches on it fire.
func (w *world) delete(k int) {
	z := w.nodes[k]
	copy(w.nodes[k:], w.nodes[k+1:])
	w.n--
	w.nodes[w.n] = znode{}
	for i := range w.clients {
		c := &w.clients[i]
		if c.own == armed && c.m.node == z.name {
			c.own = off
			c.push(gone)
		}
		if c.ahead == armed && !c.baton && c.name == z.name {
			c.ahead, c.freed = off, true
		}
	}
}

// dropBaton deletes the baton of client i, if it is there. Who watches it hears that it
// was passed on, if it was; otherwise it asks about the node itself.
func (w *world) dropBaton(i int8, pass bool) {
	if !w.batons[i] {
		return
	}
	w.batons[i] = false
	for j := range w.clients {
		c := &w.clients[j]
		switch {
		case c.ahead != armed || !c.baton || w.owner(c.name) != i:
		case pass:
			c.ahead, c.freed, c.hand = off, true, true
		default:
			c.ahead, c.baton = asked, false
		}
	}
}

// owner returns the client whose node has the name.
func (w *world) owner(name string) int8 {
	return int8(slices.IndexFunc(w.clients[:], func(c client) bool { return c.m.id == idOf(name) }))
}

// tell hands in to the machine of c, and does what its driver does then.
func (w *world) tell(c *client, in input) {
	was, node := c.m.state, c.m.node
	switch in.kind {
	case created, confirmed:
		c.sure = true
	case doubt:
		c.sure = false
	case gone:
		c.told = was != downgrading // in which it may be our own doing
	case removed:
		c.told = was == downgrading
	case quit:
		c.quit = true
	case revokeAsked:
		c.warned = c.warned || was != downgrading
	case refused:
		c.orphan = was == leaving || was == looking
	}
	do := w.step(&c.m, in)
	switch do.verb {
	case nothing:
	case watch:
		c.name, c.ahead, c.baton, c.freed, c.hand = do.node, asked, do.baton, false, false
		if c.near = w.isNear(c.name); c.near {
			c.ahead, c.baton = off, false
		}
		if !mayWaitFor(c.m.node, c.name) {
			w.fault = "waits for a contender that does not block it"
		}
	default:
		if c.phase != idle {
			w.fault = "two requests in flight"
		}
		c.req, c.phase = do, sent
		c.asks++
		// One removal, a listing for each that may be ahead, and for each
		// loss a look and another create.
		most := w.rule.n + 2*int(w.rule.budget.loss)
		if w.rule.foreign {
			most++
		}
		if w.rule.batons > 0 {
			most++ // a removal, of a baton whose node is gone
		}
		if w.rule.late {
			most += 2 // a baton, and its removal
		}
		// A contender that follows a writer lists when that has gone, and each time
		// that it has become a reader instead.
		if w.rule.kinds != "" {
			most += 1 + int(w.rule.budget.share)
		}
		if int(c.asks) > most {
			w.fault = "asks without end"
		}
	}
	switch {
	case was == downgrading && c.m.state != was:
		c.own, c.words, c.nword = asked, [8]kind{}, 0 // of the node that is there now
	case was != held && c.m.state == held:
		w.grant(c, in)
	}
	if node == "" && c.m.node != "" {
		c.own = asked
	}
	w.part(c, c.m.departure(in))
	if c.m.state != done {
		return
	}
	// A request that is void may be carried out all the same. Of those only a
	// create or a removal leaves a trace.
	if c.phase != sent || !c.up || c.req.verb == list {
		c.phase, c.req, c.reply = idle, action{}, input{}
	}
	c.own, c.words, c.nword = off, [8]kind{}, 0
	c.ahead, c.name, c.baton, c.freed, c.hand, c.near = off, "", false, false, false, false
	c.up, c.lags, c.sure = true, false, false
}

// isNear reports whether the node of this name is that of a neighbor that has not left.
func (w *world) isNear(name string) bool {
	i := w.owner(name)
	if !w.rule.near || i < 0 || w.clients[i].parted {
		return false
	}
	other, _ := parse(name)
	return other.mode == w.clients[i].m.mode
}

// part tells the neighbors of c how it leaves its place.
func (w *world) part(c *client, how departure) {
	if how == present || c.parted || !w.rule.near {
		return
	}
	c.parted = true
	for i := range w.clients {
		k := &w.clients[i]
		switch {
		case !k.near || idOf(k.name) != c.m.id:
		case how == unclear:
			k.near, k.ahead = false, asked
		default:
			k.freed, k.hand = true, how == emptied
		}
	}
}

func (c *client) push(s kind) {
	c.words[c.nword] = s
	c.nword++
}

func (w *world) find(name string) int {
	return slices.IndexFunc(w.nodes[:], func(z znode) bool { return name != "" && z.name == name })
}
