package members

import (
	"context"
	"fmt"
)

// A reservation is the right of one Hold or Membership, among those of its client, to
// an ID. ZooKeeper cannot tell them apart, since they share a session.
type reservation struct {
	leaving context.Context // ends when its owner is about to give it back
	left    chan struct{}   // closed when it has been given back
}

// reservationKey is the key of a reservation in what a client's recipes share: the path
// of the member's znode.
type reservationKey string

// reserve reserves id until release is called, for an owner whose context leaving ends
// before that. If the ID is reserved for one that is leaving, reserve waits until it has
// left, or ctx or the owner's leaving ends.
func (g *Group) reserve(ctx context.Context, id string, leaving context.Context) (release func(), err error) {
	all, key := g.c.Kit().Values(), reservationKey(g.path(id))
	ours := &reservation{leaving, make(chan struct{})}
	for {
		there, reserved := all.LoadOrStore(key, ours)
		if !reserved {
			return func() { all.Delete(key); close(ours.left) }, nil
		}
		other := there.(*reservation)
		if other.leaving.Err() == nil {
			return nil, fmt.Errorf("%w by this client itself", ErrTaken)
		}
		select {
		case <-other.left:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-leaving.Done():
			return nil, context.Cause(leaving)
		}
	}
}
