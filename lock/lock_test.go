package lock_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/locktest"
	"github.com/zkcoord/zkcoord/lock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(locktest.Main(m)) }

var mutex = locktest.Subject{
	Name: "mutex",
	Acquire: func(ctx context.Context, c *coord.Client, dir string) *coord.Hold {
		return lock.New(c, dir).Acquire(ctx)
	},
	Try: func(ctx context.Context, c *coord.Client, dir string) *coord.Hold {
		return lock.New(c, dir).TryAcquire(ctx)
	},
	Bind: func(c *coord.Client, dir string) func(context.Context) *coord.Hold {
		return lock.New(c, dir).Acquire
	},
}

func TestScenarios(t *testing.T) { locktest.Scenarios(t, mutex) }

func TestFaults(t *testing.T) { locktest.Faults(t, mutex) }

func TestNoOverlap(t *testing.T) { locktest.NoOverlap(t, mutex) }

func TestNoFalseLoss(t *testing.T) { locktest.NoFalseLoss(t, mutex) }

func TestLimits(t *testing.T) { locktest.Limits(t, mutex) }

func TestLeaderless(t *testing.T) { locktest.Leaderless(t, mutex) }

func TestListing(t *testing.T) { locktest.Listing(t, mutex) }

func TestDo(t *testing.T) { locktest.Do(t, mutex) }

func TestPermissions(t *testing.T) { locktest.Permissions(t, mutex) }

func TestWire(t *testing.T) { locktest.Wire(t, mutex) }

func TestIsolatedLeader(t *testing.T) {
	locktest.IsolatedLeader(t, []ensemble.Isolation{ensemble.Reset, ensemble.Restart}, mutex, unqueued)
}

func TestIsolatedPhases(t *testing.T) {
	for _, s := range []locktest.Subject{mutex, unqueued} {
		t.Run(s.Name, func(t *testing.T) { locktest.IsolatedPhases(t, s) })
	}
}
