package barrier_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/members/barrier"
)

// A round costs each member the same few requests and events, however many they are: to
// enter five requests and two watches, to be let in one event and one read, to leave four
// requests and three events. Only the last to enter lists all and opens.
func TestCost(t *testing.T) {
	harness.Both(t, func(t *testing.T, in harness.Maker) {
		in(t, func(hw *harness.World) {
			w := &place{hw}
			const n = 20
			clients := make([]*harness.Client, n)
			costs := make([]*harness.Cost, n)
			holds := make([]*coord.Hold, n)
			warm := w.enter(w.Client(harness.Long), 1, "warm") // makes the directories
			w.acquired(warm)
			w.Must(warm.Release(bg))
			for i := range n {
				clients[i] = w.Client(harness.Long)
				costs[i] = w.Cost(clients[i])
			}
			for i := range n {
				holds[i] = w.enter(clients[i], n, fmt.Sprintf("m%02d", i))
				if i == n-1 {
					break
				}
				w.in(i + 1)
				w.Eventually("its watches", func() bool { return w.Watches() == 2*(i+1) })
				costs[i].Is(fmt.Sprintf("entering of %d", i), 0, "exists", "exists", "getChildren2", "getData", "multi")
			}
			w.acquired(holds...)
			costs[n-1].Is("entering of the last", 0, "exists", "getChildren2", "getChildren2", "getData", "multi", "multi")
			for i := range n - 1 {
				costs[i].Is(fmt.Sprintf("being let in of %d", i), 1, "exists")
			}
			for i := range n - 1 { // the lowest first
				w.leaves(holds[i])
			}
			w.Eventually("only the last is in with the lowest", func() bool { return len(w.members()) == 2 })
			w.release(holds...)
			for i := 1; i < n-1; i++ {
				costs[i].Is(fmt.Sprintf("leaving of %d", i), 3, "getChildren2", "getChildren2", "getData", "multi")
			}
			w.nothingLeft()
			w.Eventually("no watch left", func() bool { return w.Watches() == 0 })
		})
	})
}

// Nothing is left of many who enter, give up, are let in and leave at random: no znode, no
// watch but one on ready for each client, and no Hold that never ends.
func TestCycles(t *testing.T) {
	harness.Both(t, func(t *testing.T, in harness.Maker) {
		in(t, func(hw *harness.World) {
			w := &place{hw}
			const n = 3
			cycles := harness.Times(300, 10_000) / (2 * n)
			var all sync.WaitGroup
			var mu sync.Mutex
			let := 0
			for i := range 2 * n {
				c := w.Client(harness.Long)
				all.Go(func() {
					b := barrier.New(c.Client, w.Dir, n)
					for range cycles {
						ctx, cancel := context.WithTimeout(bg, time.Duration(rand.IntN(20_000))*time.Microsecond)
						h := b.Enter(ctx, fmt.Sprint("m", i))
						if h.Wait() == nil {
							mu.Lock()
							let++
							mu.Unlock()
						}
						cancel()
						_ = h.Release(bg)
						<-h.Done()
					}
				})
			}
			done := make(chan struct{})
			go func() { defer close(done); all.Wait() }()
			select {
			case <-done:
			case <-time.After(5 * time.Minute):
				w.Fatalf("a cycle does not end\n%s", w.Tree())
			}
			if w.Fake != nil && let == 0 { // a real server may be slower than every time-out
				w.Error("nobody was let in")
			}
			w.Logf("%d of %d were let in", let, 2*n*cycles)
			h := w.enter(w.Client(harness.Long), 1, "last")
			w.acquired(h)
			w.Must(h.Release(bg))
			w.nothingLeft()
			w.Eventually("no watch left", func() bool { return w.Watches() == 0 })
		})
	})
}
