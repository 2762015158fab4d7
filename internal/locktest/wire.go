package locktest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// Wire checks what a lock costs: how many requests, and how many events.
func Wire(t *testing.T, s Subject) { inBoth(t, s, wires) }

// A count is what has passed on a link.
type count struct {
	mu       sync.Mutex
	requests []string
	events   int
}

// counted counts what passes on c's link from now on, heartbeats excepted.
func counted(c *Client) *count {
	n := new(count)
	c.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
		n.mu.Lock()
		defer n.mu.Unlock()
		switch {
		case f.N == 0, f.Op == "sync", f.Op == "check": // heartbeats and proofs
		case f.Dir == coordtest.ToServer:
			n.requests = append(n.requests, f.Op)
		case f.Op == "event":
			n.events++
		}
		return coordtest.Pass
	})
	return n
}

// asked returns the requests, sorted, and forgets them.
func (n *count) asked() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := n.requests
	n.requests = nil
	slices.Sort(all)
	return all
}

// heard returns how many events there were, and forgets them.
func (n *count) heard() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := n.events
	n.events = 0
	return all
}

// costs checks what has been asked, once all of it has been.
func (w *World) costs(what string, n *count, want ...string) {
	w.Helper()
	time.Sleep(100 * time.Millisecond)
	if got := n.asked(); !slices.Equal(got, want) {
		w.Errorf("%s costs %q, want %q", what, got, want)
	}
}

var wires = []scenario{
	{"a free lock is had for one request, whose answer is enough (R40, R89)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		must(w, w.Held(b).Release(bg)) // so that the directory is there
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
		if want := []string{"multi", "getData"}; !slices.Equal(requests, want) { // and then it follows its znode
			w.Errorf("requests %q, want %q", requests, want)
		}
		mu.Unlock()
		must(w, h.Err())
		heal()
		time.Sleep(100 * time.Millisecond) // its look is answered
		n := counted(a)
		must(w, h.Release(bg))
		w.costs("a release", n, "delete")
	}},
	{"a hand-over costs the next one no request: it needs to say nothing to know (R89)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.Queued(bg, b, 2)
		time.Sleep(100 * time.Millisecond) // its reads are answered
		n := counted(b)
		heal := b.Link.Stall(coordtest.ToServer)
		must(w, ha.Release(bg))
		w.Grant(hb)
		heal()
		w.costs("a hand-over", n)
		if got := n.heard(); got != 1 {
			w.Errorf("%d events", got)
		}
		must(w, hb.Release(bg))
		w.costs("a release", n, "delete")
	}},
	{"who waits behind one other costs one listing and two watches, and then nothing (R89)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		n := counted(b)
		hb := w.Queued(bg, b, 2)
		w.costs("a wait", n, "getChildren2", "getData", "getData", "multi")
		time.Sleep(2 * T)
		w.costs("further waiting", n)
		must(w, ha.Release(bg))
		w.Grant(hb)
		must(w, hb.Release(bg))
	}},
	{"a try on a held lock costs a create, a listing and a delete, beside the look at its own znode (R61)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		n := counted(b)
		h := w.Try(bg, b.Client, w.Dir)
		wants(w, w.Settled(h), coord.ErrLocked)
		w.Wait("done", h.Done())
		time.Sleep(100 * time.Millisecond)
		// If the deletion overtakes the answer to the look, that looks once more.
		want := []string{"delete", "getChildren2", "getData", "multi"}
		if got := n.asked(); len(got) > len(want)+1 || !slices.Equal(slices.Compact(got), want) {
			w.Errorf("a try costs %q, want %q", got, want)
		}
		must(w, ha.Release(bg))
	}},
	{"a release wakes the next and nobody else (R88)", func(w *World) {
		const waiters = 5
		first := w.Client(T)
		holds := []*coord.Hold{w.Held(first)}
		counts := []*count{counted(first)}
		for i := range waiters {
			c := w.Client(T)
			holds = append(holds, w.Queued(bg, c, i+2))
			counts = append(counts, counted(c))
		}
		for i, h := range holds {
			w.Grant(h)
			for _, n := range counts {
				n.heard()
				n.asked()
			}
			must(w, h.Release(bg))
			if i+1 < len(holds) {
				w.Grant(holds[i+1])
			}
			time.Sleep(100 * time.Millisecond) // for what else may come
			for j := i + 1; j < len(holds); j++ {
				want := 0
				if j == i+1 {
					want = 1
				}
				if got := counts[j].heard(); got != want {
					w.Errorf("release %d: %d events to contender %d, want %d", i, got, j, want)
				}
				var asks []string
				if j == i+1 && i > 0 { // it came behind several, and looks who is left
					asks = []string{"getChildren2"}
				}
				w.costs(fmt.Sprintf("release %d for contender %d", i, j), counts[j], asks...)
			}
		}
	}},
}
