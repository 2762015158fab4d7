package main

import (
	"context"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/lock"
)

// coordinate decides all transactions, whenever it is this process's turn, until ctx ends.
func coordinate(ctx context.Context, c *coord.Client, patience time.Duration) error {
	return lock.New(c, root+"/coordinator").Run(ctx, func(ctx context.Context, h *coord.Hold) error {
		return each(ctx, c, nil, func(ctx context.Context, id string) error {
			return conduct(ctx, c, h, id, patience)
		})
	})
}

// conduct decides one transaction, and forgets it when all have heard.
func conduct(ctx context.Context, c *coord.Client, h *coord.Hold, id string, patience time.Duration) error {
	begun := time.Now()
	return watch(ctx, c, id, time.After(patience), func() (over bool, err error) {
		t, err := look(ctx, c, id)
		if err != nil || t.gone {
			return true, err
		}
		return false, t.carryOut(ctx, c, h, t.next(time.Since(begun) >= patience))
	})
}

// carryOut does what is to be done next, if nothing has changed since the look, and h is
// held.
func (t transaction) carryOut(ctx context.Context, c *coord.Client, h *coord.Hold, next deed) error {
	ops := []coord.Op{h.Guard()}
	switch next {
	case wait:
		return nil
	case commit:
		reached("the coordinator is about to commit")
		for name := range t.amounts {
			ops = append(ops, coord.OpCheck(t.path+"/vote-"+name, -1))
		}
		ops = append(ops, coord.OpCreate(t.path+"/commit", nil, coord.Persistent))
	case abort, forget:
		reached("the coordinator is about to delete")
		for _, child := range t.children {
			ops = append(ops, coord.OpDelete(t.path+"/"+child, -1))
		}
		ops = append(ops, coord.OpDelete(t.path, -1)) // refused if there is another child by now
	}
	_, err := c.Txn(ctx, ops...)
	if err == nil {
		reached("the coordinator " + map[deed]string{commit: "has committed", abort: "has aborted", forget: "has forgotten"}[next])
	}
	return err
}
