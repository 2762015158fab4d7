package config

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
)

// An Update is the state of one configuration value.
type Update[T any] struct {
	// Value is the last good one: the last that decoded. What is missing or
	// malformed never takes its place. All updates that show it share it.
	Value T

	Version int32     // of the znode, when Value was read
	Mzxid   int64     // the transaction that stored Value; zero: there has been no good value
	Read    time.Time // when Value was last read or known to be what is there, by this program's clock

	// Err says what is wrong with what is there now, if that is not Value: an
	// [*coord.Error] that is [ErrMissing] or the decoder's. Nil means that Value
	// is what is there.
	Err error

	// Suspended says that the connection is down, and this is what was last known.
	Suspended bool
}

// Watch follows the value at path until ctx ends. The first update has what is
// there at first, or says that it is missing.
//
// The stream delivers states and not steps: the newest update takes the place of
// one that was not received in time. A value that is stored anew, be it with the
// same bytes, and a znode that is deleted and made anew, be it with the same
// version, are news: they have another Mzxid. Within one session Mzxid does not
// decrease.
//
// decode is called on a goroutine of the stream's own, once for each Mzxid, and
// may keep the data. While it runs the stream says nothing new and does not end, and
// [coord.Client.Close] waits for it. A panic of it is an error like others.
//
// The stream ends with an [*coord.Error] whose cause is ctx's, or
// [coord.ErrClosed], or the ensemble's refusal.
func Watch[T any](ctx context.Context, c *coord.Client, path string, decode func([]byte) (T, error)) *event.Stream[Update[T]] {
	if decode == nil {
		return event.Ended[Update[T]](&coord.Error{Op: "watch", Path: path, Err: errNil("decode")})
	}
	ctx, stop := context.WithCancel(ctx)
	snaps := c.Watch(ctx, path, event.Data) // ends with ctx, and with the client
	if err := snaps.Err(); err != nil {
		stop()
		return event.Ended[Update[T]](err)
	}
	out, p := event.NewStream[Update[T]]()
	ok := c.Go(func(context.Context) {
		var end error = &coord.Error{Op: "watch", Path: path, Err: errExit}
		defer func() {
			stop()
			p.Close(end)
		}()
		f := follower[T]{path: path, decode: decode}
		for snap := range snaps.All() {
			if f.take(snap) {
				p.Publish(f.now)
			}
		}
		end = snaps.Err()
	})
	if !ok {
		stop()
		p.Close(&coord.Error{Op: "watch", Path: path, Err: coord.ErrClosed})
	}
	return out
}

// errExit is why a stream ends whose goroutine its decoder has ended.
var errExit = errors.New("config: decoder called runtime.Goexit")

// A follower folds the snapshots of a znode into updates.
type follower[T any] struct {
	path   string
	decode func([]byte) (T, error)
	any    bool  // there has been a snapshot
	seen   int64 // Mzxid of the last one, zero if it was of nothing
	now    Update[T]
}

// take brings f.now up to date with snap and reports whether that is news.
func (f *follower[T]) take(snap event.Snapshot) bool {
	was, first := f.now, !f.any
	f.any = true
	f.now.Suspended = snap.Suspended
	switch {
	case !first && snap.Mzxid == f.seen: // of nothing, it is zero
		if f.now.Err == nil && !snap.Suspended {
			f.now.Read = time.Now()
		}
		return was.Suspended != snap.Suspended
	case !snap.Exists || snap.Data == nil: // not there, or a directory
		f.now.Err = &coord.Error{Op: "read", Path: f.path, Err: ErrMissing}
	default:
		var v T
		// A copy, because other streams show the same data.
		if v, f.now.Err = decoded(f.path, f.decode, bytes.Clone(snap.Data)); f.now.Err == nil {
			f.now = Update[T]{Value: v, Version: snap.Version, Mzxid: snap.Mzxid, Read: time.Now(), Suspended: snap.Suspended}
		}
	}
	f.seen = snap.Mzxid
	return true
}
