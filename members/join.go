package members

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/claim"
)

// Join announces m and returns at once. The Hold is acquired when the member's znode
// is there, and lost with the session, or with [coord.ErrDeleted] if somebody deletes
// the znode. See [Group.Keep] for a membership that survives that.
//
// If the ID is taken, the Hold ends with [ErrTaken]. A znode that an earlier session of
// this client left behind is replaced, in one transaction.
//
// The ctx bounds the joining only: if it ends before the Hold is acquired, its cause ends
// the Hold and nothing is left behind. A member that is in stays in. So the Hold must be
// released.
//
// # Guards
//
// For [coord.Hold.Guard] a second ephemeral znode, with a name that is used once, is made
// and removed in one transaction with the member's: in a directory named by the ID, in
// the one beside the group's that has its name with "-guard" appended. Nobody joins, and
// nobody is kept, before those of earlier members of the ID are gone. So even if somebody
// deletes the member's znode by hand, to hand the ID on, the guarded writes of the earlier
// member are refused from the moment the next one is in. Programs with their own code for
// groups do not look there: to hand the ID on to one of those, delete the second znode
// first. A member whose second znode alone is deleted is not told, but its guarded writes
// are refused.
//
// A client that may not create or write there joins without a second znode. So does one
// whose group is the root, or the root of its chroot, since there is no room beside that.
// Its Guard lets nothing pass, and in the second case the guards of members that see the
// group from above the chroot stay in force. A client that may not list or delete there
// leaves the guards of earlier members in force. Its own guard stays until its session
// ends, and [coord.Hold.Release] says so.
func (g *Group) Join(ctx context.Context, m Member) *coord.Hold {
	m.Data = bytes.Clone(m.Data)
	return g.c.Kit().NewHold(ctx, "join", g.path(m.ID), func(k *coord.Keeper) error {
		if err := errors.Join(g.check(m.ID), g.checkData(m.ID, m.Data)); err != nil {
			return err
		}
		release, err := g.reserve(ctx, m.ID, k.Context())
		if err != nil {
			return err
		}
		defer release()
		return g.claim(ctx, k, claim.Claim{Path: g.path(m.ID), Data: claim.NewData(m.Data), Guarded: true}, m.ID)
	})
}

// claim makes c, of the ID, in the present session, and returns the cause of its end.
func (g *Group) claim(ctx context.Context, k *coord.Keeper, c claim.Claim, id string) error {
	s, err := k.Await(ctx)
	if err != nil {
		return err
	}
	c.Client, c.Session = g.c, s
	c.Guards = g.guards(id)
	c.Guarded = c.Guarded && c.Guards != ""
	c.Taken = taken
	return c.Run(ctx, k)
}

// taken returns why an ID cannot be had while its znode belongs to a session.
func taken(session coord.SessionID) error {
	if session == 0 {
		return fmt.Errorf("%w by a znode of no session", ErrTaken)
	}
	return fmt.Errorf("%w by session %v; if that is of an earlier run of this program, until it expires", ErrTaken, session)
}
