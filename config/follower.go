package config

import (
	"bytes"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
)

// A follower folds the snapshots of a znode into updates.
type follower[T any] struct {
	target[T]
	op    string // for errors, with path
	has   bool   // there has been a snapshot
	mzxid int64  // of the last one, zero if there was no znode
	now   Update[T]
}

func newFollower[T any](op string, t target[T]) *follower[T] {
	return &follower[T]{target: t, op: op, now: Update[T]{Value: t.fallback()}}
}

// update brings f.now up to date with snap and reports whether that is news.
func (f *follower[T]) update(snap event.Snapshot) bool {
	was, first := f.now, !f.has
	f.has = true
	f.now.Suspended = snap.Suspended
	switch {
	case !first && snap.Mzxid == f.mzxid:
		if f.now.Err == nil && !snap.Suspended {
			f.now.Read = time.Now()
		}
		return was.Suspended != snap.Suspended
	case !snap.Exists || snap.Data == nil: // not there, or a directory
		f.fail(ErrMissing)
	default:
		// A copy, because other streams show the same data.
		if v, err := f.codec.decode(bytes.Clone(snap.Data)); err != nil {
			f.fail(err)
		} else {
			f.now = updateOf(v, snap.Stat)
			f.now.Suspended = snap.Suspended
		}
	}
	f.mzxid = snap.Mzxid
	return true
}

// fail notes what is wrong with what is there now.
func (f *follower[T]) fail(err error) {
	f.now.Err = &coord.Error{Op: f.op, Path: f.path, Err: err}
}
