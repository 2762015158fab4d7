package semaphore_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/internal/harness"
)

// After any number of acquisitions, canceled at any moment or not, nothing is left on the
// server or in the library, and memory is where it was. No more than n hold at a time, and
// each has its turn.
func TestCycles(t *testing.T) {
	harness.Both(t, func(t *testing.T, in harness.Maker) {
		in(t, func(w *harness.World) { place{w}.cycles() })
	})
}

func (w place) cycles() {
	const n, workers = 3, 8
	total := harness.Times(400, 10_000)
	clients := []*harness.Client{w.Client(harness.Long), w.Client(harness.Long), w.Client(harness.Long)}
	var inside, granted, canceled atomic.Int32
	round := func(cycles int) {
		var wg sync.WaitGroup
		for i := range workers {
			s := w.sem(clients[i%len(clients)], n)
			wg.Go(func() {
				for range cycles / workers {
					ctx, cancel := context.WithCancel(bg)
					if rand.N(2) == 0 {
						time.AfterFunc(rand.N(20*time.Millisecond), cancel)
					}
					h := s.Acquire(ctx)
					if h.Wait() == nil {
						if got := inside.Add(1); got > n {
							w.Errorf("%d hold together", got)
						}
						granted.Add(1)
						<-time.After(rand.N(3 * time.Millisecond))
						inside.Add(-1)
					} else {
						canceled.Add(1)
					}
					if err := h.Release(bg); err != nil {
						w.Errorf("release: %v", err)
					}
					cancel()
				}
			})
		}
		wg.Wait()
	}
	round(total / 5)
	before, routines := w.Heap(), runtime.NumGoroutine()
	round(total * 4 / 5)
	w.nothingLeft()
	grown := w.Heap() - before
	w.Logf("%d granted, %d canceled; heap grown by %d KiB", granted.Load(), canceled.Load(), grown>>10)
	if grown > 1<<18+int64(total)*100 {
		w.Errorf("heap grown by %d KiB", grown>>10)
	}
	w.Eventually("goroutines", func() bool { return runtime.NumGoroutine() <= routines+4 })
}
