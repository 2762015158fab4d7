package queue

import (
	"context"
	"fmt"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// An Entry is what a contender enters the queue with.
type Entry struct {
	Op    string // for errors
	Dir   string // the queue's directory
	Label string // what the others see of the contender
	Mode  Mode   // what it asks for
	Try   bool   // leave rather than wait
	// Blocked, if not nil, is called once if the contender has to wait. It must not block.
	Blocked func()
	// Granted, if not nil, is called when the contender, whose znode has the name node, is
	// granted what it asks for. It must not block. The Hold is not over before the channel
	// that it returns, which may be nil, is closed.
	Granted func(s *coord.Session, node string) (over <-chan struct{})
}

// Revocation is what Curator writes into the znode of a holder that shall give
// way.
const Revocation = "__REVOKE__"

// maxLabel is the most bytes that a label may have. Each waiter reads the label of
// the contender before it.
const maxLabel = 1024

// Check reports what is wrong with e.
func (e Entry) Check() error {
	switch err := zkpath.Check(e.Dir); {
	case err != nil:
		return err
	case e.Dir == "/":
		return fmt.Errorf("%w %q: a lock needs a directory of its own", coord.ErrInvalidPath, e.Dir)
	}
	return CheckLabel(e.Label)
}

// CheckLabel reports why label cannot be what a contender shows.
func CheckLabel(label string) error {
	switch {
	case len(label) > maxLabel:
		return fmt.Errorf("%w: label of %d bytes: at most %d are allowed", coord.ErrTooLarge, len(label), maxLabel)
	case label == Revocation:
		return fmt.Errorf("label %q: Curator means a revocation by it", label)
	}
	return nil
}

// Enter takes a contender into the queue and returns at once. The Hold is held
// when all those before it that block it are gone. ctx bounds the waiting: if it
// ends before, the contender leaves.
func Enter(ctx context.Context, c *coord.Client, e Entry) *coord.Hold {
	var downgrades chan chan<- error
	if e.Mode == Write {
		downgrades = make(chan chan<- error)
	}
	h := c.Kit().NewHold(ctx, e.Op, e.Dir, func(k *coord.Keeper) error {
		d, err := newDriver(ctx, c, e, k)
		if err != nil {
			return err
		}
		d.downgrades = downgrades
		err = d.run()
		if d.beside != nil {
			<-d.beside
		}
		return err
	})
	if downgrades != nil {
		writer{e.Dir, downgrades}.register(c, h)
	}
	return h
}
