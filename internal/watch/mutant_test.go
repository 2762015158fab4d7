package watch

import (
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/explore"
)

// Each of these entries is wrong in one way. That the walk finds it out is what
// its silence about the true one is worth.
var mutants = []struct {
	name  string
	world rule
	step  func(*entry, input, *actions)
}{
	{"does not mind an event that overtakes the answer", rule{key: data, exists: true, budget: budget{change: 1}}, func(e *entry, in input, do *actions) {
		suspect := e.suspect
		e.step(in, do)
		if in.kind == fired {
			e.suspect = suspect
		}
	}},
	{"minds no more than events of its kind for a znode that is there", rule{key: children, budget: budget{change: 1}}, func(e *entry, in input, do *actions) {
		if in.kind == fired && in.event == zk.EventNodeCreated && e.watch == unarmed {
			return
		}
		e.step(in, do)
	}},
	{"relies on a watch armed on an earlier connection", rule{key: data, exists: true, budget: budget{change: 1, reset: 1, other: 1}}, func(e *entry, in input, do *actions) {
		suspect := e.suspect
		e.step(in, do)
		if in.kind == resumed {
			e.suspect = suspect
		}
	}},
	{"keeps its watch in a new session", rule{key: data, budget: budget{change: 1, expire: 1}}, func(e *entry, in input, do *actions) {
		in.newSession = false
		e.step(in, do)
	}},
	{"takes an answer of an earlier session", rule{key: data, budget: budget{expire: 1}}, func(e *entry, in input, do *actions) {
		if in.read != nil && e.read != nil {
			in.read = e.read
		}
		e.step(in, do)
	}},
	{"takes a watch for confirmed on a new connection", rule{key: data, exists: true, budget: budget{change: 1, reset: 1, other: 1}}, func(e *entry, in input, do *actions) {
		e.step(in, do)
		e.unconfirmed = false
	}},
	{"does not heed that its watch is confirmed", rule{key: data, budget: budget{reset: 1}}, func(e *entry, in input, do *actions) {
		if in.kind != rearmed {
			e.step(in, do)
		}
	}},
	{"does not read again on a new connection", rule{key: data, budget: budget{reset: 1}}, func(e *entry, in input, do *actions) {
		if in.kind == resumed && e.state == watching {
			e.down = false
			return
		}
		e.step(in, do)
	}},
	{"does not read once more for a subscriber that comes during a read", rule{key: data, budget: budget{change: 1}}, func(e *entry, in input, do *actions) {
		again := e.reread
		e.step(in, do)
		if in.kind == subscribe {
			e.reread = again
		}
	}},
	{"gives a subscriber that comes during a read what that brings", rule{key: data, exists: true, budget: budget{change: 1, other: 1}}, func(e *entry, in input, do *actions) {
		e.step(in, do)
		if in.kind == subscribe && e.state == reading {
			in.sub.owed = thisRead
		}
	}},
	{"gives a subscriber that comes on a new connection what was known before", rule{key: data, exists: true, budget: budget{change: 1, reset: 1, other: 1}}, func(e *entry, in input, do *actions) {
		unconfirmed := e.unconfirmed
		if in.kind == subscribe && e.state == watching && e.has {
			e.unconfirmed = false
		}
		e.step(in, do)
		e.unconfirmed = e.unconfirmed || unconfirmed && in.kind == subscribe
	}},
	{"gives a new subscriber what was known before a change", rule{key: data, exists: true, budget: budget{change: 1, other: 1}}, func(e *entry, in input, do *actions) {
		e.step(in, do)
		if in.kind == subscribe && e.state == queued && e.has && in.sub.owed != nothing {
			e.deliver(in.sub, do)
		}
	}},
	{"gives a new subscriber what is suspended", rule{key: data, exists: true, budget: budget{change: 1, reset: 1, other: 1}}, func(e *entry, in input, do *actions) {
		e.step(in, do)
		if in.kind == subscribe && e.down && e.has && in.sub.owed != nothing {
			e.deliver(in.sub, do)
		}
	}},
	{"does not say that the connection is lost", rule{key: data, budget: budget{reset: 1}}, func(e *entry, in input, do *actions) {
		if in.kind == suspended {
			e.down = true
			return
		}
		e.step(in, do)
	}},
	{"does not say that the connection is back", rule{key: data, budget: budget{reset: 1}}, func(e *entry, in input, do *actions) {
		if in.kind == answered {
			e.snap.Suspended = false
		}
		e.step(in, do)
	}},
	{"says of an end that it is suspended", rule{key: dataOnce, budget: budget{reset: 1}}, func(e *entry, in input, do *actions) {
		e.step(in, do)
		for i := range *do {
			(*do)[i].snap.Suspended = (*do)[i].verb == deliver && e.down
		}
	}},
	{"takes back that a deletion is final", rule{key: dataOnce, exists: true, budget: budget{change: 1, reset: 1}}, func(e *entry, in input, do *actions) {
		if in.kind == suspended && e.state == gone {
			e.snap.Suspended = true
			for _, sub := range e.subs {
				e.deliver(sub, do)
			}
		}
		e.step(in, do)
	}},
	{"asks what has become of what was deleted", rule{key: dataOnce, exists: true, budget: budget{change: 1}}, func(e *entry, in input, do *actions) {
		if in.kind == fired && in.event == zk.EventNodeDeleted {
			in.event = zk.EventNodeDataChanged
		}
		e.step(in, do)
	}},
	{"has a second one hear of an earlier deletion", rule{key: dataOnce, exists: true, budget: budget{change: 2, other: 1}}, func(e *entry, in input, do *actions) {
		if in.kind == subscribe && e.state == gone {
			e.subs = append(e.subs, in.sub)
			in.sub.index = len(e.subs) - 1
			e.deliver(in.sub, do)
			return
		}
		e.step(in, do)
	}},
	{"takes an answer that a deletion has overtaken", rule{key: dataOnce, exists: true, budget: budget{change: 2, reset: 1}}, func(e *entry, in input, do *actions) {
		if in.read != nil && e.state == gone {
			e.read, e.state = in.read, reading
		}
		e.step(in, do)
	}},
	{"watches for a creation that is not awaited", rule{key: dataOnce, budget: budget{}}, func(e *entry, in input, do *actions) {
		e.step(in, do)
		for i, a := range *do {
			if a.verb == read {
				e.read = &Read{key: data, arm: a.read.arm}
				(*do)[i].read = e.read
			}
		}
	}},
	{"is deaf after an event", rule{key: data, budget: budget{change: 2}}, func(e *entry, in input, do *actions) {
		w := e.watch
		e.step(in, do)
		if in.kind == fired && e.state == queued {
			e.watch = w
		}
	}},
	{"arms anew each time", rule{key: data, budget: budget{reset: 1}}, func(e *entry, in input, do *actions) {
		e.step(in, do)
		if in.kind == begin && e.read != nil {
			e.read.arm = true
		}
	}},
	{"never arms", rule{key: data}, func(e *entry, in input, do *actions) {
		e.step(in, do)
		if in.kind == begin && e.read != nil {
			e.read.arm = false
		}
	}},
	{"reads without end", rule{key: data}, func(e *entry, in input, do *actions) {
		if in.kind == begin {
			e.step(in, do)
			e.suspect = true
			return
		}
		e.step(in, do)
	}},
	{"reads for nobody", rule{key: data, budget: budget{change: 1, unsubscribe: 1}}, func(e *entry, in input, do *actions) {
		watch := e.watch
		e.step(in, do)
		if in.kind == fired && len(e.subs) == 0 && watch != unarmed {
			e.state, *do = queued, nil
		}
	}},
	{"does not repeat a read that failed", rule{key: data, budget: budget{fail: 1}}, func(e *entry, in input, do *actions) {
		if in.kind == failed && in.read == e.read && !e.reread {
			e.state, e.read = watching, nil
			return
		}
		e.step(in, do)
	}},
	{"ends those for whom nothing was refused", rule{key: data, exists: true, budget: budget{refuse: 1}}, func(e *entry, in input, do *actions) {
		if in.kind == refused {
			for _, sub := range e.subs {
				sub.owed = thisRead
			}
		}
		e.step(in, do)
	}},
	{"goes on after a refusal", rule{key: data, exists: true, budget: budget{refuse: 1}}, func(e *entry, in input, do *actions) {
		if in.kind == refused && in.read == e.read {
			e.state, e.read = watching, nil
			return
		}
		e.step(in, do)
	}},
	{"says too early that it is up to date", rule{key: data, exists: true, budget: budget{change: 1}}, func(e *entry, in input, do *actions) {
		e.step(in, do)
		slices.SortStableFunc(*do, func(a, b action) int { return int(b.verb) - int(a.verb) })
	}},
	{"says too late that it is not up to date", rule{key: data, exists: true, budget: budget{reset: 1}}, func(e *entry, in input, do *actions) {
		e.step(in, do)
		slices.SortStableFunc(*do, func(a, b action) int { return int(a.verb) - int(b.verb) })
	}},
	{"does not say that it is up to date", rule{key: data}, func(e *entry, in input, do *actions) {
		e.step(in, do)
		*do = slices.DeleteFunc(*do, func(a action) bool { return a.verb == tellUpToDate && a.upToDate })
	}},
	{"says everything twice", rule{key: data, exists: true}, func(e *entry, in input, do *actions) {
		if in.kind == answered {
			e.has = false
		}
		e.step(in, do)
	}},
	{"follows nothing for nobody and stays", rule{key: dataOnce, budget: budget{unsubscribe: 1}}, func(e *entry, in input, do *actions) {
		e.step(in, do)
		*do = slices.DeleteFunc(*do, func(a action) bool { return a.verb == forget })
	}},
	{"forgets a watch that is armed", rule{key: data, budget: budget{unsubscribe: 1}}, func(e *entry, in input, do *actions) {
		e.step(in, do)
		if len(e.subs) == 0 && e.state == watching {
			do.add(action{verb: forget})
		}
	}},
	{"keeps for nobody what was read", rule{key: data, exists: true, budget: budget{unsubscribe: 1}}, func(e *entry, in input, do *actions) {
		snap, has := e.snap, e.has
		e.step(in, do)
		if in.kind == unsubscribe {
			e.snap, e.has = snap, has
		}
	}},
	{"gives something to a subscriber that has left", rule{key: data, budget: budget{change: 1, unsubscribe: 1}}, func(e *entry, in input, do *actions) {
		if in.kind == unsubscribe && len(e.subs) > 1 {
			return
		}
		e.step(in, do)
	}},
	{"goes back", rule{key: data, budget: budget{change: 2}}, func(e *entry, in input, do *actions) {
		snap := e.snap
		e.step(in, do)
		if in.kind == answered && snap.Exists != e.snap.Exists {
			e.publish(event.Snapshot{}, nothing, do)
		}
	}},
}

func TestWalkFindsFaults(t *testing.T) {
	for _, mutant := range mutants {
		t.Run(mutant.name, func(t *testing.T) {
			t.Parallel()
			states, fault := explore.Walk[*world](newWorld(&mutant.world, mutant.step))
			if fault == "" {
				t.Fatalf("not found out in %d states", states)
			}
			t.Logf("state %d: %s", states, fault)
		})
	}
}
