package members_test

import (
	"context"
	"testing"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/locktest"
	"github.com/zkcoord/zkcoord/members"
)

// one is a membership as something that only one can have: that of one ID.
var one = locktest.Subject{
	Name: "member",
	Acquire: func(ctx context.Context, c *coord.Client, dir string) *coord.Hold {
		return members.New(c, dir).Join(ctx, members.Member{ID: "one"})
	},
	Contend: func(ctx context.Context, c *coord.Client, dir string) *coord.Hold {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		var h *coord.Hold
		for there := range c.Watch(ctx, dir+"/one", event.Presence).All() {
			if there.Exists || there.Suspended {
				continue
			}
			// Somebody else is no contender here, so it is free.
			if h = members.New(c, dir).Join(context.WithoutCancel(ctx), members.Member{ID: "one"}); h.Wait() == nil {
				break
			}
		}
		return h
	},
}

// A member learns of its loss before its ID can be somebody else's, even though its
// server is a leader that was isolated and does not know. (R2, R85.)
func TestIsolatedLeader(t *testing.T) {
	locktest.IsolatedLeader(t, []ensemble.Isolation{ensemble.Reset}, one)
}

func TestIsolatedPhases(t *testing.T) { locktest.IsolatedPhases(t, one) }
