package lock_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/locktest"
)

// What many contenders of one client cost, and promise.
func TestNeighbors(t *testing.T) { inBoth(t, mutex, neighbors, nothingLeft) }

// behind has c come to wait n times, behind as many others as there are.
func (w place) behind(c *locktest.Client, n int) []*coord.Hold {
	w.Helper()
	var all []*coord.Hold
	for range n {
		all = append(all, w.Behind(c, len(w.Children())+1))
	}
	_, _, err := c.Exists(bg, w.Dir) // so the creates are answered
	w.Must(err)
	return all
}

var neighbors = []scenario{
	{"many of one client cost a create each, few listings and one watch, and a hand-over one delete (R88, R89)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		const n = 100
		cost := w.Cost(b)
		var all []*coord.Hold
		for range n {
			all = append(all, w.Acquire(bg, b.Client, w.Dir))
		}
		w.Eventually("all in the queue", func() bool { return len(w.Children()) == 1+n })
		w.Rest()
		count := make(map[string]int)
		ops, _ := cost.Ops()
		for _, op := range ops {
			count[op]++
		}
		if count["multi"] != n || count["getData"] > 1 || count["getChildren2"] > n/2 {
			w.Errorf("%d contenders cost %v", n, count)
		}
		w.Must(ha.Release(bg))
		var order []coord.Token
		for range n {
			i := -1
			w.Eventually("one more is held", func() bool {
				i = slices.IndexFunc(all, func(h *coord.Hold) bool { return closed(h.Acquired()) })
				return i >= 0
			})
			h := all[i]
			order = append(order, h.Token())
			all = slices.Delete(all, i, i+1)
			for _, other := range all {
				w.IsOpen("acquired", other.Acquired())
			}
			w.Must(h.Release(bg))
		}
		if !slices.IsSorted(order) {
			w.Errorf("held in the order %v", order)
		}
	}},
	{"one that gives up between two of its client lets nobody in (R43)", func(w place) {
		b := w.Client(T)
		all := w.behind(b, 3)
		w.Grant(all[0])
		ctx, cancel := context.WithCancel(bg)
		cancel()
		_ = all[1].Release(ctx)
		w.Wait("done", all[1].Done())
		time.Sleep(50 * time.Millisecond) // in which it could be granted
		w.IsOpen("acquired", all[2].Acquired())
		w.Must(all[0].Release(bg))
		w.Grant(all[2])
		w.Must(all[2].Release(bg))
	}},
	{"one whose client's znode before it may not be removed waits on (R6, R88)", func(w place) {
		defer guarded(w, zk.PermAll&^zk.PermDelete)()
		b := w.Client(T)
		all := w.behind(b, 2)
		w.Grant(all[0])
		w.Wants(all[0].Release(bg), zk.ErrNoAuth)
		time.Sleep(50 * time.Millisecond) // in which it could be granted
		w.IsOpen("acquired", all[1].Acquired())
		w.Must(b.Close())
		w.Wait("done", all[1].Done())
		w.Eventually("nobody left", func() bool { return len(w.Children()) == 0 })
	}},
	{"one whose znode somebody deletes while it is cut off is not granted when the one before it of its client goes (R20)", func(w place) {
		for _, followed := range []bool{false, true} {
			b := w.Client(T)
			all := w.behind(b, 2)
			w.Grant(all[0])
			if followed {
				time.Sleep(T / 3)
			}
			up := w.Down(b)
			w.Must(w.Op().Delete(w.Dir+"/"+w.Children()[1], -1))
			released := make(chan error, 1)
			go func() { released <- all[0].Release(bg) }()
			up()
			w.Must(<-released)
			w.Wants(w.Outcome(all[1]), coord.ErrDeleted)
			w.IsOpen("acquired", all[1].Acquired())
		}
	}},
	{"one whose neighbor's znode somebody deletes goes on, in its turn (R12)", func(w place) {
		b := w.Client(T)
		all := w.behind(b, 3)
		w.Grant(all[0])
		w.Must(w.Op().Delete(w.Dir+"/"+w.Children()[1], -1))
		w.Wants(w.Outcome(all[1]), coord.ErrDeleted)
		w.IsOpen("acquired", all[2].Acquired())
		w.Must(all[0].Release(bg))
		w.Grant(all[2])
		w.Must(all[2].Release(bg))
	}},
	{"others that stand between are waited for, and wait (R88)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		var all []*coord.Hold
		for i := range 9 {
			all = append(all, w.behind([]*locktest.Client{a, b, b}[i%3], 1)...)
		}
		for i, h := range all {
			w.Grant(h)
			for _, other := range all[i+1:] {
				w.IsOpen("acquired", other.Acquired())
			}
			w.Must(h.Release(bg))
		}
	}},
}

// closed reports whether ch is closed.
func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// together are plots with several contenders of one client.
var together = []locktest.Plot{
	{Name: "queues three times, and holds in turn", Run: func(w *locktest.World, c *locktest.Client, other *coord.Hold) []*coord.Hold {
		all := []*coord.Hold{inQueue(w, c), inQueue(w, c), inQueue(w, c)}
		w.Must(other.Release(bg))
		for left := slices.Clone(all); len(left) > 0; { // in another order, if a create was late
			i := -1
			w.Eventually("one more is held or over", func() bool {
				i = slices.IndexFunc(left, func(h *coord.Hold) bool { return closed(h.Acquired()) || closed(h.Done()) })
				return i >= 0
			})
			h := left[i]
			left = slices.Delete(left, i, i+1)
			w.Rest()
			for _, another := range left {
				if h.Err() == nil {
					excluded(w, another)
				}
			}
			w.Must(h.Release(bg))
		}
		return all
	}},
	{Name: "queues three times, and gives up in the middle", Run: func(w *locktest.World, c *locktest.Client, other *coord.Hold) []*coord.Hold {
		first := inQueue(w, c)
		ctx, cancel := context.WithTimeout(bg, 2*time.Second)
		defer cancel()
		second := w.Acquire(ctx, c.Client, w.Dir)
		time.Sleep(time.Second)
		third := inQueue(w, c)
		w.Wait("done", second.Done())
		excluded(w, first)
		excluded(w, third)
		w.Must(other.Release(bg))
		w.Eventually("one is held or over", func() bool { return closed(first.Acquired()) || closed(first.Done()) || closed(third.Acquired()) })
		if closed(third.Acquired()) && third.Err() == nil { // the first create was late
			excluded(w, first)
			w.Must(third.Release(bg))
		}
		for _, h := range []*coord.Hold{first, third} {
			if w.Outcome(h) == nil {
				w.Must(h.Release(bg))
			}
		}
		return []*coord.Hold{first, second, third}
	}},
}
