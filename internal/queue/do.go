package queue

import (
	"context"
	"errors"

	"github.com/zkcoord/zkcoord/coord"
)

// Do waits until h is held, calls f, and releases h, also when f panics: see
// [lock.Mutex.Do].
//
// [lock.Mutex.Do]: https://pkg.go.dev/github.com/zkcoord/zkcoord/lock#Mutex.Do
func Do(ctx context.Context, h *coord.Hold, f func(context.Context, coord.Token) error) (err error) {
	defer func() {
		left := h.Release(ctx)
		if ctx.Err() == nil { // else the release goes on without us
			err = errors.Join(err, left)
		}
	}()
	if err := h.Wait(); err != nil {
		return err
	}
	work, stop := context.WithCancel(h.Context(ctx))
	defer stop()
	err = f(work, h.Token())
	if lost := h.Err(); lost != nil {
		err = errors.Join(err, lost)
	}
	return err
}
