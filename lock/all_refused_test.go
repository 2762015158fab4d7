package lock_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/locktest"
	"github.com/zkcoord/zkcoord/lock"
)

// allRefusals are what is refused: to All itself, and by the guard of its Hold.
var allRefusals = []scenario{
	{"the guard is one op, and lets pass what is written while all are held", func(w place) {
		a, b := w.Client(T), w.Client(T)
		write := func(c *locktest.Client, h *coord.Hold) error {
			results, err := c.Txn(bg, coord.OpCheck("/", -1), h.Guard(), coord.OpSet(w.Dir+"-guarded", []byte("x"), -1))
			if len(results) != 3 || err == nil && results[2].Stat.Mzxid == 0 || err != nil && !errors.Is(results[1].Err, coord.ErrNotHeld) {
				w.Errorf("results %+v, %v", results, err)
			}
			return err
		}
		held := w.all(b, "b")
		w.Grant(held)
		w.Create(w.Dir+"-guarded", "")
		defer w.Delete(w.Dir + "-guarded")
		h := w.all(a, "a", "b")
		w.WantsOp(write(a, h), "txn", w.Dir+"/a", coord.ErrNotHeld)
		w.Must(held.Release(bg))
		w.Grant(h)
		w.Must(write(a, h))
		w.Must(write(b, h)) // another client may use it
		if got, want := h.Guard().String(), fmt.Sprintf("check %s/a, %s/b", w.Dir, w.Dir); got != want || !h.Guard().IsCheck() {
			w.Errorf("the guard is %q, want %q", got, want)
		}
		guard := h.Guard()
		w.Delete(w.Dir + "/b/" + w.World.World.Children(w.Dir + "/b")[0])
		w.WantsOp(write(a, h), "txn", w.Dir+"/b", coord.ErrNotHeld)
		w.Wait("lost", h.Lost())
		w.Must(h.Release(bg))
		_, err := a.Txn(bg, guard)
		w.WantsOp(err, "txn", w.Dir+"/a", coord.ErrNotHeld)
	}},
	{"what cannot be is refused at once, and nothing is left", func(w place) {
		a, b := w.Client(T), w.Client(T)
		ab := w.locks(a, "a", "b")
		outer := ab[0].Acquire(bg)
		w.Grant(outer)
		defer outer.Release(bg)
		both := lock.All(bg, w.locks(a, "x", "y")...)
		w.Grant(both)
		defer both.Release(bg)
		for _, x := range []struct {
			what string
			ctx  context.Context
			ms   []*lock.Mutex
			path string
			want error
			word string
		}{
			{"none", bg, nil, "", nil, "no Mutex"},
			{"nil", bg, []*lock.Mutex{ab[1], nil}, "", nil, "Mutex 2 of 2 is nil"},
			{"zero", bg, []*lock.Mutex{{}, ab[1]}, "", nil, "Mutex 1 of 2"},
			{"two of one path", bg, []*lock.Mutex{ab[1], lock.New(a.Client, w.Dir+"/b")}, w.Dir + "/b", lock.ErrNested, "twice"},
			{"two clients", bg, []*lock.Mutex{ab[1], w.locks(b, "c")[0]}, w.Dir + "/c", nil, "another client"},
			{"no path", bg, []*lock.Mutex{ab[1], lock.New(a.Client, "/x/")}, "/x/", coord.ErrInvalidPath, ""},
			{"the root", bg, []*lock.Mutex{lock.New(a.Client, "/"), ab[1]}, "/", coord.ErrInvalidPath, ""},
			{"one in itself", outer.Context(bg), []*lock.Mutex{ab[1], ab[0]}, w.Dir + "/a", lock.ErrNested, ""},
			{"one of all in all", both.Context(bg), w.locks(a, "z", "y"), w.Dir + "/y", lock.ErrNested, ""},
		} {
			h := lock.All(x.ctx, x.ms...)
			w.IsClosed(x.what+" done", h.Done())
			w.WantsOp(h.Wait(), "acquireall", x.path, x.want, x.word)
			w.IsOpen(x.what+" acquired", h.Acquired())
			w.IsOpen(x.what+" lost", h.Lost())
			w.Must(h.Release(bg))
			if h.Token() != 0 || h.Tokens() != nil || !h.Until().IsZero() || h.Context(bg).Err() == nil {
				w.Errorf("%s: tokens %v, until %v", x.what, h.Tokens(), h.Until())
			}
			_, err := a.Txn(bg, h.Guard())
			w.Wants(err, coord.ErrNotHeld)
		}
		if _, there, err := a.Exists(bg, w.Dir+"/b"); there || err != nil {
			w.Errorf("somebody has asked for b: %v", err)
		}
		// A Mutex knows that its caller holds it through All, whether it is the first or not.
		for _, name := range []string{"x", "y"} {
			w.Wants(w.Outcome(w.locks(a, name)[0].Acquire(both.Context(bg))), lock.ErrNested)
		}
		inner := w.locks(a, "z")[0].Acquire(both.Context(bg))
		w.Grant(inner)
		w.Must(inner.Release(bg))
		w.Must(both.Err())
		w.Must(both.Release(bg))
		w.Must(outer.Release(bg))
	}},
}
