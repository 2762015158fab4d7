package members

import (
	"context"
	"fmt"
)

// A seat is the right of one Hold or Membership, among those of its client, to an
// ID. The ensemble can not tell them apart, since they share a session.
type seat struct {
	leaving <-chan struct{} // closed when its owner is about to leave it
	left    chan struct{}   // closed when it has been left
}

// seatKey is the key of a seat in what a client's recipes share: the full path of
// the member's znode.
type seatKey string

// sit takes the seat of id. If another has it who is leaving, it waits for that.
func (g *Group) sit(ctx context.Context, id string, mine *seat) error {
	for {
		there, taken := g.c.Local().LoadOrStore(seatKey(g.c.FullPath(g.path(id))), mine)
		if !taken {
			return nil
		}
		other := there.(*seat)
		select {
		case <-other.leaving:
		default:
			return fmt.Errorf("%w: by this client itself", ErrTaken)
		}
		select {
		case <-other.left:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// rise leaves the seat of id.
func (g *Group) rise(id string, mine *seat) {
	g.c.Local().Delete(seatKey(g.c.FullPath(g.path(id))))
	close(mine.left)
}
