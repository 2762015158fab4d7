package lock_test

import (
	"context"
	"errors"
	"testing"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/lock"
)

func TestDo(t *testing.T) { inBoth(t, mutex, dos, nothingLeft) }

var errMine = errors.New("the work went wrong")

var dos = []scenario{
	{"Do has the lock during the work, and another gets it right after, however that ends (R7, R40)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		m := lock.New(a.Client, w.Dir)
		var last coord.Token
		for _, x := range []struct {
			name   string
			f      func() error
			err    error
			panics bool
		}{
			{"nil", func() error { return nil }, nil, false},
			{"an error", func() error { return errMine }, errMine, false},
			{"a panic", func() error { panic(errMine) }, nil, true},
		} {
			var err error
			calls := 0
			panicked := func() (p any) {
				defer func() { p = recover() }()
				err = m.Do(bg, func(ctx context.Context, h *coord.Hold) error {
					calls++
					w.Must(ctx.Err())
					if h.Token() <= last {
						w.Errorf("token %d after %d", h.Token(), last)
					}
					last = h.Token()
					w.Taken(b)
					return x.f()
				})
				return nil
			}()
			w.Free(b)
			if calls != 1 {
				w.Errorf("%s: called %d times", x.name, calls)
			}
			switch {
			case x.panics && panicked != errMine:
				w.Errorf("%s: panic %v", x.name, panicked)
			case !x.panics && panicked != nil:
				w.Errorf("%s: panic %v", x.name, panicked)
			case x.err == nil:
				w.Must(err)
			default:
				w.Wants(err, x.err)
			}
		}
	}},
	{"Do's error has both the work's and the loss, and the work's ctx the loss (R6)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		err := lock.New(a.Client, w.Dir).Do(bg, func(ctx context.Context, _ *coord.Hold) error {
			w.Expire(a)
			w.Wait("end of the work's ctx", ctx.Done())
			w.Wants(context.Cause(ctx), coord.ErrExpired)
			return errMine
		})
		w.Wants(err, errMine)
		w.Wants(err, coord.ErrExpired)
		w.Eventually("the old session's znode gone", func() bool { return len(w.Children()) == 0 })
		w.Free(b)
	}},
	{"work that returned nil after a loss does not make Do return nil", func(w place) {
		a := w.Client(T)
		err := lock.New(a.Client, w.Dir).Do(bg, func(ctx context.Context, _ *coord.Hold) error {
			w.Must(w.Op().Delete(w.Dir+"/"+w.Children()[0], -1))
			w.Wait("end of the work's ctx", ctx.Done())
			return nil
		})
		w.Wants(err, coord.ErrDeleted)
	}},
	{"a loss that comes before the work looks is not missed (R25)", func(w place) {
		a := w.Client(T)
		err := lock.New(a.Client, w.Dir).Do(bg, func(ctx context.Context, _ *coord.Hold) error {
			over := a.Expired()
			w.Expire(a)
			w.Wait("expiry", over)
			w.Wait("end of the work's ctx", ctx.Done()) // at which the work has not looked yet
			w.Wants(ctx.Err(), context.Canceled)
			w.Wants(context.Cause(ctx), coord.ErrExpired)
			return ctx.Err()
		})
		w.Wants(err, coord.ErrExpired)
	}},
	{"Do with a ctx that has ended does nothing, and says why (R61)", func(w place) {
		a := w.Client(T)
		cause := errors.New("no longer needed")
		ctx, cancel := context.WithCancelCause(bg)
		cancel(cause)
		w.Wants(lock.New(a.Client, w.Dir).Do(ctx, uncalled(w)), cause)
		if ok, _, err := w.Op().Exists(w.Dir); ok || err != nil {
			w.Errorf("directory exists: %v, %v", ok, err)
		}
	}},
	{"Do whose ctx ends while it waits leaves the queue, and does not do the work (R5, R61)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		h := w.Held(b)
		cause := errors.New("lost interest")
		ctx, cancel := context.WithCancelCause(bg)
		back := make(chan error, 1)
		go func() { back <- lock.New(a.Client, w.Dir).Do(ctx, uncalled(w)) }()
		w.Eventually("in the queue", func() bool { return len(w.Children()) == 2 })
		cancel(cause)
		w.Wants(<-back, cause)
		w.Eventually("out of the queue", func() bool { return len(w.Children()) == 1 })
		w.Must(h.Err())
		w.Must(h.Release(bg))
	}},
	{"Do whose ctx ends during the work tells the work, and holds until that stops (R7)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		cause := errors.New("no longer needed")
		ctx, cancel := context.WithCancelCause(bg)
		w.Wants(lock.New(a.Client, w.Dir).Do(ctx, func(work context.Context, _ *coord.Hold) error {
			cancel(cause)
			w.Wait("end of the work's ctx", work.Done())
			w.Wants(context.Cause(work), cause)
			w.Taken(b)
			return errMine
		}), errMine)
		h := w.Held(b)
		w.Must(h.Release(bg))
	}},
}

func uncalled(w place) func(context.Context, *coord.Hold) error {
	return func(context.Context, *coord.Hold) error {
		w.Error("the work was called")
		return nil
	}
}
