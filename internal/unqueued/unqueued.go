// Package unqueued is the machinery of lock.Unqueued, whose comment says what it
// promises and what it costs.
//
// An attempt goes through stages: it creates the znodes, by way of package claim;
// waits, if another's znode is at the path, until that is deleted; and creates again.
// While it holds, it watches the znode at the path. Each release wakes all that wait.
// An attempt belongs to one session and ends with it.
package unqueued

import (
	"context"
	"fmt"

	"github.com/zkcoord/zkcoord/coord"
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
	return coord.NewHold(ctx, l.C, op, l.Path, func(k *coord.Keeper) error {
		if err := l.check(); err != nil {
			return err
		}
		s, err := k.Await(ctx)
		if err != nil {
			return err
		}
		a := &attempt{Lock: l, s: s, k: k, try: try, znodes: l.claim(s), stop: func() {}}
		defer queue.NewStake(l.C, l.Path, "", k)()
		return a.run(ctx)
	})
}
