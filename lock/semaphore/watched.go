package semaphore

import (
	"context"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
)

func (d *driver) watchChildren(ctx context.Context, path string) *event.Stream[event.Snapshot] {
	return d.c.Watch(ctx, path, event.Children)
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
	if d.m.state != waiting && d.m.state != entering {
		return nil
	}
	return d.taken.Updates()
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
