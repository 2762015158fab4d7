package lock_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/locktest"
)

// TestUnqueuedHerd counts the events at a release: one client hears of it once,
// however many of its goroutines wait, and of the next holder's coming at most
// once. It also shows what a herd asks for. (R88.)
func TestUnqueuedHerd(t *testing.T) {
	const clients, holds = 4, 5
	locktest.OnReal(t, unqueued, func(w *locktest.World) {
		p := place{w}
		last := w.Held(w.Client(10 * T))
		var events [clients]atomic.Int32
		var requests atomic.Int32
		waiting := make(map[*coord.Hold]bool)
		for i := range clients {
			c := w.Client(10 * T)
			for range holds {
				waiting[p.waits(bg, c, i+2)] = true
			}
			c.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
				switch {
				case f.Op == "event":
					events[i].Add(1)
				case f.Dir == coordtest.ToServer && f.N != 0:
					requests.Add(1)
				}
				return coordtest.Pass
			})
		}
		for round := range 5 {
			p.Must(last.Release(bg))
			w.Eventually("the next", func() bool {
				for h := range waiting {
					select {
					case <-h.Acquired():
						last = h
						delete(waiting, h)
						return true
					default:
					}
				}
				return false
			})
			w.Eventually("all wait again", func() bool { return w.Watches() == clients })
			for i := range events {
				if n := events[i].Swap(0); n < 1 || n > 2 {
					t.Errorf("round %d: %d events for client %d", round, n, i)
				}
			}
			t.Logf("%d requests of %d waiters in %d clients", requests.Swap(0), len(waiting)+1, clients)
		}
		for h := range waiting {
			p.Must(h.Release(bg))
		}
		p.Must(last.Release(bg))
		clean(p)
	})
}

// TestUnqueuedCycles: after any number of acquisitions, on one path and on as
// many, there is no watch left on the server, and no znode. (R12, R42, R65, R14.)
func TestUnqueuedCycles(t *testing.T) {
	t.Parallel()
	cycles := 100 // of each contender
	if harness.Stress {
		cycles = 1000
	}
	locktest.OnReal(t, unqueued, func(w *locktest.World) {
		p := place{w}
		clients := []*locktest.Client{w.Client(10 * T), w.Client(10 * T)}
		var inside atomic.Int32
		var last atomic.Int64
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for range cycles {
					h := w.Acquire(bg, clients[i%2].Client, w.Dir)
					if err := h.Wait(); err != nil {
						t.Errorf("cycle: %v", err)
						return
					}
					if inside.Add(1) != 1 {
						t.Error("two holders")
					}
					if n := int64(h.Token()); last.Swap(n) >= n {
						t.Errorf("token %d not above the last one", n)
					}
					inside.Add(-1)
					if err := h.Release(bg); err != nil {
						t.Errorf("release: %v", err)
					}
				}
			})
		}
		wg.Wait()
		clean(p)
		for i := range 100 {
			h := w.Acquire(bg, clients[0].Client, fmt.Sprint(w.Dir, "-", i))
			w.Grant(h)
			p.Must(h.Release(bg))
		}
		w.Eventually("no watch left", func() bool { return w.Watches() == 0 })
	})
}

// TestUnqueuedNoOverlap cuts holders off and lets the links heal before the
// ensemble ends the sessions, and after. (R2, R16, R21, R85.)
func TestUnqueuedNoOverlap(t *testing.T) {
	t.Parallel()
	locktest.OnReal(t, unqueued, func(w *locktest.World) {
		dir := w.Dir
		var wg sync.WaitGroup
		for i := range 12 {
			v := locktest.In(w.At(fmt.Sprint(dir, "-", i)), unqueued)
			a, b := w.Client(T), w.Client(T)
			wg.Go(func() {
				p := place{v}
				ha := v.Held(a)
				hb := v.Acquire(bg, b.Client, v.Dir)
				<-time.After(time.Duration(i) * T / 60) // at another phase of the heartbeats each time
				var heal func()
				switch i % 3 {
				case 0:
					heal = a.Link.Stall(coordtest.Both)
				case 1:
					heal = a.Link.Stall(coordtest.ToServer)
				case 2:
					heal = a.Link.Cut()
				}
				if i%2 == 0 {
					defer time.AfterFunc(T*4/5, heal).Stop() // the lease is over, the session is not
				}
				select {
				case <-ha.Lost():
				case <-hb.Acquired():
					t.Error("granted before the holder was told")
				}
				p.Wants(ha.Err(), coord.ErrExpired)
				v.Grant(hb)
				heal()
				again := v.Acquire(bg, a.Client, v.Dir)
				p.Must(hb.Release(bg))
				v.Grant(again)
				if !(ha.Token() < hb.Token() && hb.Token() < again.Token()) {
					t.Errorf("tokens %d, %d, %d", ha.Token(), hb.Token(), again.Token())
				}
				p.Must(again.Release(bg))
			})
		}
		wg.Wait()
	})
}
