package semaphore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
)

func TestTry(t *testing.T) {
	t.Parallel() // it mostly waits
	inBoth(t, tries)
}

var tries = []scenario{
	{"a try is decided by the permits", func(w place) {
		a, b := w.Client(T), w.Client(T)
		h1 := w.grant(w.sem(a, 2).TryAcquire(bg))
		h2 := w.grant(w.sem(b, 2).TryAcquire(bg))
		no := w.sem(b, 2).TryAcquire(bg)
		w.Wants(w.outcome(no), coord.ErrLocked)
		w.WantsOp(no.Err(), "tryacquire", w.Dir, coord.ErrLocked)
		w.Wait("done", no.Done())
		w.Must(h1.Release(bg))
		h3 := w.grant(w.sem(b, 2).TryAcquire(bg))
		waiter := w.waits(bg, a, 2, 1)
		w.Wants(w.outcome(w.sem(b, 2).TryAcquire(bg)), coord.ErrLocked) // also behind one that waits
		w.Must(h2.Release(bg))
		w.grant(waiter)
		w.Must(h3.Release(bg))
		w.Must(waiter.Release(bg))
	}},
	{"of tries that meet, as many are granted as there are permits", func(w place) {
		const n, clients, each = 7, 5, 2
		var all []*coord.Hold
		for range clients {
			c := w.Client(T)
			for range each {
				all = append(all, w.sem(c, n).TryAcquire(bg))
			}
		}
		granted := 0
		for _, h := range all {
			switch err := w.outcome(h); {
			case err == nil:
				granted++
			case !errors.Is(err, coord.ErrLocked):
				w.Error(err)
			}
		}
		if granted != n {
			w.Errorf("%d are granted, of %d permits", granted, n)
		}
		for _, h := range all {
			w.Must(h.Release(bg))
		}
	}},
	{"what the same client has released is not in the way of its try", func(w place) {
		a := w.Client(T)
		for range 20 {
			h := w.grant(w.sem(a, 1).TryAcquire(bg))
			ctx, cancel := context.WithCancel(bg)
			cancel()
			_ = h.Release(ctx) // goes on in the background
		}
	}},
	{"a try with another number is told so, also behind one that waits", func(w place) {
		a, b := w.Client(T), w.Client(T)
		h := w.held(a, 1)
		waiter := w.waits(bg, a, 1, 1)
		w.WantsOp(w.outcome(w.sem(b, 3).TryAcquire(bg)), "tryacquire", w.Dir, nil, "3 here, 1 in the directory")
		w.Must(waiter.Release(bg))
		w.Must(h.Release(bg))
	}},
}

// A try waits for one ahead that is about to get a permit, as long as ctx allows; and is
// refused once that one has taken the last.
func TestTryBehind(t *testing.T) {
	for _, n := range []int{1, 2} {
		harness.Bubble(t, func(hw *harness.World) {
			w := place{hw}
			a, b := w.Client(harness.Long), w.Client(harness.Long)
			w.Must(w.held(a, n).Release(bg)) // so that the directories are there
			var release func()
			a.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if release == nil && f.Dir == coordtest.ToServer && f.Op == "multi" && len(w.queue()) == 1 {
					release = a.Link.Stall(coordtest.ToServer)
				}
				return coordtest.Pass
			})
			ahead := w.sem(a, n).Acquire(bg)
			w.Rest()
			if release == nil || len(w.queue()) != 1 || len(w.leases()) != 0 {
				t.Fatal("nobody has been stalled at the gate")
			}
			ctx, cancel := context.WithTimeout(bg, time.Second)
			defer cancel()
			w.WantsOp(w.sem(b, n).TryAcquire(ctx).Wait(), "tryacquire", w.Dir, context.DeadlineExceeded)
			try := w.sem(b, n).TryAcquire(bg)
			time.Sleep(time.Second) // of the bubble
			w.Must(try.Err())
			release()
			w.grant(ahead)
			if err := w.outcome(try); n == 1 && !errors.Is(err, coord.ErrLocked) || n == 2 && err != nil {
				t.Errorf("of %d permits: %v", n, err)
			}
			w.Must(try.Release(bg))
			w.Must(ahead.Release(bg))
			w.nothingLeft()
		})
	}
}
