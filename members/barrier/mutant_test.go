package barrier

import (
	"bytes"
	"reflect"
	"testing"
	"unsafe"

	"github.com/zkcoord/zkcoord/internal/explore"
)

// Each of these machines is wrong in one way. That the walk finds it out is what its
// silence about the true one is worth.
var mutants = []struct {
	name  string
	world rule
	step  func(*machine, input) op
}{
	{"opens a round with too few", rule{n: 2, many: 2, rounds: 1}, func(m *machine, in input) op {
		if in.kind == listed && m.in && m.cause == nil && !in.open {
			m.state = opening
			return op{action: open, version: in.version, members: in.members}
		}
		return m.step(in)
	}},
	{"opens without a check of the others", rule{n: 2, many: 2, rounds: 1, budget: budget{cancel: 1}}, func(m *machine, in input) op {
		o := m.step(in)
		if o.action == open {
			o.members = nil
		}
		return o
	}},
	{"does not count once it is in", rule{n: 2, many: 2, rounds: 1}, func(m *machine, in input) op {
		if in.kind == created && m.cause == nil {
			m.in, m.state, m.token = true, waiting, in.token
			return op{action: await}
		}
		return m.step(in)
	}},
	{"gives up when another opens", rule{n: 2, many: 2, rounds: 1}, func(m *machine, in input) op {
		if in.kind == changed && m.state == opening {
			m.state = waiting
			return op{}
		}
		return m.step(in)
	}},
	{"is let in when enough are listed", rule{n: 2, many: 2, rounds: 1}, func(m *machine, in input) op {
		o := m.step(in)
		if o.action == open {
			return m.open()
		}
		return o
	}},
	{"is let in although its znode may be gone", rule{n: 1, many: 2, rounds: 1, budget: budget{delete: 1, loss: 1}}, func(m *machine, in input) op {
		o := m.step(in)
		if m.state == confirming {
			m.state = inside
		}
		return o
	}},
	{"is let in by what was so before the link broke", rule{n: 1, differ: true, many: 2, rounds: 1, budget: budget{delete: 1, loss: 1}}, func(m *machine, in input) op {
		if in.kind == doubted {
			return op{}
		}
		return m.step(in)
	}},
	{"enters a round that is open", rule{n: 1, many: 2, rounds: 1}, func(m *machine, in input) op {
		if in.kind == listed && !m.in && m.cause == nil {
			m.state = entering
			return op{action: create, version: in.version}
		}
		return m.step(in)
	}},
	{"takes a lost create for none", rule{n: 1, many: 1, rounds: 1, budget: budget{loss: 1}}, func(m *machine, in input) op {
		if in.kind == unknown {
			return m.list(op{action: list})
		}
		return m.step(in)
	}},
	{"leaves and waits for nobody", rule{n: 2, many: 2, rounds: 1}, func(m *machine, in input) op {
		if in.kind == removed {
			return m.finish(nil)
		}
		return m.step(in)
	}},
	{"waits for one of the next round", rule{n: 2, many: 3, rounds: 1, twice: 1}, func(m *machine, in input) op {
		if in.kind == followed && m.state == outside {
			m.known = true
			return op{}
		}
		return m.step(in)
	}},
	{"goes before the lowest is followed", rule{n: 2, many: 2, rounds: 2}, func(m *machine, in input) op {
		if in.kind == followed && m.state == outside {
			m.known = true
			return op{}
		}
		o := m.step(in)
		if m.state == going && o.action == follow {
			m.ahead = ""
			return m.remove(op{})
		}
		return o
	}},
	{"waits for one of the next round after an operator has deleted its own", rule{n: 2, many: 2, rounds: 2, budget: budget{delete: 1}}, func(m *machine, in input) op {
		if in.kind == gone && m.patient {
			return op{}
		}
		return m.step(in)
	}},
	{"removes by its name a znode that is another's by now", rule{n: 1, many: 2, rounds: 1, same: true, budget: budget{delete: 1}}, func(m *machine, in input) op {
		o := m.step(in)
		o.singly = false
		return o
	}},
	{"ends a round that others are in", rule{n: 2, many: 2, rounds: 1}, func(m *machine, in input) op {
		o := m.step(in)
		if m.state == going {
			return m.remove(op{last: true, version: m.round})
		}
		return o
	}},
	{"leaves ready behind", rule{n: 1, many: 1, rounds: 1}, func(m *machine, in input) op {
		o := m.step(in)
		o.last = false
		if in.kind == removed {
			return m.finish(nil)
		}
		return o
	}},
	{"waits for a relic to go away", rule{n: 1, many: 1, rounds: 1, relic: true}, func(m *machine, in input) op {
		if in.kind == listed && in.open && len(in.members) == 0 {
			m.state = outside
			return op{}
		}
		return m.step(in)
	}},
	{"removes a relic whatever has happened since", rule{n: 1, many: 2, rounds: 1, relic: true}, func(m *machine, in input) op {
		o := m.step(in)
		if o.action == clear {
			o.version++ // as if the version did not matter
		}
		return o
	}},
	{"sleeps on when the lowest has left", rule{n: 2, many: 2, rounds: 1}, func(m *machine, in input) op {
		if in.kind == left && m.state == outside {
			return op{}
		}
		return m.step(in)
	}},
	{"a canceled one waits for the others", rule{n: 2, many: 2, rounds: 1, budget: budget{cancel: 1}}, func(m *machine, in input) op {
		if in.kind == quit {
			in.held = true
			m.patient = true
		}
		return m.step(in)
	}},
	{"drops a quit while a reply is due", rule{n: 1, many: 1, rounds: 1, budget: budget{cancel: 1}}, func(m *machine, in input) op {
		if in.kind == quit && m.state == opening {
			return op{}
		}
		return m.step(in)
	}},
	{"ends at a quit and removes nothing", rule{n: 2, many: 2, rounds: 1, budget: budget{cancel: 1}}, func(m *machine, in input) op {
		if in.kind == quit && m.state == waiting {
			return m.finish(in.err)
		}
		return m.step(in)
	}},
	{"a canceled one leaves a round open behind it", rule{n: 1, many: 1, rounds: 1, budget: budget{cancel: 1}}, func(m *machine, in input) op {
		if in.kind == removed && !m.patient {
			return m.finish(nil)
		}
		return m.step(in)
	}},
	{"outlives its session", rule{n: 1, many: 1, rounds: 1, budget: budget{expire: 1}}, func(m *machine, in input) op {
		if in.kind == expired && m.state == inside {
			return op{}
		}
		return m.step(in)
	}},
}

func TestMutants(t *testing.T) {
	for _, x := range mutants {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			x.world.name = x.name
			states, fault := explore.Walk[*world](newWorld(&x.world, x.step))
			if fault == "" {
				t.Errorf("not found in %d states", states)
			}
		})
	}
}

// Machines and requests that differ in any field, but for those that never change, are
// told apart by the walk.
func TestKey(t *testing.T) {
	w := newWorld(&rule{n: 1, many: 1, rounds: 1}, (*machine).step)
	plain := w.Key(nil)
	values := []any{true, 1, int32(1), int64(1), "a", []string{"a"}, error(errDeleted), waiting, create}
	for _, part := range []any{&w.clients[0].m, &w.clients[0].req} {
		v := reflect.ValueOf(part).Elem()
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if part == any(&w.clients[0].m) && (name == "id" || name == "n" || name == "lost") {
				continue
			}
			f := reflect.NewAt(v.Field(i).Type(), unsafe.Pointer(v.Field(i).UnsafeAddr())).Elem()
			was := reflect.ValueOf(f.Interface())
			for _, x := range values {
				if reflect.TypeOf(x).AssignableTo(f.Type()) {
					f.Set(reflect.ValueOf(x))
				}
			}
			if bytes.Equal(w.Key(nil), plain) {
				t.Errorf("%T.%s is not in the key", part, name)
			}
			if f.SetZero(); was.IsValid() {
				f.Set(was)
			}
		}
	}
}
