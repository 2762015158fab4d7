package queue

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/zkcoord/zkcoord/coord"
)

// A Stake is what one Hold of a client has, or may have, at a path: from before
// it asks for a znode until nothing is left of that, or it may not be removed.
//
// A try asks whether others are there, and what its own client has given up and
// is about to remove is nobody else.
type Stake struct {
	id   string // in the name of its znode; empty if that tells nothing
	k    *coord.Keeper
	over chan struct{}
}

// stakes are those of one client, by path. It is in what the client's recipes
// share, under its type.
type stakes struct {
	mu sync.Mutex
	at map[string]map[*Stake]bool
}

type stakesKey struct{}

func stakesOf(c *coord.Client) *stakes {
	all, _ := c.Kit().Values().LoadOrStore(stakesKey{}, &stakes{at: make(map[string]map[*Stake]bool)})
	return all.(*stakes)
}

// NewStake notes a Hold of c at path, until end is called.
func NewStake(c *coord.Client, path, id string, k *coord.Keeper) (end func()) {
	all := stakesOf(c)
	mine := &Stake{id, k, make(chan struct{})}
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.at[path] == nil {
		all.at[path] = make(map[*Stake]bool)
	}
	all.at[path][mine] = true
	return func() {
		all.mu.Lock()
		defer all.mu.Unlock()
		if delete(all.at[path], mine); len(all.at[path]) == 0 {
			delete(all.at, path)
		}
		close(mine.over)
	}
}

// Stakes returns those that c has at path now.
func Stakes(c *coord.Client, path string) []*Stake {
	all := stakesOf(c)
	all.mu.Lock()
	defer all.mu.Unlock()
	return slices.Collect(maps.Keys(all.at[path]))
}

// leaving reports whether s is about to be over. A Hold that is revoked keeps
// the others out until its owner releases it.
func (s *Stake) leaving() bool {
	select {
	case <-s.k.Released():
		return true
	default:
	}
	ctx := s.k.Context()
	return ctx.Err() != nil && !errors.Is(context.Cause(ctx), coord.ErrRevoked)
}

// Yields waits until s is over, and reports whether it is: at once if it is not
// leaving, and no longer than k's Hold is sought in session.
func (s *Stake) Yields(k *coord.Keeper, session *coord.Session) bool {
	if !s.leaving() {
		return false
	}
	select {
	case <-s.over:
		return true
	case <-k.Context().Done():
	case <-session.Done():
	}
	return false
}
