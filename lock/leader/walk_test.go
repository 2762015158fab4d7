package leader

import (
	"testing"

	"github.com/zkcoord/zkcoord/internal/explore"
)

// A rule is one world to be walked through to the end.
type rule struct {
	name   string
	budget budget
	deep   bool // too large for every day
	spares bool // one that leads no more removes nothing of the next
}

var rules = []rule{
	{name: "no fault", budget: budget{release: 2}},
	{name: "the operator meddles", budget: budget{erase: 2, scribble: 1, usurp: 1, publish: 1}},
	{name: "the first remains", budget: budget{loss: 2, publish: 2}},
	{name: "the first is deposed", budget: budget{depose: 1, loss: 2}},
	{name: "refusals", budget: budget{refuse: 2, release: 1, publish: 1}},
	{name: "the first is deposed and announces late", budget: budget{depose: 1, release: 1, loss: 1, publish: 1}},
	{name: "the operator meddles with both", budget: budget{erase: 1, usurp: 1, release: 2}},
	{name: "losses", budget: budget{loss: 3, release: 1}},
	{name: "both are over", budget: budget{loss: 1, release: 2, erase: 1}},
	{name: "the first expires", budget: budget{expire: 1, loss: 1, release: 1, publish: 1}},
	{name: "deposed, with meddling", budget: budget{depose: 1, scribble: 1, release: 1, publish: 1}},
	{name: "it may not be followed, and the operator meddles", budget: budget{refuse: 2, erase: 1, scribble: 1, publish: 1}},
	{name: "the announcement is replaced", spares: true, budget: budget{depose: 1, release: 2, publish: 1, refuse: 1}},

	{name: "losses, and both are over", deep: true, budget: budget{loss: 2, release: 2, erase: 1}},
	{name: "refusals to both", deep: true, budget: budget{refuse: 2, release: 2, publish: 1}},
	{name: "everything", deep: true, budget: budget{release: 1, depose: 1, erase: 1, loss: 1, publish: 1, expire: 1}},
}

// Whatever the order in which two leaders, a server and an operator act, and whatever
// answers are lost: a leader that was deposed writes nothing; when all is quiet the
// announcement is that of the leader, with its newest value; and when nobody leads there
// is none of ours. One that leads no more removes nothing of the next, unless the operator
// meddles, an answer is lost, or the next publishes often: then that comes back.
func TestWalk(t *testing.T) {
	for _, r := range rules {
		explore.Through[*model](t, r.name, r.deep, func() model { return newModel(&r, right) })
	}
}

// That the walk finds these out is what its silence about the true announcer is worth.
func TestWalkFindsMutants(t *testing.T) {
	mutant := func(change func(s *steps)) steps {
		s := right
		change(&s)
		return s
	}
	for name, s := range map[string]steps{
		"replaces an announcement by one of the same version": mutant(func(s *steps) { s.replacing = func(old int32) int32 { return 0 } }),
		"checks nothing":  mutant(func(s *steps) { s.unguarded = true }),
		"does not follow": mutant(func(s *steps) { s.heard = func(a announcer, _ sight) announcer { return a } }),
		"takes a lost answer for a request that was not carried out": mutant(func(s *steps) {
			s.after = func(a announcer, v verb, r reply, want []byte) announcer {
				if r == unknown {
					a.unsure = true
					return a
				}
				return a.after(v, r, want)
			}
		}),
		"takes a lost answer for one that was": mutant(func(s *steps) {
			s.after = func(a announcer, v verb, r reply, want []byte) announcer {
				if r == unknown {
					r = carriedOut
				}
				return a.after(v, r, want)
			}
		}),
		"leaves its announcement when it is deposed": mutant(func(s *steps) {
			s.next = func(a announcer, want []byte) verb {
				if a.over && a.deposed {
					return finish
				}
				return a.next(want)
			}
		}),
		"leaves its announcement when the term is over": mutant(func(s *steps) {
			s.next = func(a announcer, want []byte) verb {
				if a.over {
					return finish
				}
				return a.next(want)
			}
		}),
		"does not look at what was in the way": mutant(func(s *steps) {
			s.after = func(a announcer, v verb, r reply, want []byte) announcer {
				a = a.after(v, r, want)
				a.unsure = a.unsure && r != outdated
				return a
			}
		}),
		"announces no change": mutant(func(s *steps) {
			s.next = func(a announcer, want []byte) verb {
				if v := a.next(want); v != set {
					return v
				}
				return wait
			}
		}),
		"goes on when it is deposed": mutant(func(s *steps) {
			s.next = func(a announcer, want []byte) verb {
				a.deposed = a.deposed && a.over
				return a.next(want)
			}
		}),
		"looks at nothing": mutant(func(s *steps) {
			s.next = func(a announcer, want []byte) verb {
				if v := a.next(want); v != look || a.over {
					return v
				}
				return wait
			}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range rules {
				if r.deep {
					continue
				}
				if _, fault := explore.Walk[*model](newModel(&r, s)); fault != "" {
					t.Logf("%s: %s", r.name, fault)
					return
				}
			}
			t.Error("not found out")
		})
	}
}

// Wrong says what must not be so, if anything.
func (m *model) Wrong() string {
	for i := range m.sides {
		s := &m.sides[i]
		if s.done && !s.stays && !s.late && m.node.there && m.node.owner == int8(i) {
			return "over with its announcement left"
		}
	}
	return ""
}

// Stuck says what should still happen when nothing can.
func (m *model) Stuck() string {
	for i := range m.sides {
		s := &m.sides[i]
		switch mine := m.node.there && m.node.owner == int8(i); {
		case s.ends && s.began && !s.done:
			return "the end is not heeded"
		case s.began && !s.ends && !(mine && m.node.data == s.want):
			return "the leader is not announced as it should be"
		}
	}
	return ""
}

// Key appends all that tells m from another state.
func (m *model) Key(b []byte) []byte {
	flags := func(bits ...bool) (f byte) {
		for i, bit := range bits {
			if bit {
				f |= 1 << i
			}
		}
		return f
	}
	g, n := m.budget, m.node
	b = append(b, byte(g.release), byte(g.depose), byte(g.erase), byte(g.scribble), byte(g.usurp), byte(g.loss), byte(g.publish), byte(g.refuse), byte(g.expire),
		flags(n.there), byte(n.owner), byte(n.version), n.data)
	saw := func(s sight) {
		b = append(b, byte(s.owner), byte(s.version))
		b = append(append(b, s.data...), ',')
	}
	for i := range m.sides {
		s := &m.sides[i]
		b = append(b, flags(s.a.unsure, s.a.exposed, s.a.over, s.a.deposed, s.a.barred, s.place, s.began, s.ends),
			flags(s.done, s.stays, s.late, s.follows, s.news), s.want, byte(s.phase), byte(s.asks))
		saw(s.a.at)
		if s.phase != idle {
			b = append(b, byte(s.verb), byte(s.version), s.data)
		}
		if s.phase == answered {
			b = append(b, byte(s.reply))
			saw(s.seen)
		}
		if s.late {
			b = append(b, byte(s.lateVerb), byte(s.lateAt), s.lateData)
		}
	}
	return b
}
