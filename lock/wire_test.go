package lock_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock"
)

// What a Mutex costs: how many requests, and how many events.
func TestWire(t *testing.T) { inBoth(t, mutex, wires, nothingLeft) }

var wires = []scenario{
	{"a free lock is had for one request, whose answer is enough (R40, R89)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		w.Must(w.Held(b).Release(bg)) // so that the directory is there
		var mu sync.Mutex
		var requests []string
		var heal func()
		a.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			mu.Lock()
			defer mu.Unlock()
			if f.Dir == coordtest.ToServer && f.N != 0 && f.Op != "sync" && f.Op != "check" {
				// The second has no answer before the lock is held.
				if requests = append(requests, f.Op); len(requests) == 2 {
					heal = a.Link.Stall(coordtest.Both)
				}
			}
			return coordtest.Pass
		})
		h := w.Held(a)
		w.Eventually("second request", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(requests) >= 2
		})
		mu.Lock()
		if want := []string{"multi", "getData"}; !slices.Equal(requests, want) { // and later it follows its znode
			w.Errorf("requests %q, want %q", requests, want)
		}
		mu.Unlock()
		w.Must(h.Err())
		heal()
		n := w.Cost(a)
		n.Ops() // its look is answered
		w.Must(h.Release(bg))
		n.Is("a release", 1, "delete") // of which it hears itself
	}},
	{"a hold that lasts no time costs one request more, and is not followed (R89)", func(w place) {
		a := w.Client(T)
		w.Must(w.Held(a).Release(bg))
		n := w.Cost(a)
		h := w.Held(a)
		w.Must(h.Release(bg))
		n.IsBrief("a cycle", "delete", "multi")
	}},
	{"a hand-over costs the next one no request: it needs to say nothing to know (R89)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.Queued(bg, b, 2)
		n := w.Cost(b)
		n.Ops() // its reads are answered
		heal := b.Link.Stall(coordtest.ToServer)
		w.Must(ha.Release(bg))
		w.Grant(hb)
		heal()
		n.Is("a hand-over", 1)
		w.Must(hb.Release(bg))
		n.Is("a release", 1, "delete") // of which it hears itself
	}},
	{"a waiter behind one other costs one listing and two watches, and then nothing (R89)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		n := w.Cost(b)
		hb := w.Queued(bg, b, 2)
		n.Is("a wait", 0, "getChildren2", "getData", "getData", "multi")
		time.Sleep(2 * T) // in which something could be asked
		n.Is("further waiting", 0)
		w.Must(ha.Release(bg))
		w.Grant(hb)
		w.Must(hb.Release(bg))
	}},
	{"a try on a held lock costs a create, a listing and a delete (R61)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		n := w.Cost(b)
		h := w.Try(bg, b.Client, w.Dir)
		w.Wants(w.Outcome(h), coord.ErrLocked)
		w.Wait("done", h.Done())
		n.Is("a try", 0, "delete", "getChildren2", "multi")
		w.Must(ha.Release(bg))
	}},
	{"a release wakes the next and nobody else (R88)", func(w place) {
		const waiters = 5
		first := w.Client(T)
		holds := []*coord.Hold{w.Held(first)}
		counts := []*harness.Cost{w.Cost(first)}
		for i := range waiters {
			c := w.Client(T)
			holds = append(holds, w.Queued(bg, c, i+2))
			counts = append(counts, w.Cost(c))
		}
		for i, h := range holds {
			w.Grant(h)
			for _, n := range counts {
				n.Ops()
			}
			w.Must(h.Release(bg))
			if i+1 < len(holds) {
				w.Grant(holds[i+1])
			}
			for j := i + 1; j < len(holds); j++ {
				events, asks := 0, []string(nil)
				if j == i+1 {
					events = 1
					if i > 0 { // it came behind several, and looks which are left
						asks = []string{"getChildren2"}
					}
				}
				counts[j].Is(fmt.Sprintf("release %d for contender %d", i, j), events, asks...)
			}
		}
	}},
	{"a watch costs one listing and one reading for each that comes, and after a reconnect one question about the holder (R89)", func(w place) {
		a, b, c := w.Client(T), w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.Queued(bg, b, 2)
		n := w.Cost(c)
		ctx, cancel := context.WithCancel(bg)
		watch := lock.New(c.Client, w.Dir).Watch(ctx)
		sees := func(want int) {
			w.Helper()
			w.Eventually(fmt.Sprintf("%d contenders", want), func() bool {
				q, any := watch.Latest()
				return any && len(q.Contenders) == want && !q.Suspended
			})
		}
		sees(2)
		n.Is("the first view", 0, "getChildren2", "getData", "getData")
		hd := w.Behind(w.Client(T), 3)
		sees(3)
		n.Is("one more", 1, "getChildren2", "getData")
		w.Flap(c.Client, c.Link.Reset)
		sees(3)
		n.Is("a reconnect", 0, "connect", "exists", "getChildren2", "setWatches")
		w.Must(hd.Release(bg))
		sees(2)
		n.Is("one less", 2, "getChildren2")
		cancel()
		w.Must(hb.Release(bg))
		w.Must(ha.Release(bg))
		w.Must(c.Close()) // and with it the watches that the server has
	}},
}
