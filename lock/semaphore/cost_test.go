package semaphore_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// What a semaphore costs: how many requests, and how many events. The numbers are in the
// package comment.
func TestCost(t *testing.T) {
	t.Parallel() // it mostly waits
	inBoth(t, costs)
}

var costs = []scenario{
	{"a free permit costs three round trips and five requests, of which one is not waited for, and its release one", func(w place) {
		a := w.Client(T)
		w.Must(w.held(a, 3).Release(bg)) // so that the directories are there
		n := w.Cost(a)
		h := w.held(a, 3)
		w.Must(h.Release(bg))
		n.IsBrief("a cycle", "delete", "delete", "getChildren2", "getData", "multi", "multi")

		var mu sync.Mutex
		rounds, back, last := 0, true, "" // the two reads are one: neither waits for the other
		a.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			mu.Lock()
			defer mu.Unlock()
			if f.N == 0 || f.Op == "sync" || f.Op == "check" || f.Op == "delete" || rounds == 3 && back {
				return coordtest.Pass // a lease that is held may be followed by now
			}
			reads := strings.HasPrefix(f.Op, "get")
			if f.Dir == coordtest.ToServer && back && !(reads && strings.HasPrefix(last, "get")) {
				rounds++
			}
			back, last = f.Dir == coordtest.ToClient, f.Op
			return coordtest.Pass
		})
		h = w.grant(w.sem(a, 3).Acquire(bg))
		mu.Lock()
		if rounds != 3 {
			w.Errorf("%d round trips", rounds)
		}
		mu.Unlock()
		a.Link.OnFrame(nil)
		w.Must(h.Release(bg))
	}},
	{"a release costs the one at the gate an event, a listing, its lease and its place, and that the next one what it costs to be at the gate", func(w place) {
		a, b, c := w.Client(T), w.Client(T), w.Client(T)
		h := w.held(a, 1)
		first, second := w.waits(bg, b, 1, 1), w.waits(bg, c, 1, 2)
		w.Eventually("the second follows the first", func() bool { return w.Watches() >= 4 })
		nb, nc := w.Cost(b), w.Cost(c)
		nb.Ops()
		nc.Ops()
		w.Must(h.Release(bg))
		w.grant(first)
		w.Eventually("the gate is left", func() bool { return len(w.queue()) == 1 })
		w.Eventually("the second is at the gate", func() bool { return len(nc.Requests()) >= 3 })
		ops, events := nb.Ops()
		if want := []string{"delete", "getChildren2", "multi"}; !slices.Equal(without(ops, "getData"), want) || events > 4 {
			w.Errorf("the first: %q and %d events", ops, events)
		}
		if ops, events := nc.Ops(); len(ops) > 4 || events > 2 {
			w.Errorf("the second: %q and %d events", ops, events)
		}
		w.Must(first.Release(bg))
		w.grant(second)
		w.Must(second.Release(bg))
	}},
}

func without(ops []string, op string) []string {
	return slices.DeleteFunc(slices.Clone(ops), func(o string) bool { return o == op })
}

// Waiting costs nothing. A real server that is slow for a while makes clients connect again.
func TestWaitingCost(t *testing.T) {
	harness.Bubble(t, func(hw *harness.World) {
		w := place{hw}
		a, b, c := w.Client(T), w.Client(T), w.Client(T)
		h := w.held(a, 1)
		first, second := w.waits(bg, b, 1, 1), w.waits(bg, c, 1, 2)
		w.rest(T / 2) // all is followed by now
		nb, nc := w.Cost(b), w.Cost(c)
		nb.Ops()
		nc.Ops()
		w.rest(T)
		nb.Is("waiting at the gate", 0)
		nc.Is("waiting behind it", 0)
		w.Must(h.Release(bg))
		w.Must(w.grant(first).Release(bg))
		w.Must(w.grant(second).Release(bg))
	})
}

// Of a hundred that wait a release wakes the one at the gate, which gets the permit, and that
// the next one, which comes to the gate. Nobody else hears anything.
func TestNoHerd(t *testing.T) {
	harness.Bubble(t, func(hw *harness.World) {
		w := place{hw}
		const n, waiters = 3, 100
		var holds []*coord.Hold
		var heard []*harness.Cost
		for i := range n + waiters {
			c := w.Client(harness.Long)
			if i < n {
				holds = append(holds, w.held(c, n))
			} else {
				holds = append(holds, w.waits(bg, c, n, i-n+1))
			}
			heard = append(heard, w.Cost(c))
		}
		w.rest(harness.Long) // all is followed by now
		for release := range 5 {
			for _, k := range heard {
				k.Ops()
			}
			w.Must(holds[release].Release(bg))
			w.rest(T)
			total := 0
			for i := n; i < len(heard); i++ {
				_, events := heard[i].Ops()
				if i == release {
					continue // it has released a permit itself, and hears of that
				}
				total += events
				woken := i == n+release || i == n+release+1
				if !woken && events > 0 {
					w.Errorf("release %d: %d events for waiter %d", release, events, i-n)
				}
			}
			if total == 0 || total > 4 {
				w.Errorf("release %d: %d events", release, total)
			}
			if err := w.outcome(holds[n+release]); err != nil {
				w.Error(err)
			}
			w.IsOpen(fmt.Sprintf("acquired by waiter %d", release+1), holds[n+release+1].Acquired())
		}
	})
}
