package semaphore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// Resize makes permits, 1 to [MaxPermits], the number in force in the directory of s,
// whatever it was before. It does not change s: acquire with a Semaphore that has the new
// number.
//
// Those that hold a permit keep it, even if they are more than the new number. Then none is
// given out before they are fewer. Those that wait with another number end with
// [ErrPermits], one after the other as they come to the head of the queue. Those that wait
// are not told of a number that is written by other means before a permit is released.
//
// The error is a [*coord.Error]: the cause of ctx's end, with which the number may have been
// changed or not; [ErrPermits] for a number that none can have; [coord.ErrForeign] if the
// directory is that of another recipe; [coord.ErrClosed], [coord.ErrInvalidPath], or the
// ensemble's refusal.
func (s *Semaphore) Resize(ctx context.Context, permits int) error {
	if err := s.resize(ctx, permits); err != nil {
		return &coord.Error{Op: "resize", Path: s.dir, Err: err}
	}
	return nil
}

func (s *Semaphore) resize(ctx context.Context, permits int) error {
	if err := s.checkDir(); err != nil {
		return err
	}
	if err := checkPermits(permits); err != nil {
		return err
	}
	var foreign error // which is no refusal of the ensemble, and is not to be tried again
	err := s.c.Kit().Retry(ctx, func(session *coord.Session) error {
		return session.InDir(ctx, s.dir, func() error {
			for {
				err := s.write(ctx, session, permits)
				switch {
				case errors.Is(err, coord.ErrForeign):
					foreign = err
					return nil
				case errors.Is(err, coord.ErrBadVersion), errors.Is(err, coord.ErrUnknown):
					continue // and see what is there now
				}
				return err
			}
		})
	})
	return cmp.Or(foreign, err)
}

// write writes the number of permits over that which is there, unless it is the same. The
// error is [coord.ErrNoNode] if there is no directory.
//
// Nobody watches the number. The contender at the gate reads it again because the leases
// change, too: in the same transaction a child comes and goes.
func (s *Semaphore) write(ctx context.Context, session *coord.Session, permits int) error {
	dir, err := session.Get(ctx, s.dir)
	switch {
	case err != nil:
		return err
	case !dir.Exists:
		return coord.ErrNoNode
	}
	n, err := parseNumber(dir.Data)
	if err != nil || n == permits {
		return err
	}
	names, _, err := session.Children(ctx, s.dir)
	if err == nil {
		err = checkForeign(names)
	}
	if err != nil {
		return err
	}
	ops := []coord.Op{coord.OpSet(s.dir, []byte(strconv.Itoa(permits)), dir.Version)}
	if slices.Contains(names, leasesPart) {
		sign := zkpath.Join(s.leases(), "resized")
		ops = append(ops, coord.OpCreate(sign, nil, coord.Persistent), coord.OpDelete(sign, -1))
	}
	results, err := session.Txn(ctx, ops...)
	if len(ops) > 1 && errors.Is(results[1].Err, coord.ErrNoNode) {
		return coord.ErrBadVersion // the leases' directory has just gone: look again
	}
	return err
}
