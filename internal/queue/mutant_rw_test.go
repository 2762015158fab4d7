package queue

import (
	"slices"
)

// rwMutants are wrong about reading, writing and downgrades.
var rwMutants = []mutant{
	{"reads beside a writer that holds", rule{n: 2, kinds: "rw"}, func(m *machine, in input) action {
		if in.kind == listed && m.mode == Read {
			in.names = slices.DeleteFunc(slices.Clone(in.names), func(name string) bool { return !reads(name) })
		}
		return m.step(in)
	}},
	{"reads though a writer waits before it", rule{n: 3, kinds: "rrw"}, func(m *machine, in input) action {
		if in.kind == listed && m.mode == Read && reads(inOrder(in.names)[0].name) {
			return m.atHead() // with the other readers
		}
		return m.step(in)
	}},
	{"waits for a writer behind it", rule{n: 3, kinds: "rrw"}, func(m *machine, in input) action {
		do := m.step(in)
		if in.kind == listed && m.mode == Read && do.verb == nothing {
			for _, c := range inOrder(in.names) {
				if c.mode == Write {
					m.state = waiting
					return action{verb: watch, node: c.name}
				}
			}
		}
		return do
	}},
	{"waits for a reader though it reads", rule{n: 2, kinds: "rr"}, func(m *machine, in input) action {
		if in.kind == listed && m.mode == Read {
			if first := inOrder(in.names)[0]; first.id != m.id {
				m.state = waiting
				return action{verb: watch, node: first.name}
			}
		}
		return m.step(in)
	}},
	{"writes beside readers", rule{n: 2, kinds: "rw"}, func(m *machine, in input) action {
		if in.kind == listed && m.mode == Write {
			in.names = slices.DeleteFunc(slices.Clone(in.names), reads)
		}
		return m.step(in)
	}},
	{"takes a writer that goes for gone", rule{n: 2, kinds: "ww", budget: budget{share: 1}}, func(m *machine, in input) action {
		m.lastBlocker = true
		return m.step(in)
	}},
	{"takes its own downgrade for a loss", rule{n: 1, kinds: "w", budget: budget{share: 1}}, func(m *machine, in input) action {
		if in.kind == gone && m.state == downgrading {
			return m.finish(m.causes.deleted)
		}
		return m.step(in)
	}},
	{"takes word of its node for the answer to a downgrade", rule{n: 1, kinds: "w", budget: budget{share: 1, delete: 1}}, func(m *machine, in input) action {
		if in.kind == gone && m.state == downgrading {
			in = input{kind: replaced, node: asRead(m.node)}
		}
		return m.step(in)
	}},
	{"thinks it is what it was", rule{n: 1, kinds: "w", budget: budget{share: 1}}, func(m *machine, in input) action {
		if in.kind == replaced {
			in.node = m.node
		}
		return m.step(in)
	}},
	{"thinks a downgrade done that was refused", rule{n: 1, kinds: "w", budget: budget{share: 1, refuse: 1}}, func(m *machine, in input) action {
		if in.kind == refused && m.state == downgrading {
			in = input{kind: replaced, node: asRead(m.node)}
		}
		return m.step(in)
	}},
	{"holds on though there was nothing to downgrade", rule{n: 1, kinds: "w", budget: budget{share: 1, delete: 1}}, func(m *machine, in input) action {
		if in.kind == removed && m.state == downgrading {
			return m.afterDowngrade()
		}
		return m.step(in)
	}},
	{"forgets a release during a downgrade", rule{n: 1, kinds: "w", budget: budget{share: 1}}, func(m *machine, in input) action {
		if in.kind == quit && m.state == downgrading {
			return action{}
		}
		return m.step(in)
	}},
	{"ends at a release during a downgrade", rule{n: 1, kinds: "w", budget: budget{share: 1}}, func(m *machine, in input) action {
		if in.kind == quit && m.state == downgrading {
			return m.finish(in.err)
		}
		return m.step(in)
	}},
	{"outlives its session in a downgrade", rule{n: 1, kinds: "w", budget: budget{share: 1, expire: 1}}, func(m *machine, in input) action {
		if in.kind == expired && m.state == downgrading {
			return action{}
		}
		return m.step(in)
	}},
	{"loses its place at a downgrade", rule{n: 2, kinds: "ww", budget: budget{share: 1}}, func(m *machine, in input) action {
		if in.kind == downgradeAsked && m.state == held {
			m.mode = Read
			m.state = held
			return action{verb: create} // at the end of the queue
		}
		return m.step(in)
	}},
	{"lets go before it takes", rule{n: 2, kinds: "ww", budget: budget{share: 1}}, func(m *machine, in input) action {
		if in.kind == downgradeAsked && m.state == held {
			m.state = downgrading
			return action{verb: remove, node: m.node}
		}
		if in.kind == removed && m.state == downgrading {
			m.state, m.mode, m.node = creating, Read, ""
			return action{verb: create}
		}
		return m.step(in)
	}},
}
