package coord_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// R61: what a request returns because its ctx has ended is not taken for the
// ensemble's refusal, though the cause is one of something else, as an errgroup
// gives it, and is found in it. Of what the ensemble does answer, it is said.
func TestGivenUpIsNotRefused(t *testing.T) {
	calls := map[string]func(context.Context, *coord.Client) error{
		"Session.Txn": func(ctx context.Context, c *coord.Client) error {
			_, err := c.Kit().Session().Txn(ctx, coord.OpCheck("/none", -1))
			return err
		},
		"Session.Delete": func(ctx context.Context, c *coord.Client) error {
			return c.Kit().Session().Delete(ctx, "/none", -1)
		},
		"Client.Get": func(ctx context.Context, c *coord.Client) error {
			_, _, err := c.Get(ctx, "/none")
			return err
		},
		"Client.Set": func(ctx context.Context, c *coord.Client) error {
			_, err := c.Set(ctx, "/none", nil, -1)
			return err
		},
	}
	for name, call := range calls {
		for _, x := range []struct {
			name string
			cond func(w *world, l *coordtest.Link, c *coord.Client)
		}{
			{"while an answer is due", func(_ *world, l *coordtest.Link, _ *coord.Client) { l.Stall(coordtest.ToClient) }},
			{"while it is cut off", func(w *world, l *coordtest.Link, c *coord.Client) {
				l.Cut()
				w.Await(c, coord.Suspended)
			}},
			{"before it began", nil},
			{"while many answers are due", func(_ *world, l *coordtest.Link, c *coord.Client) {
				l.Stall(coordtest.ToServer)
				for range 100 { // more than are let in at a time
					go func() { _ = call(bg, c) }() // ends with c
				}
			}},
		} {
			t.Run(name+" "+x.name, func(t *testing.T) {
				for _, answer := range []error{zk.ErrNoNode, zk.ErrNodeExists, zk.ErrBadVersion, zk.ErrNoAuth} {
					bubble(t, func(w *world) {
						l := w.line()
						c := w.client(l, coord.Options{})
						if err := call(bg, c); !refused(err) || !errors.Is(err, zk.ErrNoNode) {
							t.Fatalf("the ensemble's answer: %v", err)
						}
						cause := &coord.Error{Op: "read", Path: "/other", Err: fmt.Errorf("sibling: %w", answer)}
						ctx, cancel := context.WithCancelCause(bg)
						if x.cond == nil {
							cancel(cause)
						} else {
							x.cond(w, l, c)
							time.AfterFunc(time.Second, func() { cancel(cause) })
						}
						err := call(ctx, c)
						if refused(err) || refused(&coord.Error{Op: "do", Path: "/", Err: err}) {
							t.Errorf("taken for a refusal: %v", err)
						}
						if !errors.Is(err, cause) {
							t.Errorf("%v is not %v", err, cause)
						}
					})
				}
			})
		}
	}
}

// An ending is a context that ends when it is asked whether it has, once that is due.
type ending struct {
	context.Context
	end func()
	due bool
}

func (e *ending) Err() error {
	if e.due {
		e.end()
	}
	return e.Context.Err()
}

// What Retry returns when ctx ends is ctx's cause also if it ends right behind an
// answer that leaves the outcome open.
func TestRetrySaysWhyItGivesUp(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client(w.line(), coord.Options{})
		cause := errors.New("enough")
		parent, cancel := context.WithCancelCause(bg)
		ctx := &ending{Context: parent, end: func() { cancel(cause) }}
		err := c.Kit().Session().Retry(ctx, func() error {
			ctx.due = true
			return zk.ErrConnectionClosed
		})
		if !errors.Is(err, cause) {
			t.Errorf("%v is not %v", err, cause)
		}
	})
}
