package claim

import (
	"fmt"
	"slices"
	"testing"

	"github.com/zkcoord/zkcoord/internal/explore"
)

// The walk takes a few machines through every order in which a server, the links,
// their owners, operators and other programs can act upon them, faults included,
// and looks at every state for what must never be. modelacts_test.go says what can
// happen, modelserver_test.go what comes of it.

var rules = []rule{
	{name: "alone", n: 1, budget: budget{loss: 2, cancel: 1, expire: 1, fresh: 1}},
	{name: "alone without a guard", n: 1, bare: 1, budget: budget{loss: 2, cancel: 1, expire: 1, fresh: 2}},
	{name: "alone, operators", n: 1, budget: budget{delete: 2, snatch: 2, meddle: 1, loss: 1}},
	{name: "alone without a guard, operators", n: 1, bare: 1, budget: budget{delete: 2, meddle: 2, fresh: 1, loss: 1}},
	{name: "alone, refusals", n: 1, budget: budget{refuse: 2, keep: 1, loss: 1, snatch: 1, fresh: 1}},
	{name: "alone, a lock", n: 1, strict: true, budget: budget{mark: 1, loss: 1, delete: 1, cancel: 1}},
	{name: "a former session", n: 1, former: true, budget: budget{loss: 2, delete: 1, cancel: 1}},
	{name: "a former session, without a guard", n: 1, bare: 1, former: true, budget: budget{loss: 2, delete: 1, fresh: 1}},
	{name: "a stranger", n: 1, foreign: true, budget: budget{loss: 2, cancel: 1, intrude: 1}},
	{name: "a stranger, and a try", n: 1, try: 1, foreign: true, budget: budget{loss: 2, cancel: 1}},
	{name: "two", n: 2, budget: budget{loss: 1, delete: 1}},
	{name: "two, operators", n: 2, budget: budget{delete: 2, snatch: 1}},
	{name: "two, one of them a try", n: 2, try: 1, budget: budget{loss: 1, delete: 1}},
	{name: "two without guards", n: 2, bare: 2, budget: budget{loss: 1, delete: 1}},
	{name: "two without guards, in no directory", n: 2, bare: 2, noDir: true, budget: budget{loss: 1, delete: 1}},
	{name: "one with a guard, one without", n: 2, bare: 1, budget: budget{loss: 1, delete: 1}},
	{name: "one with a guard, one without, operators", n: 2, bare: 1, budget: budget{delete: 1, snatch: 1, meddle: 1}},
	{name: "two locks", n: 2, strict: true, budget: budget{loss: 1, delete: 1}},
	{name: "two locks, mark and operator", n: 2, strict: true, budget: budget{mark: 1, delete: 1}},
	{name: "two locks, refusals", n: 2, strict: true, budget: budget{refuse: 1, keep: 1, delete: 1}},
	{name: "two locks in one session", n: 2, strict: true, one: true, budget: budget{loss: 1, delete: 1}},
	{name: "two, expiry", n: 2, budget: budget{expire: 1, delete: 1}},
	{name: "two, cancel", n: 2, budget: budget{cancel: 1, delete: 1}},
	{name: "a former session and another client", n: 2, former: true, budget: budget{loss: 1}},

	{name: "three, operator", n: 3, deep: true, budget: budget{delete: 2}},
	{name: "two, losses and operators", n: 2, deep: true, budget: budget{loss: 2, delete: 2}},
	{name: "two, all", n: 2, deep: true, budget: budget{loss: 1, delete: 1, snatch: 1, cancel: 1, expire: 1}},
	{name: "two locks, losses and operators", n: 2, strict: true, deep: true, budget: budget{loss: 2, delete: 2}},
	{name: "a former session, another client, operator", n: 2, former: true, deep: true, budget: budget{loss: 1, delete: 1}},
	{name: "one with a guard, one without, losses", n: 2, bare: 1, deep: true, budget: budget{loss: 2, delete: 1, fresh: 1}},
}

// In every world: no two hold, nobody holds while a guard of an earlier holder lets
// something pass, no release removes what another holds (R14, R78), a holder hears
// of its end, nobody ends but with a cause or is left waiting (R24), and nothing is
// left of a claim that has ended (R29), unless the ensemble has refused to remove it.
func TestWalk(t *testing.T) {
	for _, r := range rules {
		explore.Through[*world](t, r.name, r.deep, func() world { return newWorld(&r, (*machine).step) })
	}
}

func holds(m *machine) bool {
	return m.state == held || m.state == revoked || m.state == writing && m.cause == nil
}

// grant looks at the moment in which c becomes a holder.
func (w *world) grant(c *client) {
	switch {
	case c.quit:
		w.fault = "granted to a claim that had been given up"
	case c.m.token == 0:
		w.fault = "granted without a znode"
	case int64(w.path.czxid) != c.m.token && !c.harmed:
		w.fault = "granted to one whose znode is not there"
	}
}

// Wrong says what must not be in w, if anything.
func (w *world) Wrong() string {
	holders := 0
	for i := range w.clients[:w.rule.n] {
		c := &w.clients[i]
		there := int64(w.path.czxid) == c.m.token && c.m.token != 0
		if holds(&c.m) && (there || c.told || c.over) {
			holders++
		}
		for _, g := range w.guards {
			if holds(&c.m) && there && !c.tainted && g.czxid != 0 && int64(g.czxid) < c.m.token {
				return "held beside an earlier holder's guard"
			}
		}
		switch {
		case holders > 1:
			return "two holders"
		case c.quit && holds(&c.m) && c.m.state != revoked:
			return "quit was not heeded"
		case c.warned && c.m.state == held:
			return "the mark was not heeded"
		case c.told && (c.m.state == held || c.m.state == revoked), c.over && c.m.state != done:
			return "its end was not heeded"
		case c.m.state == done && c.m.cause == nil:
			return "over without a cause"
		case c.m.state == taken && !c.m.wait:
			return "waits against its will"
		case c.m.state == held && there && !c.tainted && !c.harmed && c.acked > w.path.data && w.path.data >= 0:
			return "the znode has older data than its owner was told"
		case c.m.state == done && !c.over && !c.tainted && w.left(int8(i), c.detained):
			return "over with something of it left"
		}
	}
	return ""
}

// left reports whether anything is there that claim i has made, guards aside if
// they may not be removed.
func (w *world) left(i int8, detained bool) bool {
	if w.path.czxid != 0 && w.path.claim == i {
		return true
	}
	return !detained && slices.ContainsFunc(w.guards[:], func(g node) bool { return g.czxid != 0 && g.claim == i })
}

func (w *world) Stuck() string {
	for i := range w.clients[:w.rule.n] {
		if w.clients[i].m.state != done {
			return fmt.Sprint("stuck: ", i)
		}
	}
	if w.path.czxid != 0 || w.count() > 0 {
		return "something is left"
	}
	return ""
}

func (w *world) Key(b []byte) []byte {
	flags := func(bits ...bool) (f byte) {
		for i, bit := range bits {
			if bit {
				f |= 1 << i
			}
		}
		return f
	}
	add := func(n node) {
		b = append(b, byte(n.czxid), byte(n.version), byte(n.owner), byte(n.claim), byte(n.guard), byte(n.data), flags(n.marked))
	}
	failure := func(err error) byte { return byte(slices.Index(modelErrors, err)) }
	g := w.budget
	b = append(b, byte(w.zxid), byte(w.names), byte(g.loss), byte(g.cancel), byte(g.expire), byte(g.delete), byte(g.snatch),
		byte(g.meddle), byte(g.mark), byte(g.refuse), byte(g.keep), byte(g.intrude), byte(g.fresh))
	add(w.path)
	for _, n := range w.guards {
		add(n)
	}
	for i := range w.clients[:w.rule.n] {
		c := &w.clients[i]
		m, q, r := &c.m, &c.req, &c.reply
		b = append(b, byte(m.state), byte(m.token), byte(m.at.czxid), byte(m.at.version), failure(m.cause), failure(m.left),
			flags(m.guarded, m.displaced, m.absent, m.keep),
			flags(c.touched, c.up, c.over, c.ended, c.lags, q.guard, q.sync, q.keep),
			flags(c.quit, c.told, c.warned, c.harmed, c.tainted, c.detained),
			byte(c.phase), byte(c.asks), byte(q.action), byte(q.at.czxid), byte(q.at.version),
			byte(r.kind), byte(r.at.czxid), byte(r.at.version), byte(r.whose), flags(r.alone), failure(r.err),
			byte(c.own), byte(c.follows), byte(c.at), byte(c.nword), byte(c.newest), byte(c.sent), byte(c.acked))
		for _, k := range c.words {
			b = append(b, byte(k))
		}
	}
	return b
}
