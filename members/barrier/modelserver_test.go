package barrier

import "slices"

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
		if w.guards[i] == 0 {
			return input{kind: removed}
		}
		w.guards[i] = 0
		owner := w.nodes[k].owner
		switch {
		case int(owner) == i && w.nodes[k].czxid != 0:
		case o.singly, w.nodes[k].czxid == 0:
			return input{kind: removed}
		case c.m.vanished:
			w.fault = "removes what it knows to be another's"
		default: // it has not heard yet that its own was deleted
			w.clients[owner].left = true
		}
		w.unlink(k, owner)
		if !o.last || !w.ready || o.version != int32(w.version) {
			return input{kind: removed}
		}
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
