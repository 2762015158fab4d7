package queue

import (
	"fmt"
	"os"
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

// A rule is one world to be walked through to the end.
type rule struct {
	name    string
	n       int    // contenders
	kinds   string // what each is, r or w; without, a mutex's
	try     int    // so many of them, the last ones, will not wait
	budget  budget // the faults in it, in every distribution over it
	batons  int    // so many of them, the first ones, have one
	near    bool   // they are neighbors
	foreign bool   // a contender of another make is first, and leaves some time
	first   int32  // the first number that the server hands out
	deep    bool   // too large for every day
}

// mode returns the mode of contender i.
func (r *rule) mode(i int) Mode {
	if r.kinds == "" {
		return Lock
	}
	return map[byte]Mode{'r': Read, 'w': Write}[r.kinds[i]]
}

// id returns the id of contender i.
func (r *rule) id(i int) string {
	if i < r.batons {
		return modelIDs[i] + batonMark
	}
	return modelIDs[i]
}

var rules = []rule{
	{name: "no fault", n: 3},
	{name: "operator", n: 3, budget: budget{delete: 1}},
	{name: "mark", n: 3, budget: budget{mark: 1}},
	{name: "loss", n: 3, budget: budget{loss: 1}},
	{name: "cancel", n: 3, budget: budget{cancel: 1}},
	{name: "expiry", n: 3, budget: budget{expire: 1}},
	{name: "refusal", n: 3, budget: budget{refuse: 1}},
	{name: "try", n: 3, try: 2},
	{name: "last numbers", n: 3, first: 1<<31 - 2, budget: budget{cancel: 1}},
	{name: "losses", n: 2, budget: budget{loss: 2}},
	{name: "loss and operator of two", n: 2, budget: budget{loss: 1, delete: 1}},
	{name: "try and losses", n: 2, try: 1, budget: budget{loss: 2}},
	{name: "foreign, loss", n: 2, foreign: true, budget: budget{loss: 1}},
	{name: "foreign, operator", n: 2, foreign: true, budget: budget{delete: 1}},
	{name: "reaped", n: 2, budget: budget{reap: 2, loss: 1, delete: 1}},
	{name: "refusals", n: 2, budget: budget{refuse: 2, cancel: 1}},
	{name: "all but refusal and loss", n: 2, budget: budget{cancel: 1, expire: 1, delete: 1, mark: 1}},

	{name: "batons", n: 3, batons: 3},
	{name: "batons of two, operator", n: 2, batons: 2, budget: budget{delete: 1}},
	{name: "batons, mark", n: 3, batons: 3, budget: budget{mark: 1}},
	{name: "batons of two, loss", n: 2, batons: 2, budget: budget{loss: 1}},
	{name: "batons of two, cancel", n: 2, batons: 2, budget: budget{cancel: 1}},
	{name: "batons, expiry", n: 3, batons: 3, budget: budget{expire: 1}},
	{name: "batons, refusal", n: 3, batons: 3, budget: budget{refuse: 1}},
	{name: "batons of two among three", n: 3, batons: 2},
	{name: "batons of writers", n: 2, kinds: "ww", batons: 2, budget: budget{share: 1, loss: 1}},
	{name: "batons of readers and a writer", n: 3, kinds: "rrw", batons: 3},

	{name: "neighbors", n: 3, near: true},
	{name: "neighbors, cancel", n: 3, near: true, budget: budget{cancel: 1}},
	{name: "neighbors, operator", n: 3, near: true, budget: budget{delete: 1}},
	{name: "neighbors, loss", n: 2, near: true, budget: budget{loss: 1, delete: 1}},
	{name: "neighbors, expiry", n: 3, near: true, budget: budget{expire: 1}},
	{name: "neighbors, refusal", n: 3, near: true, budget: budget{refuse: 1}},
	{name: "neighbors, foreign", n: 2, near: true, foreign: true, budget: budget{cancel: 1}},
	{name: "two neighbors with batons, operator", n: 2, near: true, batons: 2, budget: budget{delete: 1}},
	{name: "neighbors that write", n: 3, kinds: "www", near: true, budget: budget{share: 1}},
	{name: "a neighbor that reads and one that writes, cancel", n: 2, kinds: "rw", near: true, budget: budget{cancel: 1}},
	{name: "a neighbor that writes and one that reads", n: 2, kinds: "rw", near: true, budget: budget{share: 1}},

	{name: "two readers and a writer", n: 3, kinds: "rrw", budget: budget{share: 1}},
	{name: "three writers", n: 3, kinds: "www", budget: budget{share: 1}},
	{name: "readers alone", n: 2, kinds: "rr", budget: budget{loss: 1, delete: 1}},
	{name: "reader and writer, loss", n: 2, kinds: "rw", budget: budget{share: 1, loss: 1}},
	{name: "a writer, losses and operator", n: 1, kinds: "w", budget: budget{share: 1, loss: 2, delete: 1, expire: 1}},
	{name: "reader and writer, cancel and expiry", n: 2, kinds: "rw", budget: budget{share: 1, cancel: 1, expire: 1}},
	{name: "reader and writer, foreign", n: 2, kinds: "rw", foreign: true, budget: budget{share: 1, delete: 1}},
	{name: "a writer tries", n: 2, kinds: "rw", try: 1, budget: budget{loss: 1}},
	{name: "a reader tries", n: 2, kinds: "wr", try: 1, budget: budget{share: 1, loss: 1}},
	{name: "two writers, loss", n: 2, kinds: "ww", budget: budget{share: 2, loss: 1}},
	{name: "two writers, refusal and mark", n: 2, kinds: "ww", budget: budget{share: 1, refuse: 1, mark: 1}},

	{name: "a reader and two writers, all downgrade", n: 3, kinds: "rww", deep: true, budget: budget{share: 2}},
	{name: "three writers, all downgrade", n: 3, kinds: "www", deep: true, budget: budget{share: 3}},
	{name: "two readers and a writer, loss", n: 3, kinds: "rrw", deep: true, budget: budget{share: 1, loss: 1}},
	{name: "two readers and a writer, expiry", n: 3, kinds: "rrw", deep: true, budget: budget{share: 1, expire: 1}},
	{name: "a reader and two writers, loss", n: 3, kinds: "rww", deep: true, budget: budget{share: 1, loss: 1}},
	{name: "a reader and two writers, cancel", n: 3, kinds: "rww", deep: true, budget: budget{share: 1, cancel: 1}},
	{name: "a reader and two writers, operator", n: 3, kinds: "rww", deep: true, budget: budget{share: 1, delete: 1}},
	{name: "reader and writer, loss and operator", n: 2, kinds: "rw", deep: true, budget: budget{share: 1, loss: 1, delete: 1}},
	{name: "reader and writer, losses", n: 2, kinds: "rw", deep: true, budget: budget{share: 1, loss: 2, delete: 1}},
	{name: "reader and writer, all but loss", n: 2, kinds: "rw", deep: true, budget: budget{share: 1, cancel: 1, expire: 1, delete: 1, mark: 1}},
	{name: "two writers, losses", n: 2, kinds: "ww", deep: true, budget: budget{share: 2, loss: 2, delete: 1}},

	{name: "foreign", n: 2, foreign: true, deep: true, budget: budget{loss: 1, delete: 1}},
	{name: "batons, operator", n: 3, batons: 3, deep: true, budget: budget{delete: 1}},
	{name: "batons, loss", n: 3, batons: 3, deep: true, budget: budget{loss: 1}},
	{name: "batons of two among three, cancel", n: 3, batons: 2, deep: true, budget: budget{cancel: 1}},
	{name: "a reader and two writers", n: 3, kinds: "rww", deep: true, budget: budget{share: 1}},
	{name: "losses and operator of two", n: 2, deep: true, budget: budget{loss: 2, delete: 1}},
	{name: "batons, cancel", n: 3, batons: 3, deep: true, budget: budget{cancel: 1}},
	{name: "batons of three writers", n: 3, kinds: "www", batons: 3, deep: true, budget: budget{share: 1}},
	{name: "neighbors with batons, operator", n: 3, near: true, batons: 2, deep: true, budget: budget{delete: 1}},
	{name: "neighbors that read, and a writer", n: 3, kinds: "rrw", near: true, deep: true, budget: budget{cancel: 1}},
	{name: "neighbors that write, and a reader", n: 3, kinds: "rww", near: true, deep: true, budget: budget{share: 1}},
	{name: "batons, loss and operator", n: 3, batons: 3, deep: true, budget: budget{loss: 1, delete: 1}},
	{name: "batons, loss and expiry", n: 3, batons: 3, deep: true, budget: budget{loss: 1, expire: 1}},
	{name: "batons, loss and cancel", n: 3, batons: 3, deep: true, budget: budget{loss: 1, cancel: 1}},
	{name: "batons, cancels", n: 3, batons: 3, deep: true, budget: budget{cancel: 2}},
	{name: "batons, operator and cancel", n: 3, batons: 3, deep: true, budget: budget{delete: 1, cancel: 1}},
	{name: "batons of two writers, losses and operator", n: 2, kinds: "ww", batons: 2, deep: true, budget: budget{share: 1, loss: 1, delete: 1}},

	{name: "neighbors, loss and cancel", n: 3, near: true, deep: true, budget: budget{loss: 1, cancel: 1}},
	{name: "neighbors, loss and operator", n: 3, near: true, deep: true, budget: budget{loss: 1, delete: 1}},
	{name: "neighbors, cancels", n: 3, near: true, deep: true, budget: budget{cancel: 2}},

	{name: "all", n: 2, deep: true, budget: budget{loss: 1, cancel: 1, expire: 1, delete: 1, mark: 1, refuse: 1}},
	{name: "cancels", n: 3, deep: true, budget: budget{cancel: 2}},
	{name: "loss and operator", n: 3, deep: true, budget: budget{loss: 1, delete: 1}},
	{name: "loss and expiry", n: 3, deep: true, budget: budget{loss: 1, expire: 1}},
	{name: "loss and cancel", n: 3, deep: true, budget: budget{loss: 1, cancel: 1}},
	{name: "loss and try", n: 3, try: 1, deep: true, budget: budget{loss: 1}},
	{name: "losses, cancel and try", n: 2, try: 1, deep: true, budget: budget{loss: 2, cancel: 1}},
	{name: "operator and try", n: 3, try: 2, deep: true, budget: budget{delete: 1}},
	{name: "operator and mark", n: 3, deep: true, budget: budget{delete: 1, mark: 1}},
	{name: "operator and expiry", n: 3, deep: true, budget: budget{delete: 1, expire: 1}},
	{name: "refusal and cancel", n: 3, deep: true, budget: budget{refuse: 1, cancel: 1}},
}

// deep has the large worlds walked through too.
var deep = os.Getenv("ZKCOORD_STRESS") != ""

// In every world: a predecessor that goes at any instant, between the listing and
// the watch too, is noticed (R11), and nobody ends but with a cause or is left
// waiting (R24): "stuck" and "over without a cause". With three contenders no two
// wait for one node, which is how only lower numbers come to be predecessors and
// nobody can wait for one behind (R44), and one release wakes one (R88). What a
// hand-over costs (R89) is in testdata/contended.txt, and on the wire in locktest.
func TestWalk(t *testing.T) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			if r.deep && !deep {
				t.Skip("a large world: make stress walks through it")
			}
			t.Parallel()
			states, fault := explore.Walk[*world](newWorld(&r, (*machine).step))
			if fault != "" {
				t.Fatal(fault)
			}
			t.Logf("%d states", states)
		})
	}
}

// grant looks at the moment in which in made c the holder.
func (w *world) grant(c *client, in input) {
	switch k := w.find(c.m.node); {
	case c.quit || c.warned:
		w.fault = "granted to a contender that had given up"
	case !c.sure && in.kind != created:
		w.fault = "granted without confirmation since the last doubt"
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
		case c.over && c.m.state != done, c.told && c.m.state != done && (holds || waits || !hasBaton(c.m.id)):
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
		b = append(b, byte(m.state), name(m.node), byte(m.token), byte(slices.Index(modelErrors, m.cause)),
			flags(m.confirmed, m.lastBlocker, c.touched, c.up, c.over, c.ended, c.lags, c.freed),
			flags(c.sure, c.told, c.quit, c.warned, c.orphan, c.req.sync, c.req.baton),
			flags(c.baton, c.hand, w.batons[i], m.gone, m.head, m.stays, c.near, c.parted),
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
