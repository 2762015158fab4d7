package lock_test

import (
	"testing"

	"github.com/zkcoord/zkcoord/internal/locktest"
)

func TestLagging(t *testing.T) {
	for _, s := range []locktest.Subject{mutex, crowded, unqueued} {
		t.Run(s.Name, func(t *testing.T) { locktest.Lagging(t, s) })
	}
}
