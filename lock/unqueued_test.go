package lock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/lock"
)

// claims are what an Unqueued promises to those who acquire and release it.
var claims = []scenario{
	{"all get it, one at a time, and tokens increase; a free lock costs one request (R40)", func(w place) {
		first := w.Client(T)
		w.Must(w.Held(first).Release(bg)) // so that the directory is there
		w.Must(first.Close())             // which ends what it still follows
		a := w.Client(T)
		var asked atomic.Int32
		a.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Dir == coordtest.ToServer && f.Op == "multi" {
				asked.Add(1)
			}
			// A heartbeat may be due just then, and be a sync.
			if f.Dir == coordtest.ToServer && f.Op != "multi" && f.Op != "sync" && f.N != 0 && asked.Load() == 0 {
				w.Errorf("%s before the create", f.Op)
			}
			return coordtest.Pass
		})
		last := w.Held(a)
		if n := asked.Load(); n != 1 {
			w.Errorf("%d transactions", n)
		}
		if _, stat, err := w.Op().Get(w.Dir); err != nil || coord.Token(stat.Czxid) != last.Token() {
			w.Errorf("token %d, znode %+v, %v", last.Token(), stat, err)
		}
		waiting := []*coord.Hold{w.waits(bg, w.Client(T), 2), w.waits(bg, w.Client(T), 3), w.waits(bg, w.Client(T), 4)}
		for len(waiting) > 0 {
			w.Must(last.Err())
			w.Must(last.Release(bg))
			w.IsOpen("lost", last.Lost())
			w.Wants(last.Err(), coord.ErrReleased)
			var next *coord.Hold
			w.Eventually("the next", func() bool {
				for i, h := range waiting {
					select {
					case <-h.Acquired():
						next, waiting = h, slices.Delete(waiting, i, i+1)
						return true
					default:
					}
				}
				return false
			})
			if next.Token() <= last.Token() || !next.Until().After(time.Now()) {
				w.Errorf("token %d after %d, until %v", next.Token(), last.Token(), next.Until())
			}
			last = next
		}
		w.Must(last.Release(bg))
	}},
	{"two holds of one client exclude each other, and do not lose by each other's coming and going (R81, R49)", func(w place) {
		c := w.Client(T)
		h := w.Held(c)
		w.Wants(w.Outcome(w.Try(bg, c.Client, w.Dir)), coord.ErrLocked)
		for range 50 {
			next := w.Acquire(bg, c.Client, w.Dir)
			w.Must(w.write(c, h))
			w.Must(h.Err())
			w.IsOpen("second acquired", next.Acquired())
			w.Must(h.Release(bg))
			w.Grant(next)
			h = next
		}
		w.Must(h.Release(bg))
	}},
	{"a try is decided by the ensemble's answer (R61, R50)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		h := w.Try(bg, a.Client, w.Dir)
		w.Grant(h)
		no := w.Try(bg, b.Client, w.Dir)
		w.Wants(w.Outcome(no), coord.ErrLocked)
		w.Wait("done", no.Done())
		w.Must(h.Release(bg))
		h = w.Try(bg, b.Client, w.Dir)
		w.Grant(h)
		w.Must(h.Release(bg))
	}},
	{"early, double and concurrent release are harmless (R80, R7, R14)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		ha, hb := w.Held(a), w.Acquire(bg, b.Client, w.Dir)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if err := hb.Release(bg); err != nil {
					w.Error(err)
				}
			})
		}
		wg.Wait()
		w.Wants(hb.Err(), coord.ErrReleased)
		w.Must(ha.Err())
		w.Must(ha.Release(bg))
		again := w.Held(b)
		w.Must(ha.Release(bg))
		w.Must(again.Err())
		w.Must(again.Release(bg))
	}},
	{"bad paths, bad labels and finished contexts end the hold at once", func(w place) {
		c := w.Client(T)
		for _, path := range []string{"", "relative", "/", "/a/", "/a//b", "/a/../b", "/\xff"} {
			h := w.Acquire(bg, c.Client, path)
			w.Wants(w.Outcome(h), coord.ErrInvalidPath)
			if text := h.Err().Error(); !strings.HasPrefix(text, "acquire") || !strings.Contains(text, fmt.Sprintf("invalid path %q", path)) {
				w.Errorf("error %q", h.Err())
			}
			_, _, err := lock.NewUnqueued(c.Client, path).Holder(bg)
			w.Wants(err, coord.ErrInvalidPath)
		}
		for _, label := range []string{"__REVOKE__", strings.Repeat("x", 1025)} {
			if w.Outcome(lock.NewUnqueued(c.Client, w.Dir, lock.Label(label)).Acquire(bg)) == nil {
				w.Errorf("label %.20q accepted", label)
			}
		}
		ctx, cancel := context.WithCancelCause(bg)
		cause := errors.New("no longer needed")
		cancel(cause)
		w.Wants(w.Outcome(w.Acquire(ctx, c.Client, w.Dir)), cause)
	}},
	{"a refusal by the ensemble is the cause", func(w place) {
		c := w.Client(T)
		w.Must(w.Held(c).Release(bg)) // so that the directory above is there
		_, err := w.Op().Create(w.Dir+"-closed", nil, 0, zk.WorldACL(zk.PermRead))
		w.Must(err)
		w.Wants(w.Outcome(w.Acquire(bg, c.Client, w.Dir+"-closed/lock")), zk.ErrNoAuth)
		w.Must(w.Op().Delete(w.Dir+"-closed", -1))
		h := w.Held(c)
		w.Wants(w.Outcome(w.Acquire(bg, c.Client, w.Dir+"/below")), zk.ErrNoChildrenForEphemerals)
		w.Must(h.Release(bg))
	}},
	{"a waiter that is canceled leaves nothing, and ctx does not govern the holding (R5)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		ctx, cancel := context.WithCancelCause(bg)
		ha := w.Acquire(ctx, a.Client, w.Dir)
		w.Grant(ha)
		hb := w.waits(ctx, b, 2)
		cause := errors.New("lost interest")
		cancel(cause)
		w.Wants(w.Outcome(hb), cause)
		w.Wait("done", hb.Done())
		w.IsOpen("lost", hb.Lost())
		w.Must(ha.Err())
		if n := len(w.guards()); n != 1 {
			w.Errorf("%d guards", n)
		}
		w.Must(ha.Release(bg))
	}},
	{"wait returns nil exactly if held, though canceled at the moment of the grant (R74)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		for range 20 {
			ha := w.Held(a)
			ctx, cancel := context.WithCancel(bg)
			hb := w.Acquire(ctx, b.Client, w.Dir)
			go ha.Release(bg)
			go cancel()
			if err := w.Outcome(hb); err != nil {
				w.Wants(err, context.Canceled)
				w.IsOpen("acquired", hb.Acquired())
			} else {
				w.Must(hb.Release(bg))
			}
			w.Wait("done", ha.Done())
			w.Wait("done", hb.Done())
		}
	}},
}

// TestUnqueued runs the scenarios in both worlds.
func TestUnqueued(t *testing.T) {
	t.Parallel()
	inBoth(t, unqueued, slices.Concat(claims, claimLosses, claimViews, claimCuts), clean)
}
