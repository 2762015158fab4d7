package semaphore

import (
	"testing"

	"github.com/zkcoord/zkcoord/internal/explore"
)

// on returns the machine that does f instead of what it should when it is told k in one of
// the states given, in any if none is.
func on(k kind, f func(*machine, input) action, states ...state) func(*machine, input) action {
	return func(m *machine, in input) action {
		fits := len(states) == 0
		for _, s := range states {
			fits = fits || m.state == s
		}
		if in.kind == k && fits {
			return f(m, in)
		}
		return m.step(in)
	}
}

func ignore(*machine, input) action { return action{} }

// Each of these machines is wrong in one way. That the walk finds it out is what its silence
// about the true one is worth.
var mutants = []struct {
	name  string
	world rule
	step  func(*machine, input) action
}{
	{"takes one permit more than there are", rule{n: 2, permits: 1}, on(seen, func(m *machine, in input) action {
		in.view.leases--
		return m.step(in)
	})},
	{"keeps a lease that is one too many", rule{n: 2, permits: 1, budget: budget{stale: 1}}, on(created, func(m *machine, in input) action {
		in.view.leases = 0
		return m.step(in)
	})},
	{"keeps a lease that is one too many, found after a loss", rule{n: 2, permits: 1, budget: budget{stale: 1, loss: 1}}, on(found, func(m *machine, in input) action {
		in.view.leases = 0
		return m.step(in)
	})},
	{"holds without a look at a lease of which the answer tells nothing", rule{n: 2, permits: 1, mute: true, budget: budget{stale: 1}}, on(created, func(m *machine, in input) action {
		m.state, m.token = held, 1
		return action{}
	})},
	{"makes a lease by a number that is out of date", rule{n: 2, permits: 2, written: true, budget: budget{shrink: 1}}, on(outdated, func(m *machine, in input) action {
		m.state = held
		return action{}
	})},
	{"does not compare the numbers", rule{n: 2, permits: 1, odd: 1}, on(seen, func(m *machine, in input) action {
		in.view.permits = m.permits
		return m.step(in)
	})},
	{"does not look at the number again while it waits", rule{n: 2, permits: 1, budget: budget{grow: 1}}, on(seen, func(m *machine, in input) action {
		if in.view.leases >= m.permits {
			return action{}
		}
		return m.step(in)
	}, waiting)},
	{"sleeps on when a permit is free", rule{n: 2, permits: 1}, on(seen, ignore, waiting)},
	{"waits though it was only to try", rule{n: 2, permits: 1, try: 1}, func(m *machine, in input) action {
		try := m.try
		m.try = false
		a := m.step(in)
		m.try = try
		return a
	}},
	{"waits for the gate as a try though it has heard that all is taken", rule{n: 2, permits: 1, try: 1}, on(seen, ignore, entering)},
	{"gives up as a try because somebody is before it", rule{n: 2, permits: 2, try: 1}, on(blocked, func(m *machine, in input) action { return m.finish(modelCauses.locked) })},
	{"asks at the gate though it has asked before", rule{n: 2, permits: 1, try: 1}, on(entered, func(m *machine, in input) action { return m.read() }, asking)},
	{"misses the gate while it asks", rule{n: 2, permits: 1, try: 1}, on(entered, ignore, asking)},
	{"takes for the gate's what it has read before", rule{n: 3, permits: 2, try: 1}, on(entered, func(m *machine, in input) action {
		m.state = reading
		return action{}
	}, asking)},
	{"does not follow the leases as a try", rule{n: 2, permits: 1, try: 1}, on(seen, func(m *machine, in input) action {
		m.state = entering
		return action{}
	}, asking)},
	{"takes a lost create for none", rule{n: 1, permits: 1, budget: budget{loss: 1}}, on(unknown, func(m *machine, in input) action { return m.read() })},
	{"ends at a lost create", rule{n: 1, permits: 1, budget: budget{loss: 1}}, on(unknown, func(m *machine, in input) action { return m.finish(errDenied) })},
	{"makes no other lease when a lost create was not carried out", rule{n: 1, permits: 1, budget: budget{loss: 1}}, on(absent, func(m *machine, in input) action {
		m.state = waiting
		return action{verb: follow}
	})},
	{"holds a lease that it does not find", rule{n: 1, permits: 1, budget: budget{loss: 1}}, on(absent, func(m *machine, in input) action {
		m.state, m.token = held, 1
		return action{}
	})},
	{"waits on without a place", rule{n: 2, permits: 1, budget: budget{expel: 1}}, on(gateLost, ignore)},
	{"asks on without a place", rule{n: 2, permits: 1, budget: budget{expel: 1}}, on(shut, func(m *machine, in input) action { return m.read() })},
	{"drops a quit while a create is in flight", rule{n: 1, permits: 1, budget: budget{cancel: 1}}, on(quit, ignore, creating)},
	{"ends at a quit while a create is in flight", rule{n: 1, permits: 1, budget: budget{cancel: 1}}, on(quit, func(m *machine, in input) action { return m.finish(in.err) }, creating)},
	{"forgets a quit while it looks", rule{n: 1, permits: 1, budget: budget{cancel: 1, loss: 1}}, on(quit, ignore, looking)},
	{"forgets a quit while it withdraws", rule{n: 2, permits: 1, budget: budget{cancel: 1, stale: 1}}, on(quit, ignore, withdrawing)},
	{"ends at a quit and removes nothing", rule{n: 1, permits: 1}, on(quit, func(m *machine, in input) action { return m.finish(in.err) }, held)},
	{"ends before the removal is known", rule{n: 1, permits: 1}, func(m *machine, in input) action {
		a := m.step(in)
		if a.verb == remove {
			m.state = done
		}
		return a
	}},
	{"asks twice at once", rule{n: 1, permits: 1, budget: budget{cancel: 1}}, on(quit, func(m *machine, in input) action { return m.leave(in.err) }, creating)},
	{"looks forever", rule{n: 1, permits: 1, budget: budget{loss: 1}}, on(absent, func(m *machine, in input) action { return action{verb: look} })},
	{"gives its lease back and waits for it forever", rule{n: 2, permits: 1, budget: budget{stale: 1}}, on(removed, func(m *machine, in input) action {
		m.state = waiting
		return action{}
	}, withdrawing)},
	{"ends when it has withdrawn", rule{n: 2, permits: 1, budget: budget{stale: 1}}, on(created, func(m *machine, in input) action {
		if in.view.leases > m.permits {
			return m.finish(nil)
		}
		return m.step(in)
	})},
	{"holds on when its lease is gone", rule{n: 1, permits: 1, budget: budget{delete: 1}}, on(gone, ignore)},
	{"outlives its session", rule{n: 1, permits: 1, budget: budget{expire: 1}}, on(expired, ignore, held)},
	{"waits on in a session that is over", rule{n: 2, permits: 1, budget: budget{expire: 1}}, on(expired, ignore, waiting)},
	{"holds on when told to give way", rule{n: 1, permits: 1, budget: budget{mark: 1}}, on(revokeAsked, ignore)},
	{"gives way before the owner does", rule{n: 1, permits: 1, budget: budget{mark: 1}}, on(revokeAsked, func(m *machine, in input) action { return m.finish(modelCauses.revoked) })},
	{"ends without a cause", rule{n: 1, permits: 1}, on(quit, func(m *machine, in input) action { return m.leave(nil) }, held)},
	{"makes a lease again though it has one", rule{n: 1, permits: 2, mute: true}, on(created, func(m *machine, in input) action { return m.read() })},
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
