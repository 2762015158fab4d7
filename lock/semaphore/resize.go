package semaphore

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"github.com/zkcoord/zkcoord/coord"
)

// Resize makes permits, 1 to [MaxPermits], the number in force in the directory of s,
// whatever it was before. It does not change s: acquire with a Semaphore that has the new
// number.
//
// Those that hold a permit keep it, even if they are more than the new number. Then none is
// given out before they are fewer. Those that wait with another number end with
// [ErrPermits], one after the other as they come to the head of the queue.
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
				case errors.Is(err, coord.ErrBadVersion):
					continue // by somebody else, or by us if the answer was lost
				}
				return err
			}
		})
	})
	return cmp.Or(foreign, err)
}

// write writes the number of permits over that which is there, unless it is the same. The
// error is [coord.ErrNoNode] if there is no directory.
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
	if err == nil {
		_, err = session.Set(ctx, s.dir, []byte(strconv.Itoa(permits)), dir.Version)
	}
	return err
}
