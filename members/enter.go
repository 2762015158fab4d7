package members

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
)

// maxMakes bounds how often a directory that is missing is made for one stay.
const maxMakes = 8

// enter creates the znode, and learns its czxid. It ends at the latest when ctx has
// ended and what was asked last has been answered.
func (st *stay) enter(ctx context.Context) error {
	create := st.create
	for makes := 0; ; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := create()
		create = st.create
		switch {
		case err == nil:
			if err := st.look(); err != nil {
				return err
			}
			if st.stat.EphemeralOwner != st.s.ID() {
				return coord.ErrDeleted
			}
			st.ours = st.stat.Czxid
			return nil
		case errors.Is(err, zk.ErrNodeExists):
			if err := st.look(); err != nil {
				return err
			}
		case errors.Is(err, zk.ErrNoNode) && makes < maxMakes:
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
			return nil
		case owner != 0 && (owner == st.s.ID() || st.g.c.Former(owner)):
			// Left behind by a former session, with which it would vanish later, or
			// by a former stay in this one, which was not allowed to remove it.
			create = st.replace
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

// create creates the znode.
func (st *stay) create() error {
	data, gen := st.tells.data()
	st.asked, st.gen = true, gen
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

// replace creates the znode in place of the one last looked at. If that has gone
// or changed, the error is zk.ErrNodeExists, so that it is looked at again.
//
// A delete can be bound to a version and not to an owner. So it could hit what
// somebody else has put there since we looked, if that has the same version. Who
// is hit will be told of the deletion, and then of the taken ID.
func (st *stay) replace() error {
	data, gen := st.tells.data()
	st.gen, st.lost = gen, false
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
		case <-st.s.Over():
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
		case <-st.s.Over():
			return st.s.Err()
		}
	}
}
