package queue

import (
	"context"
	"slices"

	"github.com/zkcoord/zkcoord/event"
)

// A watchedNode is a znode that is watched until the driver needs it no more.
type watchedNode struct {
	*event.Stream[event.Snapshot]
	stop  context.CancelFunc
	over  bool   // the end of the stream has been noticed
	node  string // its name
	inDir bool   // the stream is of the directory
}

// watch watches a node of the queue.
func (d *driver) watch(node string) *watchedNode {
	ctx, stop := context.WithCancel(background)
	return &watchedNode{Stream: d.c.Kit().WatchUntilDeleted(ctx, d.path(node)), stop: stop, node: node}
}

// watchDir watches the directory instead of a node that we may not read: newer
// servers do not tell us what becomes of such a node. It costs a listing at every
// change of the queue, for as long as that node is the one before ours.
func (d *driver) watchDir(node string) *watchedNode {
	ctx, stop := context.WithCancel(background)
	return &watchedNode{Stream: d.c.Watch(ctx, d.Dir, event.Children), stop: stop, node: node, inDir: true}
}

// gone reports whether snap says that the node does not exist any more.
func (w *watchedNode) gone(snap event.Snapshot) bool {
	if !w.inDir {
		return !snap.Exists
	}
	return !snap.Suspended && !slices.Contains(snap.Children, w.node)
}

// updates returns the snapshots, nil if there is no w.
func (w *watchedNode) updates() <-chan event.Snapshot {
	if w == nil {
		return nil
	}
	return w.Updates()
}

// done returns what is closed at the end of the stream, nil if there is no w or its
// end has been noticed.
func (w *watchedNode) done() <-chan struct{} {
	if w == nil || w.over {
		return nil
	}
	return w.Done()
}

// end ends the watch, if there is a w.
func (w *watchedNode) end() {
	if w != nil {
		w.stop()
	}
}
