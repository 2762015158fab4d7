package unqueued

import (
	"context"
	"fmt"
	"slices"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/claim"
	"github.com/zkcoord/zkcoord/internal/queue"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// A Lock is a name for what at most one client holds.
type Lock struct {
	C     *coord.Client
	Path  string
	Label string
}

// check reports what is wrong with l.
func (l Lock) check() error {
	switch err := zkpath.Check(l.Path); {
	case err != nil:
		return err
	case l.Path == "/":
		return fmt.Errorf("%w %q: a lock needs a path of its own", coord.ErrInvalidPath, l.Path)
	}
	return queue.CheckLabel(l.Label)
}

// Acquire seeks to hold l and returns at once. The op is for errors. With try it gives
// up if another has it. ctx bounds the seeking.
func (l Lock) Acquire(ctx context.Context, op string, try bool) *coord.Hold {
	return l.C.Kit().NewHold(ctx, op, l.Path, func(k *coord.Keeper) error {
		if err := l.check(); err != nil {
			return err
		}
		s, err := k.Await(ctx)
		if err != nil {
			return err
		}
		defer queue.NewStake(l.C, l.Path, "", k)()
		c := claim.Claim{
			Client:     l.C,
			Session:    s,
			Path:       l.Path,
			Guards:     l.Path + claim.Suffix,
			Guarded:    true,
			Label:      []byte(l.Label),
			Data:       claim.NewData([]byte(l.Label)),
			Wait:       !try,
			Lock:       true,
			Revocation: queue.Revocation,
			Taken:      func(coord.SessionID) error { return coord.ErrLocked },
		}
		if try {
			c.Retry = func() func() bool { return l.yielded(k, s) }
		}
		return c.Run(ctx, k)
	})
}

// yielded returns a function that waits until one of the present holds of the client is
// over, if one is about to be, and reports whether one is: what was in the way of a try
// may have been its.
func (l Lock) yielded(k *coord.Keeper, s *coord.Session) func() bool {
	present := queue.Stakes(l.C, l.Path) // before the request: what is over already is not in its way
	return func() bool {
		return slices.ContainsFunc(present, func(other *queue.Stake) bool { return other.Yields(k, s) })
	}
}
