package semaphore_test

import (
	"context"
	"testing"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/locktest"
	"github.com/zkcoord/zkcoord/lock/semaphore"
)

// A mutex is a semaphore with one permit, of which all must be so that is so of a lock.
var mutex = locktest.Subject{
	Name:  "semaphore",
	Parts: []string{"leases", "locks"},
	Share: 4,
	Acquire: func(ctx context.Context, c *coord.Client, dir string) *coord.Hold {
		return semaphore.New(c, dir, 1).Acquire(ctx)
	},
	Try: func(ctx context.Context, c *coord.Client, dir string) *coord.Hold {
		return semaphore.New(c, dir, 1).TryAcquire(ctx)
	},
	Bind: func(c *coord.Client, dir string) func(context.Context) *coord.Hold {
		return semaphore.New(c, dir, 1).Acquire
	},
}

func TestScenarios(t *testing.T) {
	t.Parallel() // it mostly waits
	locktest.Scenarios(t, mutex)
}

func TestFaults(t *testing.T) { locktest.Faults(t, mutex) }

// In the long form only: there is another of three permits.
func TestNoOverlapOfOnePermit(t *testing.T) {
	if !harness.Stress {
		t.Skip("make stress does it")
	}
	locktest.NoOverlap(t, mutex)
}

func TestLagging(t *testing.T) { locktest.Lagging(t, mutex) }
