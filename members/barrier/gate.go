package barrier

import (
	"context"
	"errors"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// A Gate is a simple barrier: while it is closed, everybody waits in front of it.
//
// A Gate must come from [NewGate]. It is only a name and may be shared.
type Gate struct {
	c    *coord.Client
	path string
}

// NewGate returns the gate that is closed while there is a znode at path. What is missing
// above the path is created when first needed, as containers. If path is invalid, all
// methods say so.
func NewGate(c *coord.Client, path string) *Gate { return &Gate{c, path} }

// Close closes g, and returns nil if it is closed already. Nobody but Open opens it: the
// znode belongs to no session. If ctx ends first, g may be closed or not.
//
// The error is a [*coord.Error]: the cause of ctx's end, [coord.ErrClosed],
// [coord.ErrInvalidPath], or the ensemble's refusal.
func (g *Gate) Close(ctx context.Context) error {
	return g.do(ctx, "close", func(s *coord.Session) error {
		err := s.InDir(ctx, zkpath.Parent(g.path), func() error {
			_, err := s.Create(ctx, g.path, nil, coord.Persistent)
			return err
		})
		if errors.Is(err, coord.ErrNodeExists) {
			return nil
		}
		return err
	})
}

// Open opens g, and returns nil if it is open already. If ctx ends first, g may be open or
// not. The errors are those of Close.
func (g *Gate) Open(ctx context.Context) error {
	return g.do(ctx, "open", func(s *coord.Session) error {
		err := s.Delete(ctx, g.path, -1)
		if errors.Is(err, coord.ErrNoNode) {
			return nil
		}
		return err
	})
}

// Wait waits until g is open, or ctx ends. It begins with a sync of the client's server. So a
// gate that was closed before the call keeps everybody, unless that server is a leader that
// is cut off from the others. Beside the sync it costs the ensemble one watch, however many
// of one client wait, and one event when the gate opens. A gate that is closed again at once
// may be missed: then Wait goes on waiting. While the connection is down it waits, too, for
// nothing is known then. The errors are those of Close.
func (g *Gate) Wait(ctx context.Context) error {
	err := g.do(ctx, "wait", func(s *coord.Session) error { return s.Sync(ctx, g.path) })
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	states := g.c.Watch(ctx, g.path, event.Presence)
	for snap := range states.All() {
		if !snap.Exists && !snap.Suspended {
			return nil
		}
	}
	return &coord.Error{Op: "wait", Path: g.path, Err: errors.Unwrap(states.Err())}
}

// do calls f, in the next session if one expires, for the operation op.
func (g *Gate) do(ctx context.Context, op string, f func(*coord.Session) error) error {
	err := g.c.Kit().Retry(ctx, f)
	if e := new(coord.Error); errors.As(err, &e) {
		err = e.Err
	}
	if err != nil {
		return &coord.Error{Op: op, Path: g.path, Err: err}
	}
	return nil
}
