package queue

import (
	"context"
	"slices"

	"github.com/zkcoord/zkcoord/event"
)

// A watchedNode is a znode watchedNode until the driver needs it no more.
type watchedNode struct {
	*event.Stream[event.Snapshot]
	stop context.CancelFunc
	over bool   // its end has been noticed
	node string // the znode
	dir  bool   // it is the directory that is followed
}

func (d *driver) watch(node string) *watchedNode {
	ctx, stop := context.WithCancel(context.Background())
	return &watchedNode{d.c.Follow(ctx, d.Dir+"/"+node), stop, false, node, false}
}

// watchDir follows the directory for the sake of a node that we may not read. Newer
// servers keep to themselves what becomes of such a node. It costs a listing at
// every change of the queue, as long as that node is the one before ours.
func (d *driver) watchDir(node string) *watchedNode {
	ctx, stop := context.WithCancel(context.Background())
	return &watchedNode{d.c.Watch(ctx, d.Dir, event.Children), stop, false, node, true}
}

// gone reports whether snap says that the znode is there no more.
func (f *watchedNode) gone(snap event.Snapshot) bool {
	if !f.dir {
		return !snap.Exists
	}
	return !snap.Suspended && !slices.Contains(snap.Children, f.node)
}

// updates and done return channels of f, nil if there is no f.
func (f *watchedNode) updates() <-chan event.Snapshot {
	if f == nil {
		return nil
	}
	return f.Updates()
}

func (f *watchedNode) done() <-chan struct{} {
	if f == nil || f.over {
		return nil
	}
	return f.Done()
}

func (f *watchedNode) end() {
	if f != nil {
		f.stop()
	}
}
