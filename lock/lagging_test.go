package lock_test

import (
	"testing"

	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/locktest"
)

func TestLagging(t *testing.T) {
	subjects := []locktest.Subject{mutex, unqueued}
	if harness.Stress {
		subjects = append(subjects, crowded)
	}
	for _, s := range subjects {
		t.Run(s.Name, func(t *testing.T) { locktest.Lagging(t, s) })
	}
}
