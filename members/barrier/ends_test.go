package barrier_test

import (
	"context"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/members"
	"github.com/zkcoord/zkcoord/members/barrier"
)

func TestEnds(t *testing.T) { run(t, ends) }

// ends are about IDs, and about how a Hold ends.
var ends = []scenario{
	{"a release whose ctx ends goes on", func(w *place) {
		a, b := w.Client(T), w.Client(T)
		ha, hb := w.enter(a, 2, "a"), w.enter(b, 2, "b")
		w.acquired(ha, hb)
		ctx, cancel := context.WithTimeout(bg, 50*time.Millisecond)
		defer cancel()
		w.WantsOp(ha.Release(ctx), "release", w.Dir, context.DeadlineExceeded)
		w.IsOpen("done", ha.Done())
		w.Must(hb.Release(bg))
		w.Wait("done", ha.Done())
	}},
	{"an ID that is in is taken, and free again when it has left", func(w *place) {
		a, b := w.Client(T), w.Client(T)
		ha := w.enter(a, 2, "a")
		w.in(1)
		for _, c := range []*harness.Client{a, b} {
			h := w.enter(c, 2, "a")
			w.Wait("done", h.Done())
			w.WantsOp(h.Err(), "enter", w.Dir, members.ErrTaken)
		}
		w.Must(ha.Release(bg))
		h := w.enter(b, 1, "a")
		w.acquired(h)
		w.Must(h.Release(bg))
	}},
	{"what cannot be is refused at once", func(w *place) {
		c := w.Client(T)
		for _, tt := range []struct {
			dir, id string
			n       int
			want    error
		}{
			{w.Dir, "a", 0, nil},
			{w.Dir, "", 1, coord.ErrInvalidPath},
			{w.Dir, "ready", 1, coord.ErrInvalidPath},
			{w.Dir, "a/b", 1, coord.ErrInvalidPath},
			{"/", "a", 1, coord.ErrInvalidPath},
			{"x", "a", 1, coord.ErrInvalidPath},
		} {
			h := barrier.New(c.Client, tt.dir, tt.n).Enter(bg, tt.id)
			w.Wait("done", h.Done())
			w.WantsOp(h.Err(), "enter", tt.dir, tt.want)
		}
	}},
	{"one whose znode an operator deletes is told, waiting or inside", func(w *place) {
		a, b := w.Client(T), w.Client(T)
		ha := w.enter(a, 2, "a")
		w.in(1)
		if w.Fake != nil {
			w.Rest()
		}
		w.Delete(w.Dir + "/a")
		w.Wait("done", ha.Done())
		w.Wants(ha.Err(), coord.ErrDeleted)
		ha, hb := w.enter(a, 2, "a"), w.enter(b, 2, "b")
		w.acquired(ha, hb)
		w.Delete(w.Dir + "/a")
		w.Wait("lost", ha.Lost())
		w.Wants(ha.Err(), coord.ErrDeleted)
		w.release(ha, hb)
	}},
	{"one whose znode an operator has deleted leaves alone what another has put there", func(w *place) {
		a, b := w.Client(T), w.Client(T)
		ha := w.enter(a, 2, "m")
		w.in(1)
		if w.Fake != nil {
			w.Rest()
		}
		heal := a.Link.Stall(coordtest.Both)
		w.Delete(w.Dir + "/m")
		hb := w.enter(b, 2, "m")
		w.in(1)
		heal()
		w.Wait("done", ha.Done())
		w.Wants(ha.Err(), coord.ErrDeleted)
		w.pending(hb)
		hc := w.enter(w.Client(T), 2, "c")
		w.acquired(hb, hc)
		w.release(hb, hc)
		w.nothingLeft()
	}},
	{"a guard passes while it is inside, and tokens increase", func(w *place) {
		c := w.Client(T)
		var last coord.Token
		for range 2 {
			h := w.enter(c, 1, "a")
			w.acquired(h)
			if h.Token() <= last {
				w.Errorf("token %d after %d", h.Token(), last)
			}
			if last == 0 {
				w.Create(w.Dir+"-data", "")
			}
			last = h.Token()
			guard := h.Guard()
			_, err := c.Txn(bg, guard, coord.OpSet(w.Dir+"-data", []byte("x"), -1))
			w.Must(err)
			w.Must(h.Release(bg))
			_, err = c.Txn(bg, guard, coord.OpSet(w.Dir+"-data", []byte("y"), -1))
			w.Wants(err, coord.ErrNotHeld)
		}
		w.Delete(w.Dir + "-data")
	}},
	{"a client that has lost its session enters again under its ID", func(w *place) {
		a := w.Client(T)
		ha := w.enter(a, 2, "a")
		w.in(1)
		heal := a.Link.Stall(coordtest.Both)
		w.Wait("done", ha.Done()) // the servers keep the session for a while
		w.Wants(ha.Err(), coord.ErrExpired)
		heal()
		ha = w.enter(a, 2, "a")
		w.Eventually("it is in anew", func() bool {
			_, stat, err := w.Op().Exists(w.Dir + "/a")
			return err == nil && coord.SessionID(stat.EphemeralOwner) == a.Kit().Session().ID()
		})
		hb := w.enter(w.Client(T), 2, "b")
		w.acquired(ha, hb)
		w.release(ha, hb)
	}},
	{"a client that is closed leaves, waiting and inside", func(w *place) {
		a, b, c := w.Client(T), w.Client(T), w.Client(T)
		ha := w.enter(a, 2, "a")
		w.in(1)
		w.Must(a.Close())
		w.IsClosed("done", ha.Done())
		w.Wants(ha.Err(), coord.ErrClosed)
		hb, hc := w.enter(b, 2, "b"), w.enter(c, 2, "c")
		w.acquired(hb, hc)
		w.Must(b.Close())
		w.IsClosed("lost", hb.Lost())
		w.Wants(hb.Err(), coord.ErrClosed)
		w.Must(hc.Release(bg))
	}},
	{"who is in is seen, and ready is no member", func(w *place) {
		a := w.Client(T)
		views := barrier.New(a.Client, w.Dir, 2).Watch(w.Context())
		ha, hb := w.enter(a, 2, "a"), w.enter(w.Client(T), 2, "b")
		w.acquired(ha, hb)
		w.Eventually("both are seen", func() bool {
			v, _ := views.Latest()
			return len(v.Members) == 2 && v.Members[0].ID == "a" && v.Members[1].ID == "b"
		})
		w.release(ha, hb)
		w.Eventually("nobody is seen", func() bool {
			v, _ := views.Latest()
			return len(v.Members) == 0
		})
	}},
}
