package members

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/claim"
)

// maxMakes bounds how often a directory that is missing is made for one stay.
const maxMakes = 8

// enter creates the znode, and learns its czxid. When it returns nil no guard of
// one who had the ID before lets anything pass, unless they may not be removed. It ends at the latest when ctx has
// ended and what was asked last has been answered.
func (st *stay) enter(ctx context.Context) error {
	replace := false
	for makes := 0; ; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := st.create(ctx, replace)
		replace = false
		switch {
		case err == nil && st.claim != nil:
			st.ours = st.claim.Token()
			return nil
		case err == nil:
			if err := st.look(); err != nil {
				return err
			}
			if st.stat.EphemeralOwner != st.s.ID() {
				return coord.ErrDeleted
			}
			st.ours = st.stat.Czxid
			return st.disarm()
		case errors.Is(err, zk.ErrNodeExists):
			if err := st.look(); err != nil {
				return err
			}
		case errors.Is(err, zk.ErrNoNode) && st.claim == nil && makes < maxMakes:
			makes++
			if err := st.s.MakeDir(background, st.g.c.FullPath(st.g.dir)); err != nil {
				return err
			}
			continue
		default:
			return err
		}
		switch owner := st.stat.EphemeralOwner; {
		case st.stat.Czxid == 0: // gone in the meantime
		case owner == st.s.ID() && st.lost:
			st.ours = st.stat.Czxid
			return st.disarm()
		case owner != 0 && (owner == st.s.ID() || st.g.c.Former(owner)):
			// Left behind by a former session, with which it would vanish later, or
			// by a former stay in this one, which was not allowed to remove it.
			replace = true
		case st.taken == nil:
			return st.theirs()
		default:
			select {
			case <-st.taken: // overtaken
			default:
			}
			st.taken <- st.theirs()
			if err := st.await(ctx); err != nil {
				return err
			}
		}
	}
}

// create creates the znode, with a guard if st is to have one, or has it replace the
// one last looked at. If there is one, or that one has gone or changed, the error is
// zk.ErrNodeExists, so that it is looked at.
//
// A delete can be bound to a version and not to an owner. So a replacement could hit
// what somebody else has put there since we looked, if that has the same version.
// Who is hit will be told of the deletion, and then of the taken ID.
func (st *stay) create(ctx context.Context, replace bool) error {
	data, gen := st.tells.data()
	st.gen = gen
	if st.claim != nil {
		var former *zk.Stat
		if replace {
			former = &st.stat
		}
		err := st.claim.Take(ctx, data, former)
		switch err.(type) { // one within may be of ctx's cause
		case claim.ClearError:
			return nil // a member all the same, as in disarm
		case claim.OwnError:
			st.claim = nil // a member all the same
		default:
			return err
		}
	}
	if replace {
		return st.replace(data)
	}
	return st.createAlone(data)
}

// createAlone creates the znode without a guard.
func (st *stay) createAlone(data []byte) error {
	st.asked = true
	tries := 0
	_, err := coord.Retry(background, st.s, func(conn *zk.Conn) (string, error) {
		tries++
		return conn.Create(st.full, data, zk.FlagEphemeral, st.g.c.ACL())
	})
	if coord.Refused(err) { // else a try may still be under way
		st.lost = tries > 1
	}
	return err
}

// replace creates the znode, without a guard, in place of the one last looked at.
func (st *stay) replace(data []byte) error {
	st.asked, st.lost = true, false
	remove := &zk.DeleteRequest{Path: st.full, Version: st.stat.Version}
	_, err := coord.Retry(background, st.s, func(conn *zk.Conn) ([]zk.MultiResponse, error) {
		return coord.Transact(conn, remove,
			&zk.CreateRequest{Path: st.full, Data: data, Acl: st.g.c.ACL(), Flags: zk.FlagEphemeral})
	})
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrBadVersion) {
		return zk.ErrNodeExists
	}
	return err
}

// disarm removes the guards of those who had the ID before. Who may not do so is a
// member all the same.
func (st *stay) disarm() error {
	if st.guards == "" {
		return nil
	}
	err := claim.Clear(st.s, st.guards, st.ours)
	if coord.Refused(err) {
		return nil
	}
	return err
}

// theirs returns why the ID can not be ours.
func (st *stay) theirs() error {
	if st.stat.EphemeralOwner == 0 {
		return fmt.Errorf("%w: by a znode of no session", ErrTaken)
	}
	return fmt.Errorf("%w: by session %#x", ErrTaken, st.stat.EphemeralOwner)
}

// await waits until the znode last looked at is gone.
func (st *stay) await(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	node := st.g.c.Follow(ctx, st.path)
	for {
		select {
		case snap := <-node.Updates():
			if !snap.Suspended && snap.Czxid != st.stat.Czxid {
				return nil
			}
		case <-node.Done():
			if errors.Is(node.Err(), zk.ErrNoAuth) {
				return st.awaitUnlisted(ctx)
			}
			return errors.Unwrap(node.Err())
		case <-st.s.Done():
			return st.s.Err()
		}
	}
}

// awaitUnlisted is await for a znode that may not be read. Servers may keep quiet
// about its end, so the directory is what is followed.
func (st *stay) awaitUnlisted(ctx context.Context) error {
	dir := st.g.c.Watch(ctx, st.g.dir, event.Children)
	for {
		select {
		case snap := <-dir.Updates():
			if _, listed := slices.BinarySearch(snap.Children, st.id); !listed && !snap.Suspended {
				return nil
			}
		case <-dir.Done():
			return errors.Unwrap(dir.Err())
		case <-st.s.Done():
			return st.s.Err()
		}
	}
}
