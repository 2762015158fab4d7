package watch

import (
	"fmt"
	"testing"

	"github.com/zkcoord/zkcoord/internal/explore"
)

// Key appends all that tells w from another state to b.
func (w *dirWorld) Key(b []byte) []byte {
	flag := func(f bool) {
		b = append(b, 0)
		if f {
			b[len(b)-1] = 1
		}
	}
	l, e := w.left, &w.e
	b = append(b, byte(l.change), byte(l.hidden), byte(l.reset), byte(l.deaf), byte(l.other), byte(w.now), byte(w.wires), byte(w.seen), byte(w.phase),
		byte(w.at), byte(w.shown), byte(w.reads), byte(len(e.subs)), byte(e.state), byte(e.watch), byte(w.sub.owed), byte(e.snap.Cversion),
		byte(len(e.snap.Children)), byte(e.roster.before), byte(len(e.roster.told)))
	for _, c := range w.history[:w.now+1] {
		b = append(b, byte(c))
	}
	for _, f := range w.wire[:w.wires] {
		b = append(b, byte(f.kind), byte(f.child), byte(f.at))
		flag(f.left)
	}
	for _, c := range e.roster.told {
		b = append(b, c.name[0])
		flag(c.left)
	}
	for _, f := range []bool{w.net, w.tree, w.connected, w.lib, w.any, w.current, e.down, e.has, e.snap.Suspended, e.unconfirmed, e.carried,
		e.reread, e.suspect, e.roster.gaps, e.unlisted, w.sub.upToDate, w.read != nil, w.read == e.read} {
		flag(f)
	}
	if w.read != nil {
		flag(w.read.arm)
		flag(w.read.brief)
	}
	return b
}

var dirBudgets = []dirBudget{
	{change: 3, other: 1},
	{change: 2, hidden: 2},
	{change: 3, hidden: 1, deaf: 1},
	{change: 2, hidden: 1, reset: 1},
	{change: 3, reset: 1},
	{change: 2, reset: 2, other: 1},
}

// What the children are said to be is what they were at one moment, later than what was
// said before; it is not said to be up to date while there is news; and at rest it is what
// is: whatever the server does not tell, and however the connection breaks.
func TestWalkDirectory(t *testing.T) {
	for _, left := range dirBudgets {
		t.Run(fmt.Sprintf("%+v", left), func(t *testing.T) {
			t.Parallel()
			states, fault := explore.Walk[*dirWorld](newDirWorld(left, (*entry).step))
			if fault != "" {
				t.Fatal(fault)
			}
			t.Logf("%d states", states)
		})
	}
}

func TestWalkDirectoryFindsFaults(t *testing.T) {
	for _, mutant := range []struct {
		name string
		left dirBudget
		step func(*entry, input, *actions)
	}{
		{"believes that all was told", dirBudget{change: 2, hidden: 1}, func(e *entry, in input, do *actions) {
			if in.kind == answered && in.answer.brief && in.read == e.read {
				told := max(e.roster.before, 0)
				answer := *in.answer
				answer.snap.Cversion = e.snap.Cversion + int32(told)
				answer.snap.NumChildren = e.snap.NumChildren
				for _, c := range e.roster.told[:told] {
					answer.snap.NumChildren++
					if c.left {
						answer.snap.NumChildren -= 2
					}
				}
				in.answer = &answer
			}
			e.step(in, do)
		}},
		{"takes what is told after an answer for what it shows", dirBudget{change: 2, hidden: 1}, func(e *entry, in input, do *actions) {
			if in.kind == answered && in.read == e.read {
				e.roster.before = len(e.roster.told)
			}
			e.step(in, do)
		}},
		{"takes a Stat for a listing", dirBudget{change: 1}, func(e *entry, in input, do *actions) {
			if in.kind == answered && in.answer.brief {
				answer := *in.answer
				answer.snap.Children, answer.brief = e.snap.Children, false
				in.answer = &answer
			}
			e.step(in, do)
		}},
		{"does not list when the Stat has not been enough", dirBudget{change: 1, hidden: 1}, func(e *entry, in input, do *actions) {
			e.step(in, do)
			e.unlisted = false
		}},
		{"keeps what it has when the Stat has not been enough", dirBudget{change: 1, hidden: 1}, func(e *entry, in input, do *actions) {
			e.step(in, do)
			if e.unlisted {
				e.unlisted = false
				e.state = watching
				e.tell(do)
			}
		}},
	} {
		t.Run(mutant.name, func(t *testing.T) {
			t.Parallel()
			states, fault := explore.Walk[*dirWorld](newDirWorld(mutant.left, mutant.step))
			if fault == "" {
				t.Fatalf("not found out in %d states", states)
			}
			t.Logf("state %d: %s", states, fault)
		})
	}
}
