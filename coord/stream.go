package coord

import (
	"context"
	"errors"

	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// NewStream returns a stream on path, and calls run to publish its values, on a goroutine
// that [Client.Close] waits for. The op is the verb for errors, such as "watch". The ctx
// that run is given ends when the one given here does, and when c is closed.
//
// The stream ends when run returns, with an [*Error] that has op, path and, as its cause,
// what run returns. If that is an Error itself, as from another stream, its cause is used;
// if it is nil, the cause of ctx's end. If path is invalid, or ctx has ended, or c is
// closed, run is not called.
func NewStream[T any](ctx context.Context, c *Client, op, path string, run func(context.Context, event.Publisher[T]) error) *event.Stream[T] {
	k := c.Kit()
	out, p := event.NewStream[T]()
	end := func(cause error) { p.Close(&Error{op, path, c.withRefusals(cause)}) }
	if err := zkpath.Check(path); err != nil {
		end(err)
		return out
	}
	if ctx.Err() != nil {
		end(context.Cause(ctx))
		return out
	}
	ok := k.Go(func(open context.Context) {
		// A context for run has the values of the caller's, and ends with either.
		ctx, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		defer context.AfterFunc(open, func() { stop(context.Cause(open)) })()
		cause := errExited
		defer func() { end(cause) }() // run may not return
		err := run(ctx, p)
		if e, ok := err.(*Error); ok { // so that one error has one op and one path
			err = e.Err
		}
		if err == nil {
			err = context.Cause(ctx)
		}
		if err == nil {
			err = errNoCause
		}
		cause = err
	})
	if !ok {
		end(ErrClosed)
	}
	return out
}

// errNoCause is the cause of the end of a stream or of a Hold whose recipe has given none.
// It must not be nil, which means that there has been no end.
var errNoCause = errors.New("coord: recipe ended without a cause")
