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

func TestMain(m *testing.M) { goleak.VerifyTestMain(ensemble.Main(m)) }

var mutex = locktest.Subject{
	Name: "mutex",
	Acquire: func(ctx context.Context, c *coord.Client, dir string) *coord.Hold {
		return lock.New(c, dir).Acquire(ctx)
	},
	Try: func(ctx context.Context, c *coord.Client, dir string) *coord.Hold {
		return lock.New(c, dir).TryAcquire(ctx)
	},
}

func TestScenarios(t *testing.T) { locktest.Scenarios(t, mutex) }

func TestFaults(t *testing.T) { locktest.Faults(t, mutex) }

func TestNoOverlap(t *testing.T) { locktest.NoOverlap(t, mutex) }

func TestNoFalseLoss(t *testing.T) { locktest.NoFalseLoss(t, mutex) }

func TestLimits(t *testing.T) { locktest.Limits(t, mutex) }

func TestLeaderless(t *testing.T) { locktest.Leaderless(t, mutex) }
