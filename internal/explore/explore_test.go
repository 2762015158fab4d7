package explore_test

import (
	"fmt"
	"testing"

	"github.com/zkcoord/zkcoord/internal/explore"
)

// A counter counts up to its limit, by one or two.
type counter struct {
	n, limit int
	*flaws
}

// flaws are what is not as it should be in a world of counters; -1 is in none.
type flaws struct{ wrong, stuck, badStep int }

type plus int

func (p plus) String() string { return fmt.Sprintf("plus %d", int(p)) }

func (c *counter) Enabled() (all []plus) {
	for _, p := range []plus{1, 2} {
		if c.n+int(p) <= c.limit {
			all = append(all, p)
		}
	}
	return all
}

func (c *counter) Do(p plus) string {
	if c.n += int(p); c.n == c.badStep {
		return "a bad step"
	}
	return ""
}

func (c *counter) Wrong() string {
	if c.n == c.wrong {
		return "wrong"
	}
	return ""
}

func (c *counter) Stuck() string {
	if c.n == c.stuck {
		return "stuck"
	}
	return ""
}

func (c *counter) Key(b []byte) []byte { return fmt.Append(b, c.n) }

// Walk visits each state once, and what is wrong in one of them, the first and the last
// among them, is reported with the shortest way to it.
func TestWalkVisitsEachStateAndNamesTheFault(t *testing.T) {
	for _, tt := range []struct {
		name  string
		flaws flaws
		fault string
	}{
		{"no fault", flaws{-1, -1, -1}, ""},
		{"the start is wrong", flaws{0, -1, -1}, "wrong"},
		{"a state is wrong", flaws{3, -1, -1}, "wrong\n\t1 plus 1\n\t2 plus 2"},
		{"the last state is wrong", flaws{10, -1, -1}, "wrong\n\t1 plus 2\n\t2 plus 2\n\t3 plus 2\n\t4 plus 2\n\t5 plus 2"},
		{"a step is wrong", flaws{-1, -1, 2}, "a bad step\n\t1 plus 2"},
		{"nothing can happen, and something should", flaws{-1, 10, -1}, "stuck\n\t1 plus 2\n\t2 plus 2\n\t3 plus 2\n\t4 plus 2\n\t5 plus 2"},
		{"something can still happen", flaws{-1, 9, -1}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			states, fault := explore.Walk[*counter](counter{limit: 10, flaws: &tt.flaws})
			if fault != tt.fault {
				t.Errorf("fault %q, want %q", fault, tt.fault)
			}
			if fault == "" && states != 11 {
				t.Errorf("%d states, want 11", states)
			}
		})
	}
}
