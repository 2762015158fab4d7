package leader_test

import (
	"testing"

	"github.com/zkcoord/zkcoord/internal/locktest"
)

func TestLagging(t *testing.T) {
	longForm(t)
	locktest.Lagging(t, campaigner)
}
