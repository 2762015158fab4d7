package queue

import (
	"slices"
	"testing"

	"github.com/zkcoord/zkcoord/internal/explore"
)

// A mutant is a machine that is wrong in one way. That the walk finds it out is
// what its silence about the true one is worth.
type mutant struct {
	name  string
	world rule
	step  func(*machine, input) action
}

// mutants are wrong about the queue.
var mutants = []mutant{
	{"holds unconfirmed", rule{n: 2, budget: budget{loss: 1}}, func(m *machine, in input) action {
		m.confirmed = true
		return m.step(in)
	}},
	{"holds in doubt", rule{n: 2, budget: budget{loss: 1}}, func(m *machine, in input) action {
		if in.kind == doubt {
			return action{}
		}
		return m.step(in)
	}},
	{"holds at the listing though not the only one", rule{n: 2}, func(m *machine, in input) action {
		if in.kind == created {
			in.onlyChild = true
		}
		return m.step(in)
	}},
	{"takes any freed node for the last", rule{n: 3, budget: budget{cancel: 1}}, func(m *machine, in input) action {
		m.lastBlocker = true
		return m.step(in)
	}},
	{"overlooks a contender that is ahead but behind as text", rule{n: 2}, func(m *machine, in input) action {
		if in.kind == listed {
			in.names = slices.DeleteFunc(slices.Clone(in.names), func(name string) bool { return name > m.node })
		}
		return m.step(in)
	}},
	{"overlooks another recipe", rule{n: 2, latch: true}, func(m *machine, in input) action {
		if in.kind == listed {
			in.names = slices.DeleteFunc(slices.Clone(in.names), IsForeign)
		}
		return m.step(in)
	}},
	{"takes a node that is gone for a baton passed", rule{n: 3, batons: 3, budget: budget{cancel: 1}}, func(m *machine, in input) action {
		if in.kind == blockerGone {
			in.kind = passed
		}
		return m.step(in)
	}},
	{"passes its baton though it never held", rule{n: 3, batons: 3, budget: budget{cancel: 1}}, func(m *machine, in input) action {
		do := m.step(in)
		do.baton = do.baton || do.verb == remove
		return do
	}},
	{"forgets the baton that it has got late", rule{n: 2, late: true}, func(m *machine, in input) action {
		do := m.step(in)
		m.late = false
		return do
	}},
	{"passes the baton of a reader", rule{n: 3, kinds: "rrw", batons: 3}, func(m *machine, in input) action {
		do := m.step(in)
		do.baton = do.baton || do.verb == remove && in.kind == quit || do.verb == watch
		return do
	}},
	{"leaves its baton when its node is gone", rule{n: 3, batons: 3, budget: budget{delete: 1}}, func(m *machine, in input) action {
		if in.kind == gone && m.state != downgrading {
			return m.finish(m.causes.deleted)
		}
		return m.step(in)
	}},
	{"leaves its baton when its node is not listed", rule{n: 3, batons: 3, budget: budget{delete: 1}}, func(m *machine, in input) action {
		do := m.step(in)
		if in.kind == listed && m.gone {
			return m.finish(nil)
		}
		return do
	}},
	{"holds at the passing in doubt", rule{n: 3, batons: 3, budget: budget{loss: 1}}, func(m *machine, in input) action {
		if in.kind == passed && !m.confirmed {
			m.state = held // its own node not proven
			return action{}
		}
		return m.step(in)
	}},
	{"sleeps on though the baton was passed", rule{n: 3, batons: 3}, func(m *machine, in input) action {
		if in.kind == passed {
			return action{}
		}
		return m.step(in)
	}},
	{"says that all before it are gone though it never held", rule{n: 3, near: true, budget: budget{cancel: 1}}, func(m *machine, in input) action {
		m.head = true
		return m.step(in)
	}},
	{"says as a reader that all before it are gone", rule{n: 3, kinds: "rrw", near: true}, func(m *machine, in input) action {
		do := m.step(in)
		m.head = m.head || m.state == held
		return do
	}},
	{"says that its node is gone though it may not be removed", rule{n: 3, near: true, budget: budget{refuse: 1}}, func(m *machine, in input) action {
		do := m.step(in)
		m.stays = false
		return do
	}},
	{"follows the head", rule{n: 3}, func(m *machine, in input) action {
		do := m.step(in)
		if do.verb == watch {
			do.node = inOrder(in.names)[0].name
		}
		return do
	}},
	{"follows its own node", rule{n: 2}, func(m *machine, in input) action {
		do := m.step(in)
		if do.verb == watch {
			do.node = m.node
		}
		return do
	}},
	{"takes an unknown create for none", rule{n: 2, budget: budget{loss: 1}}, func(m *machine, in input) action {
		if in.kind == unknown {
			return action{verb: create}
		}
		return m.step(in)
	}},
	{"looks without a sync", rule{n: 2, budget: budget{loss: 1}}, func(m *machine, in input) action {
		do := m.step(in)
		do.sync = false
		return do
	}},
	{"looks forever", rule{n: 1, budget: budget{loss: 1}}, func(m *machine, in input) action {
		do := m.step(in)
		if do.verb == create {
			m.state = listing
			return action{verb: list}
		}
		return do
	}},
	{"drops a quit while a reply is due", rule{n: 2, budget: budget{cancel: 1}}, func(m *machine, in input) action {
		if in.kind == quit && (m.state == creating || m.state == looking || m.state == listing) {
			return action{}
		}
		return m.step(in)
	}},
	{"drops a quit while looking", rule{n: 2, budget: budget{cancel: 1, loss: 1}}, func(m *machine, in input) action {
		if in.kind == quit && m.state == looking {
			return action{}
		}
		return m.step(in)
	}},
	{"ends on cancel and removes nothing", rule{n: 2, budget: budget{cancel: 1}}, func(m *machine, in input) action {
		if in.kind == quit && m.state == waiting {
			return m.finish(in.err)
		}
		return m.step(in)
	}},
	{"ends before the removal is known", rule{n: 2}, func(m *machine, in input) action {
		do := m.step(in)
		if do.verb == remove {
			m.state = done
		}
		return do
	}},
	{"asks twice at once", rule{n: 2, budget: budget{cancel: 1}}, func(m *machine, in input) action {
		if in.kind == quit && m.state == listing {
			return m.leave(in.err)
		}
		return m.step(in)
	}},
	{"leaves its node when refused a listing", rule{n: 2, budget: budget{refuse: 1}}, func(m *machine, in input) action {
		if in.kind == refused && m.state == listing {
			return m.finish(in.err)
		}
		return m.step(in)
	}},
	{"holds on when its node is gone", rule{n: 2, budget: budget{delete: 1}}, func(m *machine, in input) action {
		if in.kind == gone && m.state == held {
			return action{}
		}
		return m.step(in)
	}},
	{"waits on when its node is gone", rule{n: 2, budget: budget{delete: 1}}, func(m *machine, in input) action {
		if in.kind == gone && m.state == waiting {
			return action{}
		}
		return m.step(in)
	}},
	{"outlives its session", rule{n: 1, budget: budget{expire: 1}}, func(m *machine, in input) action {
		if in.kind == expired && m.state == held {
			return action{}
		}
		return m.step(in)
	}},
	{"holds on when told to give way", rule{n: 1, budget: budget{mark: 1}}, func(m *machine, in input) action {
		if in.kind == revokeAsked {
			return action{}
		}
		return m.step(in)
	}},
	{"gives way before the owner does", rule{n: 1, budget: budget{mark: 1}}, func(m *machine, in input) action {
		if in.kind == revokeAsked && m.state == held {
			m.state = revoked
			return m.finish(m.causes.revoked)
		}
		return m.step(in)
	}},
	{"never lets go", rule{n: 1}, func(m *machine, in input) action {
		if in.kind == quit && m.state == held {
			m.state = confirming
			return action{}
		}
		return m.step(in)
	}},
	{"sleeps on", rule{n: 2}, func(m *machine, in input) action {
		if in.kind == blockerGone {
			return action{}
		}
		return m.step(in)
	}},
	{"waits though it was only to try", rule{n: 2, try: 1}, func(m *machine, in input) action {
		m.try = false
		do := m.step(in)
		m.try = true
		return do
	}},
	{"trusts numbers given twice", rule{n: 3, first: 1<<31 - 2}, func(m *machine, in input) action {
		if in.kind != listed {
			return m.step(in)
		}
		// Without the others of its number, and with its own in order.
		own := m.node[len(m.node)-10:]
		if own != "2147483647" {
			return m.step(in)
		}
		m.state = confirming
		for _, c := range inOrder(in.names) {
			if c.number < 1<<31-1 {
				m.state = waiting
				return action{verb: watch, node: c.name}
			}
		}
		return m.atHead()
	}},
}

func TestWalkFindsFaults(t *testing.T) {
	for _, mutant := range slices.Concat(mutants, rwMutants) {
		t.Run(mutant.name, func(t *testing.T) {
			states, fault := explore.Walk[*world](newWorld(&mutant.world, mutant.step))
			if fault == "" {
				t.Fatalf("not found out in %d states", states)
			}
			t.Logf("state %d: %s", states, fault)
		})
	}
}
