package claim

import (
	"context"
	"errors"
	"path"
	"slices"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// A followed is the znode at the path, until the driver needs it no more.
type followed struct {
	*event.Stream[event.Snapshot]
	stop   context.CancelFunc
	listed bool // it is the directory that is followed
}

// updates and done return channels of f, nil if there is no f.
func (f *followed) updates() <-chan event.Snapshot {
	if f == nil {
		return nil
	}
	return f.Updates()
}

func (f *followed) done() <-chan struct{} {
	if f == nil {
		return nil
	}
	return f.Done()
}

func (f *followed) end() {
	if f != nil {
		f.stop()
	}
}

// follow begins to follow the znode at the path.
func (d *driver) follow() {
	d.followed.end()
	ctx, stop := context.WithCancel(context.Background())
	d.followed = &followed{Stream: d.Client.Kit().WatchUntilDeleted(ctx, d.Path), stop: stop}
}

// hear takes word of the znode that is followed.
func (d *driver) hear(snap event.Snapshot) {
	d.blind = snap.Suspended
	switch {
	case snap.Suspended: // no news
	case d.m.state == taken && d.followed.listed:
		if _, listed := slices.BinarySearch(snap.Children, path.Base(d.Path)); !listed {
			d.step(input{kind: freed})
		}
	case d.m.state == taken:
		if !snap.Exists || d.awaited.czxid != 0 && snap.Czxid != d.awaited.czxid {
			d.step(input{kind: freed})
		}
	case snap.Czxid != d.m.token:
		d.step(input{kind: gone})
	case d.Lock && string(snap.Data) == d.Revocation:
		d.step(input{kind: marked})
	}
	d.tell()
}

// unfollowed goes on when the stream that was followed has ended by itself.
func (d *driver) unfollowed() {
	err := errors.Unwrap(d.followed.Err())
	d.followed.end()
	if d.m.state != taken || d.followed.listed || !errors.Is(err, coord.ErrNoAuth) {
		d.followed = nil
		d.step(input{kind: quit, err: err})
		return
	}
	// Newer servers do not say what becomes of a znode that we may not read. So the
	// directory is followed.
	ctx, stop := context.WithCancel(context.Background())
	d.followed = &followed{d.Client.Watch(ctx, zkpath.Parent(d.Path), event.Children), stop, true}
}
