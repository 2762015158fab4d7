package lock_test

import (
	"testing"

	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/locktest"
)

// Those that mostly wait for the end of sessions, or for elections, run in parallel.

func TestScenarios(t *testing.T) {
	t.Parallel()
	locktest.Scenarios(t, mutex)
}

func TestFaults(t *testing.T) { locktest.Faults(t, mutex, together...) }

func TestNoOverlap(t *testing.T) { locktest.NoOverlap(t, mutex) }

func TestNoFalseLoss(t *testing.T) {
	t.Parallel()
	locktest.NoFalseLoss(t, mutex)
}

func TestLimits(t *testing.T) { locktest.Limits(t, mutex) }

func TestLeaderless(t *testing.T) {
	t.Parallel()
	locktest.Leaderless(t, mutex)
}

func TestIsolatedLeader(t *testing.T) {
	locktest.IsolatedLeader(t, []ensemble.Isolation{ensemble.Reset, ensemble.Restart}, mutex, unqueued)
}

func TestIsolatedPhases(t *testing.T) {
	for _, s := range []locktest.Subject{mutex, unqueued} {
		t.Run(s.Name, func(t *testing.T) { locktest.IsolatedPhases(t, s) })
	}
}
