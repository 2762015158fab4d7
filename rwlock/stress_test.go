package rwlock_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/locktest"
	"github.com/zkcoord/zkcoord/rwlock"
)

// TestProgress: of sixteen readers and a writer, which ask again as soon as they
// have had it, each gets its share, and the writer is alone. (R44.)
func TestProgress(t *testing.T) {
	long := 2 * time.Second
	if harness.Stress {
		long = 30 * time.Second
	}
	locktest.OnReal(t, writer, func(w *locktest.World) { progress(w, long) })
}

func progress(w *locktest.World, long time.Duration) {
	const readers = 16
	var inside, most atomic.Int32 // readers
	var alone atomic.Bool         // a writer
	var last atomic.Int64         // the greatest token of a writer
	var reads [readers]int
	var writes int
	stop, cancel := context.WithCancel(bg)
	defer cancel()
	// However slow the machine, each has the time for one turn.
	var turns atomic.Int32 // how many have had one
	turn := func(n int) {
		if n == 1 {
			turns.Add(1)
		}
	}
	read := func(c *coord.Client) {
		most.Store(max(most.Load(), inside.Add(1)))
		if _, _, err := c.Conn().Exists("/"); err != nil { // work that takes a moment
			w.Errorf("read: %v", err)
		}
		if alone.Load() {
			w.Error("a reader beside a writer")
		}
		inside.Add(-1)
	}
	began := time.Now()
	var all sync.WaitGroup
	for i := range readers {
		c := w.Client(10 * time.Second).Client
		m := rwlock.New(c, w.Dir)
		all.Go(func() {
			for stop.Err() == nil {
				err := m.DoRead(bg, func(_ context.Context, h *coord.Hold) error {
					if int64(h.Token()) <= last.Load() {
						w.Errorf("token %d of a reader after %d of a writer", h.Token(), last.Load())
					}
					read(c)
					return nil
				})
				if err != nil {
					w.Errorf("read: %v", err)
					return
				}
				reads[i]++
				turn(reads[i])
			}
		})
	}
	c := w.Client(10 * time.Second).Client
	m := rwlock.New(c, w.Dir)
	all.Go(func() {
		for stop.Err() == nil {
			h := m.AcquireWrite(bg)
			if err := h.Wait(); err != nil {
				w.Errorf("write: %v", err)
				return
			}
			alone.Store(true)
			if n := inside.Load(); n > 0 {
				w.Errorf("a writer beside %d readers", n)
			}
			if t := int64(h.Token()); last.Swap(t) >= t {
				w.Errorf("token %d of a writer is not above the last", t)
			}
			alone.Store(false)
			if writes%2 == 1 { // it goes on as a reader every other time
				if err := m.Downgrade(bg, h); err != nil {
					w.Errorf("downgrade: %v", err)
				}
				read(c)
			}
			writes++
			turn(writes)
			if err := h.Release(bg); err != nil {
				w.Errorf("release: %v", err)
			}
		}
	})
	<-time.After(long)
	w.Eventually("a turn of each", func() bool { return turns.Load() == readers+1 || w.Failed() })
	cancel()
	all.Wait()
	took := time.Since(began).Seconds()
	total, least := 0, reads[0]
	for _, n := range reads {
		total, least = total+n, min(least, n)
	}
	w.Logf("%.0f reads/s by %d readers, %.0f writes/s; the least that a reader had: %d; up to %d read together",
		float64(total)/took, readers, float64(writes)/took, least, most.Load())
	if least == 0 || writes == 0 {
		w.Errorf("reads %d, writes %d: somebody starved", reads, writes)
	}
	w.NothingLeft()
}
