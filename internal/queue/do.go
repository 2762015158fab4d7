package queue

import (
	"context"
	"errors"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/backoff"
)

// A Work is what is done while h is held.
type Work = func(ctx context.Context, h *coord.Hold) error

// Do waits until h is held, calls f, and releases h, even if f panics: see
// [lock.Mutex.Do].
//
// [lock.Mutex.Do]: https://pkg.go.dev/github.com/zkcoord/zkcoord/lock#Mutex.Do
func Do(ctx context.Context, h *coord.Hold, f Work) error { return do(ctx, h, f).err() }

// Run does what Do does with one Hold after the other, until one is not lost: see
// [lock.Mutex.Run].
//
// [lock.Mutex.Run]: https://pkg.go.dev/github.com/zkcoord/zkcoord/lock#Mutex.Run
func Run(ctx context.Context, acquire func(context.Context) *coord.Hold, f Work) error {
	// What is lost as soon as it is asked for, because somebody removes it each time,
	// is not asked for all the time.
	pause := backoff.Backoff{Min: 5 * time.Millisecond, Max: time.Second}
	for {
		began := time.Now()
		o := do(ctx, acquire(ctx), f)
		switch {
		case !coord.IsLost(o.ended) || o.refused != nil:
			return o.err()
		case time.Since(began) > time.Second:
			pause.Reset()
		default:
			pause.Wait(ctx.Done(), nil)
		}
	}
}

// An outcome is what came of one Hold and the work under it.
type outcome struct {
	work    error // what f returned, if it was called
	ended   error // why the Hold was not acquired, or was lost before f returned
	refused error // why its znode could not be removed
}

func do(ctx context.Context, h *coord.Hold, f Work) (o outcome) {
	defer func() {
		if err := h.Release(ctx); ctx.Err() == nil { // else the release goes on without us
			o.refused = err
		}
	}()
	if f == nil {
		panic("lock: the function to call is nil")
	}
	if o.ended = h.Wait(); o.ended != nil {
		return o
	}
	work, stop := context.WithCancel(h.Context(ctx))
	defer stop()
	o.work = f(work, h)
	if o.ended = h.Err(); errors.Is(o.ended, coord.ErrReleased) {
		o.ended = nil // by f
	}
	return o
}

// err returns o as one error, in which the end of the Hold is found once.
func (o outcome) err() error {
	switch {
	case errors.Is(o.work, o.ended):
		o.ended = nil // or nil already
	case o.ended != nil && o.work == context.Canceled:
		o.work = nil // the error of the work's ctx, of which ended is the cause
	}
	var all []error
	for _, err := range []error{o.work, o.ended, o.refused} {
		if err != nil {
			all = append(all, err)
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	return errors.Join(all...)
}
