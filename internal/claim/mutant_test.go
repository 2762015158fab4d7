package claim

import (
	"testing"

	"github.com/zkcoord/zkcoord/internal/explore"
)

// Each of these machines is wrong in one way. That the walk finds it out is what
// its silence about the true one is worth.
var mutants = []struct {
	name  string
	world rule
	step  func(*machine, input) op
}{
	{"holds beside an earlier guard", rule{n: 2, budget: budget{delete: 1}}, func(m *machine, in input) op {
		in.alone = true
		return m.step(in)
	}},
	{"holds without a look at what is there", rule{n: 2, budget: budget{delete: 1}}, func(m *machine, in input) op {
		if in.kind == cleared {
			return m.renew()
		}
		return m.step(in)
	}},
	{"makes the path before its guard is known to be gone", rule{n: 2, budget: budget{delete: 1}}, func(m *machine, in input) op {
		if in.kind == seen && m.state == checking && in.whose != mine && m.cause == nil {
			return m.create(znode{})
		}
		return m.step(in)
	}},
	{"remembers that it was displaced", rule{n: 1, budget: budget{loss: 1, delete: 1}}, func(m *machine, in input) op {
		displaced := m.displaced
		do := m.step(in)
		m.displaced = m.displaced || displaced
		return do
	}},
	{"takes a lost create for none", rule{n: 1, budget: budget{loss: 1}}, func(m *machine, in input) op {
		if in.kind == unknown {
			return m.create(znode{})
		}
		return m.step(in)
	}},
	{"looks for a lost create without a sync", rule{n: 1, budget: budget{loss: 1}}, func(m *machine, in input) op {
		do := m.step(in)
		do.sync = false
		return do
	}},
	{"takes what is at the path for its own", rule{n: 2, strict: true, one: true, budget: budget{loss: 1}}, func(m *machine, in input) op {
		do := m.step(in)
		do.guard = false
		return do
	}},
	{"looks forever", rule{n: 1, foreign: true}, func(m *machine, in input) op {
		if in.kind == seen && in.whose == another {
			return op{action: look}
		}
		return m.step(in)
	}},
	{"replaces another's znode", rule{n: 2}, func(m *machine, in input) op {
		if in.kind == seen && m.state == looking && in.whose == another {
			return m.create(in.at)
		}
		return m.step(in)
	}},
	{"waits for what its last session left behind", rule{n: 1, former: true, try: 1}, func(m *machine, in input) op {
		if in.whose == former {
			m.state = taken
			return op{action: watch, at: in.at}
		}
		return m.step(in)
	}},
	{"waits though it was only to try", rule{n: 1, try: 1, foreign: true}, func(m *machine, in input) op {
		m.wait = true
		do := m.step(in)
		m.wait = false
		return do
	}},
	{"sleeps on", rule{n: 2}, func(m *machine, in input) op {
		if in.kind == freed {
			return op{}
		}
		return m.step(in)
	}},
	{"takes a freed path for its own", rule{n: 2}, func(m *machine, in input) op {
		if in.kind == freed {
			m.token = m.at.czxid
			return m.renew()
		}
		return m.step(in)
	}},
	{"drops a quit while a reply is due", rule{n: 1, budget: budget{cancel: 1}}, func(m *machine, in input) op {
		if in.kind == quit && m.state == creating {
			return op{}
		}
		return m.step(in)
	}},
	{"forgets a quit while it clears", rule{n: 2, budget: budget{cancel: 1, delete: 1}}, func(m *machine, in input) op {
		if in.kind == quit && (m.state == clearing || m.state == checking) {
			return op{}
		}
		return m.step(in)
	}},
	{"holds though it was to quit while it renewed", rule{n: 1, budget: budget{cancel: 1}}, func(m *machine, in input) op {
		if in.kind == renewed {
			m.state = held
			return op{}
		}
		return m.step(in)
	}},
	{"ends at a quit and removes nothing", rule{n: 1}, func(m *machine, in input) op {
		if in.kind == quit && m.state == held {
			return m.finish(in.err)
		}
		return m.step(in)
	}},
	{"ends at a quit before a lost create is known", rule{n: 1, budget: budget{cancel: 1, loss: 1}}, func(m *machine, in input) op {
		if in.kind == unknown && m.cause != nil {
			return m.finish(nil)
		}
		return m.step(in)
	}},
	{"ends before the removal is known", rule{n: 1}, func(m *machine, in input) op {
		do := m.step(in)
		if do.action == remove {
			m.state = done
		}
		return do
	}},
	{"asks twice at once", rule{n: 1, budget: budget{cancel: 1}}, func(m *machine, in input) op {
		if in.kind == quit && m.state == renewing {
			return m.leave(in.err)
		}
		return m.step(in)
	}},
	{"holds on when its znode is gone", rule{n: 1, budget: budget{delete: 1}}, func(m *machine, in input) op {
		if in.kind == gone {
			return op{}
		}
		return m.step(in)
	}},
	{"writes on when its znode is gone", rule{n: 1, budget: budget{delete: 1, fresh: 1}}, func(m *machine, in input) op {
		if in.kind == gone && m.state == writing || in.kind == missing && m.state == writing {
			m.state = held
			return op{}
		}
		return m.step(in)
	}},
	{"takes another's znode that it wrote to for its own", rule{n: 2, budget: budget{delete: 1, fresh: 1}}, func(m *machine, in input) op {
		if in.kind == written {
			m.at = in.at
			m.token = in.at.czxid
		}
		return m.step(in)
	}},
	{"gives a write up that others came before", rule{n: 1, budget: budget{meddle: 1, fresh: 1}}, func(m *machine, in input) op {
		if in.kind == outdated && m.state == writing {
			in = input{kind: written, at: m.at}
		}
		return m.step(in)
	}},
	{"outlives its session", rule{n: 1, budget: budget{expire: 1}}, func(m *machine, in input) op {
		if in.kind == expired && m.state == held {
			return op{}
		}
		return m.step(in)
	}},
	{"holds on when told to give way", rule{n: 2, strict: true, budget: budget{mark: 1}}, func(m *machine, in input) op {
		if in.kind == marked {
			return op{}
		}
		return m.step(in)
	}},
	{"gives way before the owner does", rule{n: 1, strict: true, budget: budget{mark: 1}}, func(m *machine, in input) op {
		if in.kind == marked && m.state == held {
			m.state = revoked
			return m.finish(m.causes.revoked)
		}
		return m.step(in)
	}},
	{"leaves its guard when the path is another's", rule{n: 1, budget: budget{delete: 1}}, func(m *machine, in input) op {
		do := m.step(in)
		if do.action == drop {
			return m.finish(nil)
		}
		return do
	}},
	{"gives up a removal because somebody wrote to the znode", rule{n: 1, budget: budget{meddle: 1}}, func(m *machine, in input) op {
		if in.kind == outdated && m.state == leaving {
			return m.finish(nil)
		}
		return m.step(in)
	}},
	{"removes by version when its guard is gone", rule{n: 2, budget: budget{delete: 1, snatch: 1}}, func(m *machine, in input) op {
		do := m.step(in)
		if do.action == rename {
			m.guarded, m.state = false, leaving
			return op{action: remove, at: m.at}
		}
		return do
	}},
	{"removes by a new guard without another look", rule{n: 2, budget: budget{delete: 1, snatch: 1}}, func(m *machine, in input) op {
		if in.kind == renamed {
			m.absent = false
			return m.remove()
		}
		return m.step(in)
	}},
	{"takes a missing guard for the end of its znode", rule{n: 1, budget: budget{snatch: 1}}, func(m *machine, in input) op {
		if in.kind == missing {
			return m.finish(nil)
		}
		return m.step(in)
	}},
	{"leaves the path because its guard may not be removed", rule{n: 1, budget: budget{keep: 1}}, func(m *machine, in input) op {
		if in.kind == kept {
			m.left = in.err
			return m.finish(nil)
		}
		return m.step(in)
	}},
	{"holds, a lock, though an earlier guard may not be removed", rule{n: 2, strict: true, budget: budget{delete: 1, refuse: 1}}, func(m *machine, in input) op {
		if in.kind == refused && m.state == clearing {
			return m.check()
		}
		return m.step(in)
	}},
}

func TestWalkFindsFaults(t *testing.T) {
	for _, mutant := range mutants {
		t.Run(mutant.name, func(t *testing.T) {
			states, fault := explore.Walk[*world](newWorld(&mutant.world, mutant.step))
			if fault == "" {
				t.Fatalf("not found out in %d states", states)
			}
			t.Logf("state %d: %s", states, fault)
		})
	}
}
