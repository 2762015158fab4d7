package locktest

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// Limits are tests of size, for both worlds as far as they make sense there.
func Limits(t *testing.T, s Subject) {
	t.Run("10,000 foreign children, fake", func(t *testing.T) { InBubble(t, s, crowd) })
	t.Run("10,000 foreign children, real", func(t *testing.T) { OnReal(t, s, crowd) })
	t.Run("sequence numbers run out", func(t *testing.T) { InBubble(t, s, exhausted) })
	t.Run("directories reaped all the time", func(t *testing.T) { InBubble(t, s, reaped) })
	t.Run("thousands of cycles leave nothing", func(t *testing.T) { OnReal(t, s, cycles) })
}

// crowd: with thousands of children that are no contenders, a lock works as
// ever.
func crowd(w *World) {
	a, b := w.Client(T), w.Client(T)
	w.Must(w.Held(a).Release(bg))
	const total, batch = 10_000, 500
	name := func(i int) string { return fmt.Sprintf("%s/some-service-instance-with-a-long-name-%06d", w.queue(), i) }
	each := func(op func(path string) any) {
		for i := 0; i < total; i += batch {
			ops := make([]any, batch)
			for j := range ops {
				ops[j] = op(name(i + j))
			}
			_, err := w.Op().Multi(ops...)
			w.Must(err)
		}
	}
	each(func(path string) any { return &zk.CreateRequest{Path: path, Acl: zk.WorldACL(zk.PermAll)} })
	ha := w.Held(a)
	hb := w.Behind(b, total+2)
	w.Must(ha.Release(bg))
	w.Grant(hb)
	w.Must(hb.Release(bg))
	each(func(path string) any { return &zk.DeleteRequest{Path: path, Version: -1} })
}

// exhausted: once the server's counter sticks there is no order among contenders
// any more, and no one is granted. (R51, R67.)
func exhausted(w *World) {
	a, b := w.Client(T), w.Client(T)
	w.Must(w.Held(a).Release(bg))
	w.Must(w.Fake.SetSequence(w.queue(), 1<<31-3))
	// The last numbers that are good.
	ha := w.Held(a)
	hb := w.Queued(bg, b, 2)
	w.Must(ha.Release(bg))
	w.Grant(hb)
	for range 2 {
		for _, h := range []*coord.Hold{w.Acquire(bg, a.Client, w.Dir), w.Try(bg, a.Client, w.Dir)} {
			w.Wants(w.Outcome(h), coord.ErrExhausted)
			w.Wait("done", h.Done())
			w.IsOpen("acquired", h.Acquired())
		}
	}
	w.Must(hb.Err())
	w.Must(hb.Release(bg))
	w.Wants(w.Outcome(w.Acquire(bg, a.Client, w.Dir)), coord.ErrExhausted)
	w.NothingLeft()
	// The remedy that the error names: the directory is deleted, here by the
	// server, and made anew.
	w.Fake.Reap()
	w.Must(w.Held(a).Release(bg))
}

// reaped: a container that the server removes while it is empty is made again.
func reaped(w *World) {
	c := w.Client(T)
	for i := range 100 {
		h := w.Acquire(bg, c.Client, w.Dir)
		if i%2 == 0 {
			w.Fake.Reap() // somewhere in between
		}
		w.Grant(h)
		w.Must(h.Release(bg))
		w.Fake.Reap()
	}
}

// cycles: after any number of acquisitions, contended and not, there is no watch
// left on the server or in the library, and memory is where it was. (R12, R42,
// R65, R14.)
func cycles(w *World) {
	const contenders = 4
	total := harness.Times(1_500, 5_000)
	clients := []*Client{w.Client(10 * time.Second), w.Client(10 * time.Second)}
	var acquire []func(context.Context) *coord.Hold // of one object each, which goroutines share
	for _, c := range clients {
		if w.Bind != nil {
			acquire = append(acquire, w.Bind(c.Client, w.Dir))
			continue
		}
		acquire = append(acquire, func(ctx context.Context) *coord.Hold { return w.Acquire(ctx, c.Client, w.Dir) })
	}
	var inside atomic.Int32
	var last atomic.Int64
	round := func(cycles int) {
		var wg sync.WaitGroup
		for i := range contenders {
			wg.Go(func() {
				for range cycles / contenders {
					h := acquire[i%len(acquire)](bg)
					if err := h.Wait(); err != nil {
						w.Errorf("cycle: %v", err)
						return
					}
					if inside.Add(1) != 1 {
						w.Error("two holders")
					}
					if t := int64(h.Token()); last.Swap(t) >= t {
						w.Errorf("token %d not above the last one", t)
					}
					inside.Add(-1)
					if err := h.Release(bg); err != nil {
						w.Errorf("release: %v", err)
					}
				}
			})
		}
		wg.Wait()
	}
	round(total / 5)
	before, routines := w.Heap(), runtime.NumGoroutine()
	began := time.Now()
	round(total * 4 / 5)
	w.Logf("%.0f contended cycles/s", float64(total)*4/5/time.Since(began).Seconds())
	w.NothingLeft()
	grown := w.Heap() - before
	w.Logf("heap grown by %d KiB", grown>>10)
	if grown > int64(total)*100 { // a watch channel a cycle would be nearly 200 bytes
		w.Errorf("heap grown by %d KiB in %d cycles", grown>>10, total*4/5)
	}
	w.Eventually("goroutines", func() bool { return runtime.NumGoroutine() <= routines+2 })
	// What the library thinks is armed it tells the server at a reconnect.
	var told atomic.Bool
	for _, c := range clients {
		c.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Op == "setWatches" {
				told.Store(true)
			}
			return coordtest.Pass
		})
		w.Down(c)()
		w.Must(w.Held(c).Release(bg))
	}
	if told.Load() {
		w.Error("the library has watches left")
	}
}
