package claim

import (
	"context"
	"errors"
	"path"
	"slices"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/following"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// follow begins to follow the znode at the path.
func (d *driver) follow() {
	d.followed.End()
	d.followed, d.listed = following.Begin(d.Client.Kit().WatchUntilDeleted, d.Path), false
}

func (d *driver) watchChildren(ctx context.Context, path string) *event.Stream[event.Snapshot] {
	return d.Client.Watch(ctx, path, event.Children)
}

// hear takes word of the znode that is followed.
func (d *driver) hear(snap event.Snapshot) {
	d.blind = snap.Suspended
	switch {
	case snap.Suspended: // no news
	case d.m.state == taken && d.listed:
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
	d.followed.End()
	if d.m.state != taken || d.listed || !errors.Is(err, coord.ErrNoAuth) {
		d.followed = nil
		d.step(input{kind: quit, err: err})
		return
	}
	// Newer servers do not say what becomes of a znode that we may not read. So the
	// directory is followed.
	d.followed, d.listed = following.Begin(d.watchChildren, zkpath.Parent(d.Path)), true
}
