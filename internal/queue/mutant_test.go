package queue

import (
	"slices"
	"testing"
)

// Each of these machines is wrong in one way. That the walk finds it out is
// what its silence about the true one is worth.
var mutants = []struct {
	name  string
	world rule
	step  func(*machine, event) op
}{
	{"holds without proof", rule{n: 2, budget: budget{loss: 1}}, func(m *machine, ev event) op {
		m.proven = true
		return m.step(ev)
	}},
	{"holds in doubt", rule{n: 2, budget: budget{loss: 1}}, func(m *machine, ev event) op {
		if ev.signal == doubt {
			return op{}
		}
		return m.step(ev)
	}},
	{"holds at the listing though not the only one", rule{n: 2}, func(m *machine, ev event) op {
		if ev.signal == created {
			ev.alone = true
		}
		return m.step(ev)
	}},
	{"takes any freed node for the last", rule{n: 3, budget: budget{cancel: 1}}, func(m *machine, ev event) op {
		m.sole = true
		return m.step(ev)
	}},
	{"overlooks who is ahead but behind as text", rule{n: 2}, func(m *machine, ev event) op {
		if ev.signal == listed {
			ev.names = slices.DeleteFunc(slices.Clone(ev.names), func(name string) bool { return name > m.node })
		}
		return m.step(ev)
	}},
	{"follows the head", rule{n: 3}, func(m *machine, ev event) op {
		do := m.step(ev)
		if do.verb == watch {
			do.node = line(ev.names)[0].name
		}
		return do
	}},
	{"follows its own node", rule{n: 2}, func(m *machine, ev event) op {
		do := m.step(ev)
		if do.verb == watch {
			do.node = m.node
		}
		return do
	}},
	{"takes an unknown create for none", rule{n: 2, budget: budget{loss: 1}}, func(m *machine, ev event) op {
		if ev.signal == unknown {
			return op{verb: create}
		}
		return m.step(ev)
	}},
	{"looks without a sync", rule{n: 2, budget: budget{loss: 1}}, func(m *machine, ev event) op {
		do := m.step(ev)
		do.sync = false
		return do
	}},
	{"looks for ever", rule{n: 1, budget: budget{loss: 1}}, func(m *machine, ev event) op {
		do := m.step(ev)
		if do.verb == create {
			m.state = listing
			return op{verb: list}
		}
		return do
	}},
	{"drops a quit while a reply is due", rule{n: 2, budget: budget{cancel: 1}}, func(m *machine, ev event) op {
		if ev.signal == quit && (m.state == creating || m.state == looking || m.state == listing) {
			return op{}
		}
		return m.step(ev)
	}},
	{"drops a quit while looking", rule{n: 2, budget: budget{cancel: 1, loss: 1}}, func(m *machine, ev event) op {
		if ev.signal == quit && m.state == looking {
			return op{}
		}
		return m.step(ev)
	}},
	{"ends on cancel and removes nothing", rule{n: 2, budget: budget{cancel: 1}}, func(m *machine, ev event) op {
		if ev.signal == quit && m.state == waiting {
			return m.finish(ev.err)
		}
		return m.step(ev)
	}},
	{"ends before the removal is known", rule{n: 2}, func(m *machine, ev event) op {
		do := m.step(ev)
		if do.verb == remove {
			m.state = done
		}
		return do
	}},
	{"asks twice at once", rule{n: 2, budget: budget{cancel: 1}}, func(m *machine, ev event) op {
		if ev.signal == quit && m.state == listing {
			return m.leave(ev.err)
		}
		return m.step(ev)
	}},
	{"leaves its node when refused a listing", rule{n: 2, budget: budget{refuse: 1}}, func(m *machine, ev event) op {
		if ev.signal == refused && m.state == listing {
			return m.finish(ev.err)
		}
		return m.step(ev)
	}},
	{"holds on when its node is gone", rule{n: 2, budget: budget{delete: 1}}, func(m *machine, ev event) op {
		if ev.signal == gone && m.state == held {
			return op{}
		}
		return m.step(ev)
	}},
	{"waits on when its node is gone", rule{n: 2, budget: budget{delete: 1}}, func(m *machine, ev event) op {
		if ev.signal == gone && m.state == waiting {
			return op{}
		}
		return m.step(ev)
	}},
	{"outlives its session", rule{n: 1, budget: budget{expire: 1}}, func(m *machine, ev event) op {
		if ev.signal == expired && m.state == held {
			return op{}
		}
		return m.step(ev)
	}},
	{"holds on when told to give way", rule{n: 1, budget: budget{mark: 1}}, func(m *machine, ev event) op {
		if ev.signal == marked {
			return op{}
		}
		return m.step(ev)
	}},
	{"gives way before the owner does", rule{n: 1, budget: budget{mark: 1}}, func(m *machine, ev event) op {
		if ev.signal == marked && m.state == held {
			m.state = revoked
			return m.finish(m.causes.revoked)
		}
		return m.step(ev)
	}},
	{"never lets go", rule{n: 1}, func(m *machine, ev event) op {
		if ev.signal == quit && m.state == held {
			m.state = confirming
			return op{}
		}
		return m.step(ev)
	}},
	{"sleeps on", rule{n: 2}, func(m *machine, ev event) op {
		if ev.signal == freed {
			return op{}
		}
		return m.step(ev)
	}},
	{"waits though it was only to try", rule{n: 2, try: 1}, func(m *machine, ev event) op {
		m.try = false
		do := m.step(ev)
		m.try = true
		return do
	}},
	{"trusts numbers given twice", rule{n: 3, first: 1<<31 - 2}, func(m *machine, ev event) op {
		if ev.signal != listed {
			return m.step(ev)
		}
		// Without the others of its number, and with its own in order.
		own := m.node[len(m.node)-10:]
		if own != "2147483647" {
			return m.step(ev)
		}
		m.state = confirming
		for _, c := range line(ev.names) {
			if c.number < 1<<31-1 {
				m.state = waiting
				return op{verb: watch, node: c.name}
			}
		}
		return m.head()
	}},
	{"reads beside a writer who holds", rule{n: 2, kinds: "rw"}, func(m *machine, ev event) op {
		if ev.signal == listed && m.kind == read {
			ev.names = slices.DeleteFunc(slices.Clone(ev.names), func(name string) bool { return !Reads(name) })
		}
		return m.step(ev)
	}},
	{"reads though a writer waits before it", rule{n: 3, kinds: "rrw"}, func(m *machine, ev event) op {
		if ev.signal == listed && m.kind == read && Reads(line(ev.names)[0].name) {
			return m.head() // with the other readers
		}
		return m.step(ev)
	}},
	{"waits for a writer behind it", rule{n: 3, kinds: "rrw"}, func(m *machine, ev event) op {
		do := m.step(ev)
		if ev.signal == listed && m.kind == read && do.verb == nothing {
			for _, c := range line(ev.names) {
				if c.kind == write {
					m.state = waiting
					return op{verb: watch, node: c.name}
				}
			}
		}
		return do
	}},
	{"waits for a reader though it reads", rule{n: 2, kinds: "rr"}, func(m *machine, ev event) op {
		if ev.signal == listed && m.kind == read {
			if first := line(ev.names)[0]; first.id != m.id {
				m.state = waiting
				return op{verb: watch, node: first.name}
			}
		}
		return m.step(ev)
	}},
	{"writes beside readers", rule{n: 2, kinds: "rw"}, func(m *machine, ev event) op {
		if ev.signal == listed && m.kind == write {
			ev.names = slices.DeleteFunc(slices.Clone(ev.names), Reads)
		}
		return m.step(ev)
	}},
	{"takes a writer that goes for gone", rule{n: 2, kinds: "ww", budget: budget{share: 1}}, func(m *machine, ev event) op {
		m.sole = true
		return m.step(ev)
	}},
	{"takes its own downgrade for a loss", rule{n: 1, kinds: "w", budget: budget{share: 1}}, func(m *machine, ev event) op {
		if ev.signal == gone && m.state == downgrading {
			return m.finish(m.causes.deleted)
		}
		return m.step(ev)
	}},
	{"takes word of its node for the answer to a downgrade", rule{n: 1, kinds: "w", budget: budget{share: 1, delete: 1}}, func(m *machine, ev event) op {
		if ev.signal == gone && m.state == downgrading {
			ev = event{signal: moved, node: asRead(m.node)}
		}
		return m.step(ev)
	}},
	{"thinks it is what it was", rule{n: 1, kinds: "w", budget: budget{share: 1}}, func(m *machine, ev event) op {
		if ev.signal == moved {
			ev.node = m.node
		}
		return m.step(ev)
	}},
	{"thinks a downgrade done that was refused", rule{n: 1, kinds: "w", budget: budget{share: 1, refuse: 1}}, func(m *machine, ev event) op {
		if ev.signal == refused && m.state == downgrading {
			ev = event{signal: moved, node: asRead(m.node)}
		}
		return m.step(ev)
	}},
	{"holds on though there was nothing to downgrade", rule{n: 1, kinds: "w", budget: budget{share: 1, delete: 1}}, func(m *machine, ev event) op {
		if ev.signal == removed && m.state == downgrading {
			return m.settle()
		}
		return m.step(ev)
	}},
	{"forgets a release during a downgrade", rule{n: 1, kinds: "w", budget: budget{share: 1}}, func(m *machine, ev event) op {
		if ev.signal == quit && m.state == downgrading {
			return op{}
		}
		return m.step(ev)
	}},
	{"ends at a release during a downgrade", rule{n: 1, kinds: "w", budget: budget{share: 1}}, func(m *machine, ev event) op {
		if ev.signal == quit && m.state == downgrading {
			return m.finish(ev.err)
		}
		return m.step(ev)
	}},
	{"outlives its session in a downgrade", rule{n: 1, kinds: "w", budget: budget{share: 1, expire: 1}}, func(m *machine, ev event) op {
		if ev.signal == expired && m.state == downgrading {
			return op{}
		}
		return m.step(ev)
	}},
	{"loses its place at a downgrade", rule{n: 2, kinds: "ww", budget: budget{share: 1}}, func(m *machine, ev event) op {
		if ev.signal == share && m.state == held {
			m.kind = read
			m.state = held
			return op{verb: create} // at the end of the queue
		}
		return m.step(ev)
	}},
	{"lets go before it takes", rule{n: 2, kinds: "ww", budget: budget{share: 1}}, func(m *machine, ev event) op {
		if ev.signal == share && m.state == held {
			m.state = downgrading
			return op{verb: remove, node: m.node}
		}
		if ev.signal == removed && m.state == downgrading {
			m.state, m.kind, m.node = creating, read, ""
			return op{verb: create}
		}
		return m.step(ev)
	}},
}

func TestWalkFindsFaults(t *testing.T) {
	for _, mutant := range mutants {
		t.Run(mutant.name, func(t *testing.T) {
			states, fault := walk(mutant.world, mutant.step)
			if fault == "" {
				t.Fatalf("not found out in %d states", states)
			}
			t.Logf("state %d: %s", states, fault)
		})
	}
}
