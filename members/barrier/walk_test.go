package barrier

import (
	"fmt"
	"slices"
	"testing"

	"github.com/zkcoord/zkcoord/internal/explore"
)

// The walk takes a few machines through every order in which servers, links, owners and
// operators can act upon them, and looks at every state for what must never be.
// modelacts_test.go says what can happen, model_test.go what comes of it.

var rules = []rule{
	{name: "alone, twice", n: 1, many: 1, rounds: 2, budget: budget{loss: 2, cancel: 1, expire: 1, delete: 1, refuse: 1}},
	{name: "alone, a relic", n: 1, many: 1, rounds: 1, relic: true, budget: budget{loss: 2, cancel: 1, expire: 1, delete: 1}},
	{name: "two, a loss", n: 2, many: 2, rounds: 1, budget: budget{loss: 1}},
	{name: "two, cancels", n: 2, many: 2, rounds: 1, budget: budget{cancel: 2}},
	{name: "two, twice", n: 2, many: 2, rounds: 2, patent: true},
	{name: "two, twice, a loss", n: 2, many: 2, rounds: 2, patent: true, budget: budget{loss: 1}},
	{name: "two, a death", n: 2, many: 2, rounds: 2, budget: budget{expire: 1}},
	{name: "two, an operator", n: 2, many: 2, rounds: 1, twice: 1, budget: budget{delete: 1}},
	{name: "two, a refusal", n: 2, many: 2, rounds: 1, budget: budget{refuse: 1}},
	{name: "two, a relic", n: 2, many: 2, rounds: 1, relic: true, patent: true, budget: budget{loss: 1}},
	{name: "two of one ID", n: 1, many: 2, rounds: 1, same: true, budget: budget{loss: 1}},
	{name: "two of one ID, an operator", n: 1, many: 2, rounds: 1, same: true, budget: budget{delete: 1}},
	{name: "two of one ID, a loss, an operator", n: 1, many: 2, rounds: 1, same: true, deep: true, budget: budget{loss: 1, delete: 1}},
	{name: "two, one is enough", n: 1, many: 2, rounds: 2, patent: true},
	{name: "two that disagree", n: 1, differ: true, many: 2, rounds: 1, budget: budget{loss: 1}},
	{name: "three", n: 3, many: 3, rounds: 1, patent: true},
	{name: "three, two are enough", n: 2, many: 3, rounds: 1},

	{name: "three, two rounds of two", n: 2, many: 3, rounds: 1, twice: 1, deep: true},
	{name: "three, a death", n: 2, many: 3, rounds: 1, deep: true, budget: budget{expire: 1}},
	{name: "two, a loss and a cancel", n: 2, many: 2, rounds: 1, deep: true, budget: budget{loss: 1, cancel: 1}},
	{name: "two, losses", n: 2, many: 2, rounds: 1, deep: true, budget: budget{loss: 2}},
	{name: "two, a loss, a death, an operator", n: 2, many: 2, rounds: 1, deep: true, budget: budget{loss: 1, expire: 1, delete: 1}},
	{name: "three, a loss", n: 3, many: 3, rounds: 1, deep: true, patent: true, budget: budget{loss: 1}},
	{name: "three, deaths", n: 2, many: 3, rounds: 1, deep: true, budget: budget{expire: 2}},
	{name: "three, two are enough, a loss", n: 2, many: 3, rounds: 1, deep: true, budget: budget{loss: 1}},
	{name: "three, two are enough, a cancel", n: 2, many: 3, rounds: 1, deep: true, budget: budget{cancel: 1}},
	{name: "three, two are enough, a relic, a death", n: 2, many: 3, rounds: 1, relic: true, deep: true, budget: budget{expire: 1}},
	{name: "three, two rounds", n: 3, many: 3, rounds: 2, deep: true, patent: true},
	{name: "three, two are enough, two rounds", n: 2, many: 3, rounds: 2, deep: true},
}

// In every world: nobody is let in but by a round that was opened with n of whom it was
// one; nobody enters a round that is open; a round does not end while somebody is in it;
// nobody who leaves is done while another of its round is in; everybody who was in when a
// round opened is let in, or ends for a reason; fewer than n are left waiting; and nothing is left of
// one that has ended, or of a round in which nobody is.
func TestWalk(t *testing.T) {
	for _, r := range rules {
		explore.Through[*world](t, r.name, r.deep, func() world { return newWorld(&r, (*machine).step) })
	}
}

// most is how many requests one entry needs at most.
func (w *world) most() int8 {
	b := w.rule.budget
	return int8(10 + 6*(w.rule.many-1)*int(w.times(0)) + 4*int(b.loss+b.cancel+b.expire+b.delete+b.refuse))
}

// times returns how often client i enters.
func (w *world) times(i int8) int8 {
	if i < w.rule.twice {
		return w.rule.rounds + 1
	}
	return w.rule.rounds
}

// grant looks at the moment in which client i is let in.
func (w *world) grant(c *client, i int) {
	c.granted = true
	switch c.round = c.owed; {
	case c.quit:
		w.fault = "let in although it had quit"
	case c.owed == 0:
		w.fault = "let in without a round"
	case w.own(i) == 0 && !c.left:
		w.fault = "let in without a znode"
	}
}

// finished looks at the moment in which c is done.
func (w *world) finished(c *client) {
	if !c.m.patient || c.over || c.left || c.round == 0 {
		return
	}
	for k, n := range w.nodes {
		if n.czxid != 0 && n.round == c.round {
			w.fault = fmt.Sprint("done while still inside: ", ids[k])
		}
	}
}

// Wrong says what must not be in w, if anything.
func (w *world) Wrong() string {
	for i := range w.clients[:w.rule.many] {
		c := &w.clients[i]
		switch {
		case c.m.state == done && c.m.cause == nil:
			return "done without a cause"
		case c.over && c.m.state != done:
			return "the end of the session was not heeded"
		case c.m.cause != nil && !c.granted && (c.m.state == staying || c.m.state == going || c.m.state == outside):
			return "waits for the others although it was not let in"
		case c.quit && c.m.state == inside:
			return "quit was not heeded"
		case c.m.state == done && !c.over && !c.left && (w.own(i) != 0 || w.guards[i] != 0):
			return "done with something of it left"
		}
	}
	return ""
}

func (w *world) Stuck() string {
	waits, least := 0, w.rule.many
	for i := range w.clients[:w.rule.many] {
		switch c := &w.clients[i]; {
		case c.m.state == done:
		case c.m.state != waiting || w.own(i) == 0:
			return fmt.Sprint("stuck: ", i)
		case w.nodes[w.slot(i)].round != 0:
			return fmt.Sprint("stranded: ", i)
		default:
			waits++
			least = min(least, c.m.n)
		}
	}
	// A round that everybody has died in, or that was canceled by all at once, is ended by
	// the next one that enters.
	b := w.rule.budget
	calm := b.expire+b.delete+b.refuse == 0
	switch {
	case waits > 0 && waits >= least:
		return "n are in, and nobody opens"
	case waits > 0 && w.rule.patent:
		return "left alone"
	case w.ready && (calm && !w.rule.relic || waits > 0):
		return "a round is left open"
	case w.guards != [3]int8{} && waits == 0:
		return "a guard is left"
	}
	return ""
}

// Key has every field of w, or states that differ would be taken for one.
func (w *world) Key(b []byte) []byte {
	bits := func(all ...bool) (f byte) {
		for i, bit := range all {
			if bit {
				f |= 1 << i
			}
		}
		return f
	}
	name := func(id string) byte { return byte(slices.Index(ids[:], id) + 1) }
	names := func(all []string) (f byte) {
		for _, id := range all {
			f |= 1 << name(id)
		}
		return f
	}
	failure := func(err error) byte { return byte(slices.Index(modelErrors, err)) }
	g := w.budget
	b = append(b, byte(w.version), byte(w.zxid), byte(w.rounds), byte(g.loss), byte(g.cancel), byte(g.expire), byte(g.delete), byte(g.refuse),
		bits(w.ready), byte(w.guards[0]), byte(w.guards[1]), byte(w.guards[2]))
	for _, n := range w.nodes {
		b = append(b, byte(n.czxid), byte(n.owner), byte(n.round))
	}
	for i := range w.clients[:w.rule.many] {
		c := &w.clients[i]
		m, q, r := &c.m, &c.req, &c.reply
		b = append(b, byte(m.state), byte(m.token), byte(m.round), name(m.ahead), failure(m.cause), failure(m.stays),
			bits(m.in, m.sure, m.vanished, m.patient, m.known, m.blind), byte(c.born), byte(c.asks),
			bits(c.up, c.over, c.ended, c.left, c.granted, c.quit), byte(c.owed), byte(c.round), byte(c.phase),
			byte(q.action), byte(q.n), byte(q.version), names(q.members), bits(q.last, q.singly, r.open, r.few),
			byte(r.kind), byte(r.version), names(r.members), byte(r.token), failure(r.err))
		for which := range int8(3) {
			f := c.stream(which)
			b = append(b, byte(f.phase), byte(f.czxid), bits(f.due), byte(f.word))
		}
	}
	return b
}
