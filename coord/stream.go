package coord

import (
	"context"
	"errors"

	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// NewStream returns a stream on path, for which run publishes values, on a goroutine
// that [Client.Close] waits for. The op names what is done, for errors. The ctx that
// run is given ends with the one given here, and when c is closed.
//
// What run returns ends the stream, as the cause of an [Error] with op and path. If
// run returns an Error itself, as from another stream, that one's cause is used; if
// it returns nil, the cause of ctx's end. If path is invalid, or ctx has ended, or c
// is closed, run is not called.
func NewStream[T any](ctx context.Context, c *Client, op, path string, run func(context.Context, event.Publisher[T]) error) *event.Stream[T] {
	k := c.Kit()
	out, p := event.NewStream[T]()
	end := func(cause error) { p.Close(&Error{op, path, c.because(cause)}) }
	if err := zkpath.Check(path); err != nil {
		end(err)
		return out
	}
	if ctx.Err() != nil {
		end(context.Cause(ctx))
		return out
	}
	ok := k.Go(func(life context.Context) {
		ctx, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		defer context.AfterFunc(life, func() { stop(context.Cause(life)) })()
		cause := errExited
		defer func() { end(cause) }() // run may not return
		err := run(ctx, p)
		if e, ok := err.(*Error); ok {
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

// errNoCause is the end of a stream for which nobody has given a reason.
var errNoCause = errors.New("coord: stream ended without a reason")
