package members_test

import (
	"testing"

	"github.com/zkcoord/zkcoord/internal/locktest"
)

func TestLagging(t *testing.T) { locktest.Lagging(t, one) }
