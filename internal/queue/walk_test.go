package queue

import (
	"fmt"
	"slices"
	"testing"

	"github.com/zkcoord/zkcoord/internal/explore"
)

// The walk takes a few machines through every order in which a server, the
// links and their owners can act upon them, faults included, and looks at
// every state for what must never be. What a machine is told comes by three
// ways, replies, word of its own node and word of the one it follows, each in
// order but none ordered with another, as a driver's select may find them.
// model_test.go says what can happen, modelserver_test.go what comes of it.

// In every world: a predecessor that goes at any instant, between the listing and
// the watch too, is noticed (R11), and nobody ends but with a cause or is left
// waiting (R24): "stuck" and "over without a cause". With three contenders no two
// wait for one node, which is how only lower numbers come to be predecessors and
// nobody can wait for one behind (R44), and one release wakes one (R88). What a
// hand-over costs (R89) is in testdata/contended.txt, and on the wire in locktest.
func TestWalk(t *testing.T) {
	for _, r := range rules {
		explore.Through[*world](t, r.name, r.deep, func() world { return newWorld(&r, (*machine).step) })
	}
}

// grant looks at the moment in which in made c the holder.
func (w *world) grant(c *client, in input) {
	switch k := w.find(c.m.node); {
	case c.quit || c.warned:
		w.fault = "granted to a contender that had given up"
	case !c.sure && in.kind != created:
		w.fault = "granted without confirmation since the last doubt"
	case slices.ContainsFunc(w.nodes[:w.n], func(z znode) bool { return IsForeign(z.name) }):
		w.fault = "granted in the directory of another recipe"
	case k < 0: // removed by an operator, and not heard of yet
	case c.m.token != w.nodes[k].token:
		w.fault = "token is not that of the node"
	case c.m.token <= w.written, c.mode() != Read && c.m.token <= w.granted:
		w.fault = "token is not above the last"
	case w.overtaken(w.nodes[k]):
		w.fault = "granted before a contender that blocks it"
	default:
		w.granted = max(w.granted, c.m.token)
		if c.mode() != Read {
			w.written = c.m.token
		}
	}
}

// overtaken reports whether one that blocks me is there before it.
func (w *world) overtaken(me znode) bool {
	mine, _ := parse(me.name)
	return slices.ContainsFunc(w.nodes[:w.n], func(z znode) bool {
		c, _ := parse(z.name)
		return c.number < mine.number && blocks(c.mode, mine.mode)
	})
}

// Wrong says what must not be in w, if anything.
func (w *world) Wrong() string {
	holders, readers := 0, 0
	for i := range w.clients[:w.rule.n] {
		c := &w.clients[i]
		// From its wish on, one that downgrades is a reader.
		lowers := c.m.state == downgrading && c.m.cause == nil
		exists := w.find(c.m.node) >= 0 || lowers && w.find(asRead(c.m.node)) >= 0
		holds := c.m.state == held || c.m.state == revoked || lowers
		waits := c.m.state == waiting || c.m.state == confirming
		// A holder whose node an operator has removed must learn of it first; until
		// then nothing can keep it from being the second.
		if holds && (exists || c.told || c.over) {
			holders++
			if lowers || c.mode() == Read {
				readers++
			}
		}
		left := slices.ContainsFunc(w.nodes[:w.n], func(z znode) bool { return int(z.owner) == i })
		switch {
		case holders > 1 && readers < holders:
			return "two holders, not both readers"
		case left && !exists && c.m.state == held:
			return "held by another node than it thinks"
		case c.quit && (holds || waits):
			return "quit was not heeded"
		case c.warned && (c.m.state == held || waits):
			return "the mark was not heeded"
		case c.over && c.m.state != done, c.told && c.m.state != done && (holds || waits || !c.m.hasBaton()):
			return "its end was not heeded"
		case c.m.state == done && c.m.cause == nil:
			return "over without a cause"
		case c.m.state == done && left && !c.over && !c.orphan:
			return "over with its node left in the queue"
		case c.m.state == done && w.batons[i] && !c.over && !c.orphan:
			return "over with its baton left"
		case c.m.try && c.m.state == waiting:
			return "waits against its will"
		}
		for j := range i {
			d := &w.clients[j]
			if c.m.state == waiting && d.m.state == waiting && (c.m.mode != Read || d.m.mode != Read) && c.name != "" && c.name == d.name && exists && w.find(d.m.node) >= 0 {
				return "two wait for one node"
			}
		}
	}
	return ""
}

// mayWaitFor reports whether the contender named me may wait for that named
// other: never for one behind it (R44).
func mayWaitFor(me, other string) bool {
	m, _ := parse(me)
	o, ok := parse(other)
	return ok && o.number < m.number && blocks(o.mode, m.mode)
}

// Stuck says what should still happen in w, in which nothing can.
func (w *world) Stuck() string {
	for i := range w.clients[:w.rule.n] {
		if w.clients[i].m.state != done {
			return fmt.Sprint("stuck: ", i)
		}
	}
	if w.n > 0 || w.batons != [3]bool{} {
		return "a node or a baton is left"
	}
	return ""
}

// Key appends all that tells w from another state.
func (w *world) Key(b []byte) []byte {
	name := func(s string) byte {
		n, ok := w.names[s]
		if !ok {
			n = byte(len(w.names))
			w.names[s] = n
		}
		return n
	}
	flags := func(bits ...bool) (f byte) {
		for i, bit := range bits {
			if bit {
				f |= 1 << i
			}
		}
		return f
	}
	g := w.budget
	b = append(b, byte(w.n), byte(w.next), byte(w.zxid), byte(w.granted), byte(w.written),
		byte(g.loss), byte(g.cancel), byte(g.expire), byte(g.delete), byte(g.mark), byte(g.refuse), byte(g.reap), byte(g.share))
	for _, z := range w.nodes[:w.n] {
		b = append(b, name(z.name), byte(z.token), flags(z.marked))
	}
	for i := range w.clients[:w.rule.n] {
		c := &w.clients[i]
		m := &c.m
		b = append(b, byte(m.state), name(m.node), name(m.next.node), byte(m.token), byte(slices.Index(modelErrors, m.cause)),
			flags(m.confirmed, m.lastBlocker, c.touched, c.up, c.over, c.ended, c.lags, c.freed),
			flags(c.sure, c.told, c.quit, c.warned, c.orphan, c.req.sync, c.req.baton),
			flags(c.baton, c.hand, w.batons[i], m.gone, m.head, m.stays, c.near, c.parted), flags(m.late, m.next.baton),
			byte(c.phase), byte(c.req.verb), name(c.req.node), byte(c.own), byte(c.ahead), name(c.name), byte(c.token), byte(c.asks), byte(c.nword))
		for _, s := range c.words[:c.nword] {
			b = append(b, byte(s))
		}
		r := &c.reply
		b = append(b, byte(r.kind), name(r.node), byte(r.token), flags(r.onlyChild, r.err != nil), byte(len(r.names)))
		for _, s := range r.names {
			b = append(b, name(s))
		}
	}
	return b
}
