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

func (d *driver) watchChildren(ctx context.Context, path string) *event.Stream[event.Snapshot] {
	return d.c.Watch(ctx, path, event.Children)
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

// changes returns what says that the leases have changed, nil unless we wait for that.
func (d *driver) changes() <-chan event.Snapshot {
	if d.m.state != waiting {
		return nil
	}
	return d.taken.updates()
}

// hearLeases hears which leases there are while we wait, and reports whether the machine is
// to be told, with in. What is no newer than what we have read is no news; and in what is
// older a lease may be missing that was made since.
func (d *driver) hearLeases(snap *event.Snapshot, in *input) bool {
	switch {
	case snap.Suspended:
		return false
	case !snap.Exists:
		*in = input{kind: vanished}
		return true
	case snap.Pzxid <= d.newest:
		return false
	}
	d.newest, d.last.leases = snap.Pzxid, len(snap.Children)
	*in = input{kind: seen, view: d.last}
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
