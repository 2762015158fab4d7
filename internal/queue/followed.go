package queue

import (
	"context"
	"slices"

	events "github.com/zkcoord/zkcoord/event"
)

// A followed is a znode followed until the driver needs it no more.
type followed struct {
	*events.Stream[events.Snapshot]
	stop context.CancelFunc
	over bool   // its end has been noticed
	node string // the znode
	dir  bool   // it is the directory that is followed
}

func (d *driver) follow(node string) *followed {
	ctx, stop := context.WithCancel(context.Background())
	return &followed{d.c.Follow(ctx, d.Dir+"/"+node), stop, false, node, false}
}

// seek follows the directory for the sake of a node that we may not read. Newer
// servers keep to themselves what becomes of such a node. It costs a listing at
// every change of the queue, as long as that node is the one before ours.
func (d *driver) seek(node string) *followed {
	ctx, stop := context.WithCancel(context.Background())
	return &followed{d.c.Watch(ctx, d.Dir, events.Children), stop, false, node, true}
}

// gone reports whether snap says that the znode is there no more.
func (f *followed) gone(snap events.Snapshot) bool {
	if !f.dir {
		return !snap.Exists
	}
	return !snap.Suspended && !slices.Contains(snap.Children, f.node)
}

// updates and done return channels of f, nil if there is no f.
func (f *followed) updates() <-chan events.Snapshot {
	if f == nil {
		return nil
	}
	return f.Updates()
}

func (f *followed) done() <-chan struct{} {
	if f == nil || f.over {
		return nil
	}
	return f.Done()
}

func (f *followed) end() {
	if f != nil {
		f.stop()
	}
}
