package config

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
)

// A Value is one configuration value: the data of one znode. Its methods are safe
// for concurrent use. Each fails at once, with an [*coord.Error], if the path or the
// codec's Default is invalid, or the codec lacks a function that the method needs.
type Value[T any] struct{ target[T] }

// New returns the value at path, below the chroot of c. It asks nothing of the
// ensemble.
func New[T any](c *coord.Client, path string, codec Codec[T]) *Value[T] {
	return &Value[T]{newTarget(c, path, codec)}
}

// An Update is the state of one configuration value.
type Update[T any] struct {
	// Value is the last good one: the last that was decoded without an error. A
	// value that is missing or malformed never replaces it. Until there has been a
	// good one, and beside the error of a method, it is the codec's Default. All
	// updates of one stream that show it share it.
	Value T

	Version  int32     // of the znode when Value was stored
	Mzxid    int64     // the transaction that stored Value; zero if there has been no good value
	Modified time.Time // when that was, by the clock of the ensemble's leader; zero if Mzxid is
	Read     time.Time // when Value was last known to be what is stored, by the clock of this program

	// Err says what is wrong with what is stored now, if that is not Value: an
	// [*coord.Error] that is [ErrMissing], or the decoder's error. Nil means that
	// Value is what is stored.
	Err error

	// Suspended means that the connection is down, and this is what was last known.
	Suspended bool
}

// updateOf returns the Update of v, which is what is stored now, with this stat.
func updateOf[T any](v T, stat coord.Stat) Update[T] {
	u := Update[T]{Value: v, Version: stat.Version, Mzxid: stat.Mzxid, Read: time.Now()}
	if u.Mzxid != 0 {
		u.Modified = stat.Modified()
	}
	return u
}

// failed returns what a method of v returns that ended with the cause err.
func (v *Value[T]) failed(op string, err error) (Update[T], error) {
	err = &coord.Error{Op: op, Path: v.path, Err: err}
	return Update[T]{Value: v.fallback(), Err: err}, err
}

// Watch follows the value until ctx ends. The first update has what is stored
// then, or says that it is missing.
//
// The stream delivers states, not steps: an update that was not received in time is
// replaced by the next. Storing the same bytes again, or recreating the znode with
// the same version, is a change: the Mzxid differs. Within one session Mzxid does
// not decrease.
//
// Decode is called on a goroutine of the stream's own, once for each Mzxid. While
// it runs the stream publishes nothing and does not end, and [coord.Client.Close]
// waits for it.
//
// The stream ends with an [*coord.Error] whose cause is ctx's, [coord.ErrClosed],
// or the ensemble's refusal.
func (v *Value[T]) Watch(ctx context.Context) *event.Stream[Update[T]] {
	if err := v.check(true, false); err != nil {
		return event.Ended[Update[T]](&coord.Error{Op: "watch", Path: v.path, Err: err})
	}
	return coord.NewStream(ctx, v.c, "watch", v.path, func(ctx context.Context, p event.Publisher[Update[T]]) error {
		snaps := v.c.Watch(ctx, v.path, event.Data)
		f := newFollower("watch", v.target)
		for snap := range snaps.All() {
			if f.update(snap) {
				p.Publish(f.now)
			}
		}
		return snaps.Err()
	})
}

// Read returns what is stored, no older than the call; see the package's comment
// for what that means. It fails with an [*coord.Error] that is [ErrMissing], the
// decoder's error, the ensemble's refusal, [coord.ErrClosed] or, when ctx ends
// first, its cause. The Update then has the same Err.
func (v *Value[T]) Read(ctx context.Context) (Update[T], error) { return v.read(ctx, "read") }

func (v *Value[T]) read(ctx context.Context, op string) (Update[T], error) {
	if err := v.check(true, false); err != nil {
		return v.failed(op, err)
	}
	var n coord.Node
	err := repeat(ctx, v.c, func(s *coord.Session) (err error) {
		n, err = synced((*coord.Session).Get)(s, ctx, v.path)
		return err
	})
	if err == nil && n.Data == nil {
		err = ErrMissing
	}
	if err != nil {
		return v.failed(op, err)
	}
	now, err := v.codec.decode(n.Data)
	if err != nil {
		return v.failed(op, err)
	}
	return updateOf(now, n.Stat), nil
}

// Modify reads what is stored, calls change with it, and stores what that returns,
// unless somebody else has stored something in the meantime: then it does all of
// it again. If nothing is stored, change is given the codec's Default, and what it
// returns is created, with the znodes that are missing above it. Modify returns
// what it has stored.
//
// That nobody has stored anything else is known by the version. A znode that was
// deleted and recreated since it was read, and has come to the same version, looks
// the same.
//
// The change is carried out once or not at all, however many answers are lost. With
// each change Modify writes to a znode of the client, below /_zkcoord, whose
// version tells in a later session, too, what became of the change. So a change
// costs one read and one write, and the first few of a session some more. A client
// that may not have such a znode does without.
//
// An error is an [*coord.Error]: the ensemble's refusal, the error of change, that
// of Decode for a value that is malformed, that of Encode, [coord.ErrClosed] or,
// when ctx ends first, its cause. It means that nothing was stored, unless it is
// [coord.ErrUnknown], which comes with its reason: ctx ended, or the client was
// closed, while an answer was due; or the session ended before the answer came, and
// what would tell is gone when the next one begins, a minute later, say. The change
// may then have been carried out, once, or not; or it may still be, as long as the
// ensemble keeps the session in which it was sent.
//
// The conditions in when are part of the transaction that makes the change:
// [coord.Hold.Guard], so that only the leader makes it, say, or [coord.OpCheck]. If one
// fails, that is the error, such as [coord.ErrNotHeld], and nothing is changed. Another op
// among them is refused.
//
// change may be called any number of times, on the caller's goroutine, and should
// do nothing but compute. If it panics, nothing is stored, and Modify panics.
//
// The Update has the Version, the Mzxid and the time of what was stored. Of a znode that
// was created by a client without a znode of its own below /_zkcoord, Mzxid and
// Modified are zero if it was changed again at once.
//
// A znode that is a container, as package lock makes them for directories, or
// ephemeral, stays so, and its value is removed with it.
func (v *Value[T]) Modify(ctx context.Context, change func(T) (T, error), when ...coord.Op) (Update[T], error) {
	return v.modify(ctx, "modify", when, change)
}

func (v *Value[T]) modify(ctx context.Context, op string, when []coord.Op, change func(T) (T, error)) (Update[T], error) {
	if err := cmp.Or(v.check(true, true), checkConditions(when)); err != nil {
		return v.failed(op, err)
	}
	if change == nil {
		return v.failed(op, errors.New("config: the function to change the value is nil"))
	}
	return v.write(ctx, op, when, (*coord.Session).Get, func(n coord.Node) (next T, data []byte, err error) {
		var old T
		if n.Data == nil {
			old = v.fallback()
		} else if old, err = v.codec.decode(n.Data); err != nil {
			return next, nil, err
		}
		if next, err = change(old); err != nil {
			return next, nil, err
		}
		data, err = v.codec.encode(next)
		return next, data, err
	})
}

// Store stores x in place of what is stored, even if that is malformed, or creates it,
// and returns what it has stored. It is carried out once or not at all. Its errors and
// conditions mean what those of [Value.Modify] do.
func (v *Value[T]) Store(ctx context.Context, x T, when ...coord.Op) (Update[T], error) {
	if err := cmp.Or(v.check(false, true), checkConditions(when)); err != nil {
		return v.failed("store", err)
	}
	data, err := v.codec.encode(x)
	if err != nil {
		return v.failed("store", err)
	}
	return v.write(ctx, "store", when, (*coord.Session).Exists, func(coord.Node) (T, []byte, error) { return x, data, nil })
}

// write stores what change makes of the znode, for which look asks. It looks again if
// somebody else changes the znode in between.
func (v *Value[T]) write(ctx context.Context, op string, when []coord.Op, look lookFunc, change func(coord.Node) (T, []byte, error)) (Update[T], error) {
	var now Update[T]
	var objection error
	ask := look
	err := repeat(ctx, v.c, func(s *coord.Session) error {
		n, err := ask(s, ctx, v.path)
		if err != nil {
			return err
		}
		ask = synced(look) // the next time: the server was behind, or others are fast
		next, data, bad := change(n)
		if bad != nil {
			// That counts unless the server is behind.
			last, err := ask(s, ctx, v.path)
			if err == nil && last.Stat.Mzxid != n.Stat.Mzxid {
				err = errStale
			}
			objection = bad
			return err
		}
		stat, err := v.store(ctx, s, when, write{path: v.path, data: data, found: n})
		now, objection = updateOf(next, stat), nil
		return err
	})
	if err == nil {
		err = objection
	}
	if err != nil {
		return v.failed(op, err)
	}
	return now, nil
}

// store carries out w if the conditions hold and the znode is still as it was found. It
// returns the version, the transaction and the time of what it has stored.
func (v *Value[T]) store(ctx context.Context, s *coord.Session, when []coord.Op, w write) (coord.Stat, error) {
	if w.found.Exists {
		w.version = w.found.Stat.Version
		if w.version == -1 {
			return coord.Stat{}, errVersion
		}
	}
	got, err := commit(ctx, v.c, s, when, []write{w})
	if err != nil {
		return coord.Stat{}, err
	}
	stat := got.stat
	if stat == nil {
		// It was created, without a witness: only the znode tells when, unless
		// somebody has changed it since.
		stat = new(coord.Stat)
		if n, err := s.Exists(ctx, w.path); err == nil && n.Czxid == n.Mzxid {
			*stat = n.Stat
		}
	}
	stat.Version = 0
	if w.found.Exists {
		stat.Version = w.version + 1
	}
	return *stat, nil
}

// Delete deletes the znode. If there is none, that is no error; if it has children
// it is one, [coord.ErrNotEmpty]. It is carried out once or not at all. Its errors and
// conditions mean what those of [Value.Modify] do; the conditions count even if there is
// nothing to delete.
func (v *Value[T]) Delete(ctx context.Context, when ...coord.Op) error {
	err := cmp.Or(v.check(false, false), checkConditions(when))
	if err == nil {
		err = repeat(ctx, v.c, func(s *coord.Session) error {
			_, err := publish(ctx, v.c, s, v.path, when, []write{{path: v.path, remove: true}})
			return err
		})
	}
	if err != nil {
		_, err = v.failed("delete", err)
	}
	return err
}
