package config

import (
	"context"
	"errors"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/backoff"
)

// A lookFunc asks what there is at a path. It is Get or Exists of a session, which
// comes first in method expressions.
type lookFunc func(s *coord.Session, ctx context.Context, path string) (coord.Node, error)

// synced returns look with an answer no older than the call, unless it comes from a
// leader that is cut off from the others. All of it is done in one session: the
// server of the next one need not have caught up.
func synced(look lookFunc) lookFunc {
	return func(s *coord.Session, ctx context.Context, path string) (coord.Node, error) {
		if err := s.Sync(ctx, path); err != nil {
			return coord.Node{}, err
		}
		return look(s, ctx, path)
	}
}

// repeat calls f with a session that is connected, [again] and again if need be, and
// returns what f does, or why there is no session.
func repeat(ctx context.Context, c *coord.Client, f func(*coord.Session) error) error {
	pause := backoff.Backoff{Min: time.Millisecond, Max: 100 * time.Millisecond}
	for {
		s, err := c.Kit().Await(ctx)
		if err != nil {
			return err
		}
		if err = f(s); !again(s, err) {
			return err
		}
		pause.Wait(ctx.Done(), s.Done())
	}
}

// again reports whether it makes sense to look again after err, with which requests
// in session s have ended: nothing was changed, because something is not as it was
// found, or because s is over. Whether there will be another session, and time to
// look, [coord.Kit.Await] says.
func again(s *coord.Session, err error) bool {
	if err == nil || errors.Is(err, coord.ErrUnknown) || s.Refused(err) {
		return false
	}
	return err == errStale || s.Err() != nil
}

// ended returns the cause of ctx, which has ended, as requests of c do: it cannot be
// mistaken for an answer of the ensemble.
func ended(ctx context.Context, c *coord.Client) error {
	_, err := c.Kit().Await(ctx)
	return err
}
