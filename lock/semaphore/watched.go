package semaphore

import (
	"context"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
)

// A watched is a znode that is followed until the driver needs it no more. The zero one is
// none.
type watched struct {
	*event.Stream[event.Snapshot]
	stop context.CancelFunc
	over bool // the end of the stream has been noticed
}

// watch begins to follow the znode at path.
func watch(begin func(context.Context, string) *event.Stream[event.Snapshot], path string) watched {
	ctx, stop := context.WithCancel(background)
	return watched{Stream: begin(ctx, path), stop: stop}
}

// watchOf returns what follows a znode in the way that kind says.
func (d *driver) watchOf(kind event.Kind) func(context.Context, string) *event.Stream[event.Snapshot] {
	return func(ctx context.Context, path string) *event.Stream[event.Snapshot] {
		return d.c.Watch(ctx, path, kind)
	}
}

// updates returns the snapshots, nil if there is no w.
func (w watched) updates() <-chan event.Snapshot {
	if w.Stream == nil {
		return nil
	}
	return w.Updates()
}

// done returns what is closed at the end of the stream, nil if there is no w or its end has
// been noticed.
func (w watched) done() <-chan struct{} {
	if w.Stream == nil || w.over {
		return nil
	}
	return w.Done()
}

// end ends the watch, if there is a w.
func (w watched) end() {
	if w.stop != nil {
		w.stop()
	}
}

// isOverdue returns what says that our lease is to be followed, nil if it need not be.
func (d *driver) isOverdue() <-chan time.Time {
	if d.overdue == nil || d.m.state != held {
		return nil
	}
	return d.overdue.C
}

// hearLeases hears which leases there are while we wait, and reports whether the machine is
// to be told, with in. A stream may begin with a state that is older than what we have
// read: in that a lease may be missing that was made since.
func (d *driver) hearLeases(snap *event.Snapshot, in *input) bool {
	switch {
	case snap.Suspended:
		return false
	case !snap.Exists:
		*in = input{kind: changed}
		return true
	case snap.Pzxid < d.newest:
		return false
	}
	d.newest, d.last.leases = snap.Pzxid, len(snap.Children)
	*in = input{kind: seen, view: d.last}
	return true
}

// hearNumber hears whether the number of permits is still what we have read.
func (d *driver) hearNumber(snap *event.Snapshot, in *input) bool {
	if snap.Suspended || snap.Exists && snap.Version <= d.last.version {
		return false
	}
	*in = input{kind: changed}
	return true
}

// hear hears how our lease is.
func (d *driver) hear(snap *event.Snapshot, in *input) bool {
	switch {
	case !snap.Exists, coord.SessionID(snap.EphemeralOwner) != d.s.ID():
		*in = input{kind: gone}
	case !snap.Suspended && string(snap.Data) == revocation:
		*in = input{kind: revokeAsked}
	default:
		return false
	}
	return true
}
