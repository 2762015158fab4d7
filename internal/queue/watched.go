package queue

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
)

// A watchedNode is a znode that is watched until the driver needs it no more. If it is
// that of a neighbor, there is no stream.
type watchedNode struct {
	*event.Stream[event.Snapshot]
	stop context.CancelFunc
	*neighbor
	over  bool   // the end of the stream has been noticed
	node  string // its name
	inDir bool   // the stream is of the directory
	baton bool   // or of the baton
}

// lateHeld is for how long the znode of a holder need not be followed. Until then it
// may be released, and the watch have been for nothing. While a contender waits, that
// is a sixth of the session timeout.
const lateHeld = 50 * time.Millisecond

// followLate has our own node followed when it is due, after a step that found the
// machine in the state was. It is due at once while the node is not confirmed.
func (d *driver) followLate(was state) {
	now := d.m.state
	if d.self != nil || d.m.node == "" || now == leaving || now == done {
		return
	}
	switch {
	case !d.m.confirmed:
		d.follow()
	case now == held && d.overdue == nil:
		d.overdue, d.waited = time.NewTimer(lateHeld), nil
	case now == held && was != held:
		d.overdue.Reset(lateHeld)
	case now != held && d.waited == nil:
		d.waited = d.near.alarm(d.s.Timeout() / 6)
	}
}

// isOverdue returns what says that our own node is to be followed.
func (d *driver) isOverdue() <-chan time.Time {
	if d.overdue == nil {
		return nil
	}
	return d.overdue.C
}

// follow watches our own node.
func (d *driver) follow() {
	if d.self == nil && d.m.state != leaving && d.m.state != done {
		d.self = d.watch(d.m.node)
	}
}

// missedLoss reports whether the input may grant the lock although the connection has been
// lost since our node was made, and that need not have been heard of: a stream that has not
// had its first value yet says nothing when the connection is lost, and a neighbor may be
// quicker than a stream. If so, our node is followed anew.
func (d *driver) missedLoss(in kind) bool {
	if in != blockerGone && in != passed || d.ahead == nil || d.heard && d.ahead.neighbor == nil {
		return false
	}
	select {
	case <-d.changed:
	default:
		return false
	}
	if d.heard {
		d.self.end()
		d.self, d.heard = nil, false
	}
	return true
}

// hear tells the machine how our own node is.
func (d *driver) hear(snap *event.Snapshot) {
	d.heard = true
	switch {
	case !snap.Exists, coord.SessionID(snap.EphemeralOwner) != d.s.ID():
		d.step(input{kind: gone})
		return
	case snap.Suspended:
		d.step(input{kind: doubt})
		return
	}
	d.step(input{kind: confirmed, token: snap.Czxid})
	switch revoked := string(snap.Data) == Revocation; {
	case revoked && !d.granted:
		d.step(input{kind: quit, err: coord.ErrRevoked}) // nobody has to stop first
	case revoked:
		d.step(input{kind: revokeAsked})
	}
}

// hearAhead hears how the node ahead is, and reports whether the machine is to be told, with
// in.
func (d *driver) hearAhead(snap *event.Snapshot, in *input) bool {
	switch {
	case d.ahead.baton && !snap.Exists && snap.Version == 0:
		// It was not passed on, or never there. The node itself has the last word.
		d.ahead.end()
		d.ahead = d.watch(d.ahead.node)
		return false
	case d.ahead.baton && !snap.Exists:
		*in = input{kind: passed}
	case d.ahead.gone(snap):
		*in = input{kind: blockerGone}
	case snap.Suspended && !d.heard:
		*in = input{kind: doubt} // or else the watch on our own node tells
	default:
		return false // something was written to it
	}
	return true
}

// unfollowed notes that the node ahead is not followed any more, and follows in another way
// if there is one.
func (d *driver) unfollowed(in *input) bool {
	d.ahead.over = true
	switch {
	case d.ahead.baton: // it may not be read
		d.ahead = d.watch(d.ahead.node)
		return false
	case !d.ahead.inDir && errors.Is(d.ahead.Err(), coord.ErrNoAuth):
		d.ahead = d.watchDir(d.ahead.node)
		return false
	}
	*in = input{kind: quit, err: errors.Unwrap(d.ahead.Err())}
	return true
}

// departed hears how the neighbor ahead has left.
func (d *driver) departed(in *input) bool {
	switch d.ahead.how {
	case emptied:
		*in = input{kind: passed}
	case vacated:
		*in = input{kind: blockerGone}
	default: // the ensemble has to say
		d.ahead = d.watch(d.ahead.node)
		return false
	}
	return true
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

// watchBaton watches the baton of a node, which the owner deletes together with that.
func (d *driver) watchBaton(node string) *watchedNode {
	ctx, stop := context.WithCancel(background)
	return &watchedNode{Stream: d.c.Kit().WatchBaton(ctx, d.batonPath(idOf(node))), stop: stop, node: node, baton: true}
}

// watchAhead watches the node before ours, or its baton.
func (d *driver) watchAhead(node string, baton bool) *watchedNode {
	if other := d.near.find(node); other != nil {
		return &watchedNode{neighbor: other, node: node}
	}
	if baton {
		return d.watchBaton(node)
	}
	return d.watch(node)
}

// gone reports whether snap says that the node does not exist any more.
func (w *watchedNode) gone(snap *event.Snapshot) bool {
	if !w.inDir {
		return !snap.Exists
	}
	return !snap.Suspended && !slices.Contains(snap.Children, w.node)
}

// updates returns the snapshots, nil if there is no w.
func (w *watchedNode) updates() <-chan event.Snapshot {
	if w == nil || w.Stream == nil {
		return nil
	}
	return w.Updates()
}

// done returns what is closed at the end of the stream, nil if there is no w or its
// end has been noticed.
func (w *watchedNode) done() <-chan struct{} {
	if w == nil || w.over || w.Stream == nil {
		return nil
	}
	return w.Done()
}

// leaves returns what is closed when the neighbor has left, nil if w is of none.
func (w *watchedNode) leaves() <-chan struct{} {
	if w == nil || w.neighbor == nil {
		return nil
	}
	return w.left
}

// end ends the watch, if there is a w.
func (w *watchedNode) end() {
	if w != nil && w.stop != nil {
		w.stop()
	}
}
