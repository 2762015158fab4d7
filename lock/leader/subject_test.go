package leader_test

import (
	"testing"

	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/locktest"
)

// A term is held as a Mutex is. So it must pass what that must; on a real server in the
// long form, because its candidates ask for nothing there that those of a Mutex do not, but
// for the announcement: see elections.
func TestScenarios(t *testing.T) { locktest.ScenariosInBubbles(t, campaigner) }

// A leader is told before the next one leads. TestOneLeads is of that in a bubble.
func TestNoOverlap(t *testing.T) {
	longForm(t)
	locktest.NoOverlap(t, campaigner)
}

func TestIsolatedLeader(t *testing.T) {
	longForm(t)
	locktest.IsolatedLeader(t, []ensemble.Isolation{ensemble.Reset}, campaigner)
}

func TestIsolatedPhases(t *testing.T) {
	longForm(t)
	locktest.IsolatedPhases(t, campaigner)
}

// longForm skips what is a matter of the queue and of the session, which the Mutex is tested
// for every day.
func longForm(t *testing.T) {
	t.Helper()
	if !harness.Stress {
		t.Skip("a matter of the queue, which the mutex is tested for: make stress runs it")
	}
}
