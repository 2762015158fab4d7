package semaphore

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/zkcoord/zkcoord/internal/explore"
)

// The walk takes a few machines through every order in which a server, the links, their
// owners, operators and a contender of Curator can act upon them, faults included, and looks
// at every state for what must never be. model_test.go says what can happen,
// modelserver_test.go what comes of it.

var rules = []rule{
	{name: "alone", n: 1, permits: 1, budget: budget{loss: 2, cancel: 1, expire: 1}},
	{name: "alone, operators", n: 1, permits: 1, budget: budget{delete: 1, expel: 1, mark: 1, loss: 1}},
	{name: "alone, refusals", n: 1, permits: 1, budget: budget{refuse: 2, loss: 1, cancel: 1}},
	{name: "alone, without a telling answer", n: 1, permits: 1, mute: true, budget: budget{loss: 2, delete: 1, cancel: 1}},
	{name: "two, one permit", n: 2, permits: 1, budget: budget{loss: 1, cancel: 1}},
	{name: "two, one permit, expiry", n: 2, permits: 1, budget: budget{expire: 1, loss: 1}},
	{name: "two, one permit, operators", n: 2, permits: 1, budget: budget{delete: 1, expel: 1}},
	{name: "two, one permit, a server behind", n: 2, permits: 1, budget: budget{stale: 2, loss: 1}},
	{name: "two, one permit, without telling answers", n: 2, permits: 1, mute: true, budget: budget{stale: 1, loss: 1}},
	{name: "two, one of them a try", n: 2, permits: 1, try: 1, budget: budget{loss: 1, expire: 1}},
	{name: "two tries", n: 2, permits: 1, try: 2, budget: budget{loss: 1, cancel: 1}},
	{name: "three, one of them a try", n: 3, permits: 2, try: 1},
	{name: "three, one permit, one of them a try", n: 3, permits: 1, try: 1, budget: budget{cancel: 1}},
	{name: "two, a try with a server behind, operators", n: 2, permits: 1, try: 1, budget: budget{stale: 1, delete: 1, expel: 1}},
	{name: "two that disagree, the one a try", n: 2, permits: 1, odd: 1, try: 1, budget: budget{loss: 1}},
	{name: "two that disagree", n: 2, permits: 1, odd: 1, budget: budget{loss: 1}},
	{name: "two, resized", n: 2, permits: 2, written: true, budget: budget{grow: 1, shrink: 1}},
	{name: "two that disagree, resized", n: 2, permits: 1, odd: 1, budget: budget{grow: 1, loss: 1}},
	{name: "two, one permit, revoked", n: 2, permits: 1, budget: budget{mark: 1, cancel: 1}},
	{name: "three, two permits", n: 3, permits: 2, budget: budget{loss: 1}},
	{name: "one beside Curator", n: 1, permits: 1, peer: true, budget: budget{loss: 1, cancel: 1, stale: 1}},
	{name: "two beside Curator, two permits", n: 2, permits: 2, peer: true, budget: budget{expire: 1}},

	{name: "three, two permits, cancel and operators", n: 3, permits: 2, deep: true, budget: budget{delete: 1, expel: 1, cancel: 1}},
	{name: "three, two permits, a server behind", n: 3, permits: 2, deep: true, budget: budget{stale: 2, loss: 1}},
	{name: "three, two permits, resized", n: 3, permits: 2, written: true, deep: true, budget: budget{grow: 1, shrink: 1, loss: 1}},
	{name: "two, all", n: 2, permits: 1, deep: true, budget: budget{loss: 1, cancel: 1, expire: 1, delete: 1, expel: 1, stale: 1}},
	{name: "three beside Curator", n: 3, permits: 2, peer: true, deep: true, budget: budget{loss: 1}},
}

// In every world: of so many permits as there ever were no more are held at a time, and no
// more leases are there unless a server was behind; leases are made in the order of the
// queue; nobody waits that need not; a holder hears of its end; nobody ends but with a cause or is left waiting; and
// nothing is left of a contender that has ended, unless the ensemble has refused to remove
// it.
func TestWalk(t *testing.T) {
	for _, r := range rules {
		explore.Through[*world](t, r.name, r.deep, func() world { return newWorld(&r, (*machine).step) })
	}
}

// Wrong says what must not be in w, if anything.
func (w *world) Wrong() string {
	holders := 0
	if w.peer == holdingPeer || w.peer == freePeer {
		holders++
	}
	for i := range int8(w.rule.n) {
		c := &w.clients[i]
		holds := c.m.state == held || c.m.state == revoked
		l := w.leaseOf(i)
		if holds && l != nil {
			holders++
		}
		switch {
		case holds && l == nil && !c.harmed && !c.over:
			return "held without a lease"
		case holds && l != nil && int64(l.czxid) != c.m.token:
			return "held with the token of another"
		case holders > int(w.largest):
			return "too many holders"
		case c.quit && c.m.state == held:
			return "quit was not heeded"
		case c.warned && c.m.state == held:
			return "the mark was not heeded"
		case c.told && holds, c.over && c.m.state != done:
			return "its end was not heeded"
		case c.m.state == done && c.m.cause == nil:
			return "over without a cause"
		case c.m.state == waiting && c.up && c.known == w.pzxid && (w.number > 0 && int(w.number) != c.m.permits || w.count() < c.m.permits):
			return "waits though it has heard that it need not"
		case c.m.try && (c.m.state == waiting || c.m.state == entering && c.blocked && (!c.follows || c.up && c.known == w.pzxid && w.count() >= c.m.permits)):
			return "waits against its will"
		case c.m.state == done && !c.over && !c.tainted && l != nil:
			return "over with something of it left"
		case l != nil && c.m.state < creating && !c.harmed:
			return "a lease that nobody has asked for"
		}
	}
	if w.count() > int(w.largest) && !w.lagged && w.peer != leasedPeer {
		return "too many leases"
	}
	return ""
}

func (w *world) Stuck() string {
	for i := range w.clients[:w.rule.n] {
		if w.clients[i].m.state != done {
			return fmt.Sprint("stuck: ", i)
		}
	}
	if w.count() > 0 || w.places[0] != 0 {
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
	all := []error{nil, errCanceled, errReleased, errExpired, errDenied, errExpelled, modelCauses.deleted, modelCauses.revoked, modelCauses.locked, ErrPermits}
	failure := func(err error) byte {
		return byte(slices.IndexFunc(all, func(e error) bool { return errors.Is(err, e) }))
	}
	g := w.budget
	b = append(b, byte(w.number), byte(w.version), byte(w.largest), byte(w.zxid), byte(w.pzxid), byte(w.peer), flags(w.lagged),
		byte(g.loss), byte(g.cancel), byte(g.expire), byte(g.refuse), byte(g.stale), byte(g.delete), byte(g.expel), byte(g.mark), byte(g.grow), byte(g.shrink))
	for _, l := range w.leases {
		b = append(b, byte(l.czxid), byte(l.owner), flags(l.marked))
	}
	for _, p := range w.places {
		b = append(b, byte(p))
	}
	for i := range w.clients[:w.rule.n] {
		c := &w.clients[i]
		m, r := &c.m, &c.reply
		b = append(b, byte(m.state), byte(m.token), failure(m.gateLost), failure(m.left), failure(m.cause),
			flags(c.follows, c.started, c.up, c.over, c.ended, c.arrived, c.expelled, c.freed),
			flags(c.wrote, c.quit, c.told, c.warned, c.harmed, c.tainted, c.req.write, c.blocked),
			byte(c.known), byte(c.number), byte(c.version), byte(c.phase), byte(c.asks), byte(c.req.verb), byte(c.req.version),
			byte(r.kind), byte(r.view.permits), byte(r.view.version), byte(r.view.leases), byte(r.token), failure(r.err))
	}
	return b
}
