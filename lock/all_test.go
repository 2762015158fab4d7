package lock_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/locktest"
	"github.com/zkcoord/zkcoord/lock"
)

// One Mutex, acquired by All, is what it is by itself.
func TestAllOfOne(t *testing.T) {
	one := mutex
	one.Name = "all of one"
	one.Acquire = func(ctx context.Context, c *coord.Client, dir string) *coord.Hold {
		return lock.All(ctx, lock.New(c, dir))
	}
	one.Bind = func(c *coord.Client, dir string) func(context.Context) *coord.Hold {
		m := lock.New(c, dir)
		return func(ctx context.Context) *coord.Hold { return lock.All(ctx, m) }
	}
	locktest.ScenariosInBubbles(t, one)
}

// locks returns the locks at these names below w.Dir, for c.
func (w place) locks(c *locktest.Client, names ...string) []*lock.Mutex {
	var ms []*lock.Mutex
	for _, name := range names {
		ms = append(ms, lock.New(c.Client, w.Dir+"/"+name))
	}
	return ms
}

// all seeks them in this order.
func (w place) all(c *locktest.Client, names ...string) *coord.Hold {
	return lockAll(bg, w, c, names)
}

func lockAll(ctx context.Context, w place, c *locktest.Client, names []string) *coord.Hold {
	return lock.All(ctx, w.locks(c, names...)...)
}

// queue returns how many are in the queue of the lock of that name.
func (w place) queue(name string) int { return len(w.World.World.Children(w.Dir + "/" + name)) }

// allGone waits until none of the queues below w.Dir has anybody.
func allGone(w place) {
	w.Helper()
	w.Eventually("no contender left", func() bool {
		for _, name := range w.World.World.Children(w.Dir) {
			if w.queue(name) > 0 {
				return false
			}
		}
		return true
	})
	w.Eventually("no watch left", func() bool { return w.Watches() == 0 })
}

// alls are what All promises.
var alls = []scenario{
	{"all are held, with their tokens in the order of the arguments, until all are released", func(w place) {
		a, b := w.Client(T), w.Client(T)
		h := w.all(a, "c", "a", "b")
		w.Grant(h)
		var want []coord.Token
		for _, name := range []string{"c", "a", "b"} {
			who, err := w.locks(b, name)[0].Contenders(bg)
			w.Must(err)
			if len(who) != 1 || who[0].Session != a.Kit().Session().ID() {
				w.Fatalf("contenders of %s: %+v", name, who)
			}
			want = append(want, who[0].Token)
		}
		if got := h.Tokens(); !slices.Equal(got, want) || h.Token() != want[0] || slices.Min(got) != got[1] || slices.Max(got) != got[0] {
			w.Errorf("tokens %v, of which the first is %v; want %v", got, h.Token(), want)
		}
		w.Must(h.Release(bg))
		w.WantsOp(h.Err(), "release", w.Dir+"/c", coord.ErrReleased)
		w.IsOpen("lost", h.Lost())
		for _, name := range []string{"c", "a", "b"} {
			if n := w.queue(name); n != 0 {
				w.Errorf("%d in the queue of %s after the release", n, name)
			}
		}
	}},
	{"while one is waited for, those before it in the order of the paths are held, and no other", func(w place) {
		a, b := w.Client(T), w.Client(T)
		hb := w.all(b, "b")
		w.Grant(hb)
		h := w.all(a, "c", "b", "a")
		w.Eventually("in line for b", func() bool { return w.queue("b") == 2 })
		if w.queue("a") != 1 || w.queue("c") != 0 {
			w.Errorf("%d in the queue of a, %d in that of c", w.queue("a"), w.queue("c"))
		}
		w.IsOpen("acquired", h.Acquired())
		if h.Tokens() != nil || h.Token() != 0 {
			w.Errorf("tokens %v of what is not held", h.Tokens())
		}
		w.Must(hb.Release(bg))
		w.Grant(h)
		w.Must(h.Release(bg))
	}},
	{"if one cannot be had in time, the others are given back, and the error names it", func(w place) {
		a, b := w.Client(T), w.Client(T)
		hb := w.all(b, "b")
		w.Grant(hb)
		cause := errors.New("in a hurry")
		ctx, cancel := context.WithCancelCause(bg)
		h := lock.All(ctx, w.locks(a, "a", "b", "c")...)
		w.Eventually("in line for b", func() bool { return w.queue("b") == 2 })
		cancel(cause)
		w.WantsOp(w.Outcome(h), "acquireall", w.Dir+"/b", cause)
		try := w.locks(a, "a")[0].TryAcquire(bg) // what is given up is not in its way
		w.Grant(try)
		w.Wait("done", h.Done())
		w.IsOpen("lost", h.Lost())
		w.Must(h.Release(bg))
		if w.queue("a") != 1 || w.queue("b") != 1 || w.queue("c") != 0 {
			w.Errorf("%d, %d and %d in the queues", w.queue("a"), w.queue("b"), w.queue("c"))
		}
		w.Must(try.Release(bg))
		w.Must(hb.Release(bg))
	}},
	{"released while it waits, it gives back what it has", func(w place) {
		a, b := w.Client(T), w.Client(T)
		hb := w.all(b, "b")
		w.Grant(hb)
		h := w.all(a, "a", "b")
		w.Eventually("in line for b", func() bool { return w.queue("b") == 2 })
		w.Must(h.Release(bg))
		w.WantsOp(h.Err(), "release", w.Dir+"/a", coord.ErrReleased)
		if w.queue("a") != 0 || w.queue("b") != 1 {
			w.Errorf("%d and %d in the queues", w.queue("a"), w.queue("b"))
		}
		w.Must(hb.Release(bg))
	}},
	{"one that is lost while another is waited for ends it", func(w place) {
		a, b := w.Client(T), w.Client(T)
		hb := w.all(b, "b")
		w.Grant(hb)
		h := w.all(a, "a", "b")
		w.Eventually("in line for b", func() bool { return w.queue("b") == 2 })
		w.Delete(w.Dir + "/a/" + w.World.World.Children(w.Dir + "/a")[0])
		w.WantsOp(w.Outcome(h), "acquireall", w.Dir+"/a", coord.ErrDeleted)
		w.Wait("done", h.Done())
		w.IsOpen("lost", h.Lost())
		w.Must(hb.Err())
		if n := w.queue("b"); n != 1 {
			w.Errorf("%d in the queue of b", n)
		}
		w.Must(hb.Release(bg))
	}},
	{"it is lost with one of them, by its name, and the others are held until the release", func(w place) {
		for _, x := range []struct {
			want error
			do   func(node string)
		}{
			{coord.ErrDeleted, func(node string) { w.Delete(node) }},
			{coord.ErrRevoked, func(node string) { w.Set(node, "__REVOKE__") }},
		} {
			a, b := w.Client(T), w.Client(T)
			h := w.all(a, "b", "c", "a")
			w.Grant(h)
			work := h.Context(bg)
			x.do(w.Dir + "/b/" + w.World.World.Children(w.Dir + "/b")[0])
			w.Wait("lost", h.Lost())
			w.WantsOp(h.Err(), "lost", w.Dir+"/b", x.want)
			w.Wait("end of the work", work.Done())
			w.Wants(context.Cause(work), x.want)
			next := w.all(b, "a", "b", "c")
			w.Eventually("the next in line for a", func() bool { return w.queue("a") == 2 })
			w.IsOpen("acquired", next.Acquired())
			w.IsOpen("done", h.Done())
			w.Must(h.Release(bg))
			w.Wants(h.Err(), x.want)
			w.Grant(next)
			w.Must(next.Release(bg))
		}
	}},
	{"a holder whose session ends is told before another has one of them", func(w place) {
		a, b, c := w.Client(T), w.Client(T), w.Client(T)
		h := w.all(a, "a", "b")
		w.Grant(h)
		hb, hc := w.all(b, "a"), w.all(c, "b")
		w.Eventually("in line", func() bool { return w.queue("a") == 2 && w.queue("b") == 2 })
		heal := a.Link.Stall(coordtest.Both)
		for _, next := range []*coord.Hold{hb, hc} {
			w.Grant(next)
			w.IsClosed("lost", h.Lost())
			w.Must(next.Release(bg))
		}
		w.WantsOp(h.Err(), "lost", h.Err().(*coord.Error).Path, coord.ErrExpired)
		w.Wait("done", h.Done())
		heal()
	}},
	{"a closed client ends it, whether it is held or waits", func(w place) {
		a, b := w.Client(10*T), w.Client(T)
		h := w.all(a, "a", "b")
		w.Grant(h)
		waits := w.all(a, "b", "c")
		next := w.all(b, "a", "b", "c")
		w.Eventually("in line", func() bool { return w.queue("a") == 2 && w.queue("b") == 2 })
		w.Must(a.Close())
		for _, h := range []*coord.Hold{h, waits, w.all(a, "a")} {
			w.IsClosed("done", h.Done())
			w.Wants(h.Err(), coord.ErrClosed)
			w.Must(h.Release(bg))
		}
		w.Grant(next)
		w.Must(next.Release(bg))
	}},
	{"it costs what its locks cost: a request for each that is free, and one for its release", func(w place) {
		a := w.Client(T)
		h := w.all(a, "a", "b", "c")
		w.Grant(h) // so that the directories are there
		w.Must(h.Release(bg))
		n := w.Cost(a)
		n.Ops() // what is under way
		h = w.all(a, "a", "b", "c")
		w.Grant(h)
		w.Must(h.Release(bg))
		n.IsBrief("a hold of three locks", "delete", "delete", "delete", "multi", "multi", "multi")
	}},
	{"a lock that may not be removed is named by the release", func(w place) {
		a := w.Client(T)
		h := w.all(a, "a", "b")
		w.Grant(h)
		_, err := w.Op().SetACL(w.Dir+"/b", zk.WorldACL(zk.PermAll&^zk.PermDelete), -1)
		w.Must(err)
		w.WantsOp(h.Release(bg), "release", w.Dir+"/b", coord.ErrNoAuth)
		w.Must(a.Close())
	}},
}

func TestAll(t *testing.T) {
	t.Parallel()
	inBoth(t, mutex, slices.Concat(alls, allRefusals), allGone)
}
