package members

import (
	"bytes"
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/claim"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// Join announces m and returns at once. The Hold is acquired when the member's
// znode is there, and lost with the session, or with [coord.ErrDeleted] if somebody
// deletes the znode. See [Group.Keep] for a membership that survives that.
//
// For [coord.Hold.Guard] a second ephemeral znode, with a name that nobody else ever
// has, is made and removed in one transaction with the member's: in a directory that
// is named by the ID, in one beside the group's that has its name with "-guard"
// appended. Nobody has joined, nor is kept, before those of earlier members of the
// same ID are gone. So even if somebody deletes the member's znode by hand, to hand
// the ID on, the guarded writes of the former member are refused from the moment the
// next one is in. Programs with their own code for groups do not look there: to hand
// the ID on to one of those, delete the second znode first. One whose second znode
// alone is deleted is not told, though its guarded writes are refused.
//
// A client that may not create or write there joins without, and so does one whose
// group is the root, its chroot too, beside which there is no room: its Guard lets
// nothing pass, and it leaves the guards in force of members who see the group from
// above the chroot. One that may not list or delete there leaves the guards of earlier
// members in force, as those other programs do, and its own as well, until its session
// ends, of which [coord.Hold.Release] tells.
//
// If the ID is somebody else's, the Hold ends with [ErrTaken]. A znode that a
// former session of this client has left behind is replaced, in one transaction.
//
// ctx governs the joining, not the staying: canceled before the Hold is acquired,
// it ends the attempt, and nothing is left behind. So the Hold must be released.
func (g *Group) Join(ctx context.Context, m Member) *coord.Hold {
	m.Data = bytes.Clone(m.Data)
	return coord.NewHold(ctx, g.c, "join", g.path(m.ID), func(k *coord.Keeper) error {
		if err := errors.Join(g.check(m.ID), g.checkData(g.path(m.ID), m.Data)); err != nil {
			return err
		}
		seat := &seat{k.Context().Done(), make(chan struct{})}
		seeking, stop := seek(ctx, k)
		defer stop()
		if err := g.sit(seeking, m.ID, seat); err != nil {
			return err
		}
		defer g.rise(m.ID, seat)
		return g.stay(seeking, k, m.ID, newTelling(m.Data), nil, true)
	})
}

// seek returns ctx with an end also when the cause of the end of k's Hold is
// settled.
func seek(ctx context.Context, k *coord.Keeper) (context.Context, func()) {
	seeking, stop := context.WithCancelCause(ctx)
	undo := context.AfterFunc(k.Context(), func() { stop(context.Cause(k.Context())) })
	return seeking, func() { undo(); stop(nil) }
}

// A stay is one time that a member is in the group, in one session. One goroutine
// owns it.
type stay struct {
	g     *Group
	s     *coord.Session
	k     *coord.Keeper
	id    string
	path  string // as the caller would write it
	full  string
	tells *telling
	taken chan error // gets why the ID is taken, while that is waited for; nil: give up

	guards string       // the directory of what guards of this ID check; "" if there is no room for one
	claim  *claim.Claim // our znode, and that of its guard; nil if it is to have none, or can have none

	lost   bool  // the last create was sent again, so what it found may be its own work
	asked  bool  // a request to create the znode without a guard may have been carried out
	gen    int   // of the data that the znode has
	ours   int64 // the czxid of our znode, zero until it is known
	stat   zk.Stat
	robbed bool // the znode is known not to be ours any more
}

// background is the context of all requests. They end with the session. None is
// given up before its answer is here, or it could come to the ensemble after what
// was asked later to undo it.
var background = context.Background()

// stay makes somebody a member, and returns the cause of the end of that.
func (g *Group) stay(seeking context.Context, k *coord.Keeper, id string, tells *telling, taken chan error, guarded bool) error {
	s, err := g.c.Await(seeking)
	if err != nil {
		return err
	}
	st := &stay{g: g, s: s, k: k, id: id, tells: tells, taken: taken}
	st.path = g.path(id)
	st.full = g.c.FullPath(st.path)
	st.guards = g.guards(id)
	if guarded && st.guards != "" {
		st.claim = claim.New(g.c, s, st.full, st.guards, nil)
	}
	// So who waits for the Hold is told of the end of ctx before st can be.
	defer context.AfterFunc(seeking, func() { k.GiveUp(context.Cause(seeking)) })()
	err = st.enter(seeking)
	if err == nil {
		err = s.Renew(k.Context(), st.path) // at once unless an answer was lost
	}
	if err == nil {
		err = k.Acquired(s, st.guard(), coord.Token(st.ours))
	}
	if err == nil {
		tells.settle(st.gen, nil)
		err = st.hold()
	}
	k.Quit(err)
	if err := st.leave(); err != nil {
		k.Leftover(err)
	}
	return err
}

// guard returns the path of the znode that st's Guard checks, "" if it is to let nothing pass.
func (st *stay) guard() string {
	if st.claim == nil {
		return ""
	}
	return zkpath.Rel(st.g.c.FullPath("/"), st.claim.Own())
}

// hold waits for the end, and returns its cause.
func (st *stay) hold() error {
	ctx, stop := context.WithCancel(st.k.Context())
	defer stop()
	own := st.g.c.Follow(ctx, st.path)
	for {
		select {
		case snap := <-own.Updates():
			// What the stream tells has been read after the znode was created.
			if !snap.Suspended && snap.Czxid != st.ours {
				st.robbed = true
				return coord.ErrDeleted
			}
		case <-st.tells.fresh:
			if err := st.tell(); err != nil {
				return err
			}
		case <-own.Done():
			if ctx.Err() != nil { // released, or the session is over
				return context.Cause(ctx)
			}
			return errors.Unwrap(own.Err())
		}
	}
}

// tell gives the znode the newest data. It returns an error only if that is the
// end of the stay.
func (st *stay) tell() error {
	for {
		data, gen := st.tells.data()
		if gen == st.gen {
			return nil
		}
		version := st.stat.Version
		stat, err := coord.Retry(background, st.s, func(conn *zk.Conn) (*zk.Stat, error) {
			return conn.Set(st.full, data, version)
		})
		switch {
		case err == nil && stat.Czxid == st.ours:
			st.stat, st.gen = *stat, gen
			st.tells.settle(gen, nil)
			return nil
		case errors.Is(err, zk.ErrBadVersion):
			// Our own earlier try, of which we have not heard, or somebody else's
			// hand. In both cases what we say goes.
			if err := st.look(); err != nil {
				return err
			}
			if st.stat.Czxid != st.ours {
				return coord.ErrDeleted
			}
		case err == nil || errors.Is(err, zk.ErrNoNode):
			return coord.ErrDeleted
		case coord.Refused(err):
			st.gen = gen // and stays a member, with the data it has
			st.tells.settle(gen, err)
			return nil
		default:
			return err
		}
	}
}

// leave removes the znode if it is ours, unless the session is over.
func (st *stay) leave() error {
	if st.claim != nil {
		if err := st.claim.Remove(st.robbed); coord.Refused(err) {
			return err
		}
		return nil
	}
	if !st.asked {
		return nil
	}
	for {
		if st.look() != nil || !st.mine() {
			return nil
		}
		// The version is all that can be asked of a delete. It keeps us from
		// deleting what somebody else has put there in the meantime if that has
		// another one.
		version := st.stat.Version
		_, err := coord.Retry(background, st.s, func(conn *zk.Conn) (struct{}, error) {
			return struct{}{}, conn.Delete(st.full, version)
		})
		switch {
		case err == nil || errors.Is(err, zk.ErrNoNode) || !coord.Refused(err):
			return nil
		case !errors.Is(err, zk.ErrBadVersion):
			return err
		}
	}
}

// mine reports whether the znode last looked at is ours.
func (st *stay) mine() bool {
	if st.ours != 0 {
		return st.stat.Czxid == st.ours
	}
	return st.stat.EphemeralOwner == st.s.ID()
}

// look asks for the stat of the znode. If there is none it is zero.
func (st *stay) look() error {
	stat, err := coord.Retry(background, st.s, func(conn *zk.Conn) (*zk.Stat, error) {
		_, stat, err := conn.Exists(st.full)
		return stat, err
	})
	if err != nil {
		return err
	}
	st.stat = *stat
	return nil
}
