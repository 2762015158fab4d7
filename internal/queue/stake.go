package queue

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/zkcoord/zkcoord/coord"
)

// A Stake is what one Hold of a client has, or may have, at a path: from before it
// asks for a znode until that is gone, or is known to stay.
//
// By their stakes a try knows what its own client has given up and is about to remove.
// It waits for that, instead of taking it for another contender.
type Stake struct {
	id    string // in the name of its znode; empty if the name has none
	k     *coord.Keeper
	among *stakes

	// Guarded by among.mu.
	ended bool
	over  chan struct{} // closed when it is; nil as long as nobody waits for that
}

// stakes are those of one client, by path. They are kept in the client's values.
type stakes struct {
	mu sync.Mutex
	at map[string]map[*Stake]struct{}
}

type stakesKey struct{}

func stakesOf(c *coord.Client) *stakes {
	return sharedBy(c, stakesKey{}, func() *stakes { return &stakes{at: make(map[string]map[*Stake]struct{})} })
}

// sharedBy returns what all contenders of c share under key, which create makes.
func sharedBy[T any](c *coord.Client, key any, create func() *T) *T {
	all := c.Kit().Values()
	it, ok := all.Load(key)
	if !ok {
		it, _ = all.LoadOrStore(key, create())
	}
	return it.(*T)
}

// NewStake adds a stake of c at path, for k's Hold. The caller must call end when it is
// over.
func NewStake(c *coord.Client, path, id string, k *coord.Keeper) (end func()) {
	all := stakesOf(c)
	mine := &Stake{id: id, k: k, among: all}
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.at[path] == nil {
		all.at[path] = make(map[*Stake]struct{})
	}
	all.at[path][mine] = struct{}{}
	return func() {
		all.mu.Lock()
		defer all.mu.Unlock()
		if delete(all.at[path], mine); len(all.at[path]) == 0 {
			delete(all.at, path)
		}
		if mine.ended = true; mine.over != nil {
			close(mine.over)
		}
	}
}

// end returns a channel that is closed when s is over.
func (s *Stake) end() <-chan struct{} {
	s.among.mu.Lock()
	defer s.among.mu.Unlock()
	if s.over == nil {
		if s.over = make(chan struct{}); s.ended {
			close(s.over)
		}
	}
	return s.over
}

// Stakes returns those that c has at path now.
func Stakes(c *coord.Client, path string) []*Stake {
	all := stakesOf(c)
	all.mu.Lock()
	defer all.mu.Unlock()
	return slices.Collect(maps.Keys(all.at[path]))
}

// ID returns what is in the name of the znode, "" if nothing is.
func (s *Stake) ID() string { return s.id }

// Leaving reports whether s is about to be over. A revoked Hold keeps the others out
// until its owner releases it.
func (s *Stake) Leaving() bool {
	select {
	case <-s.k.Released():
		return true
	default:
	}
	ctx := s.k.Context()
	return ctx.Err() != nil && !errors.Is(context.Cause(ctx), coord.ErrRevoked)
}

// Yields waits until s is over, and reports whether it is. If s is not leaving it does
// not wait. It waits no longer than k's Hold is sought in session.
func (s *Stake) Yields(k *coord.Keeper, session *coord.Session) bool {
	if !s.Leaving() {
		return false
	}
	select {
	case <-s.end():
		return true
	case <-k.Context().Done():
	case <-session.Done():
	}
	return false
}
