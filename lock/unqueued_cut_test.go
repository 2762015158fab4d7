package lock_test

import (
	"context"
	"errors"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// claimCuts are what it promises when connections break and clients are closed.
var claimCuts = []scenario{
	{"holders and waiters survive a reset of their connection (R86, R45, R52)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.waits(bg, b, 2)
		for range 3 {
			w.Down(a)()
			w.Down(b)()
		}
		w.Must(ha.Err())
		w.IsOpen("acquired", hb.Acquired())
		w.Must(w.write(a, ha))
		w.Must(ha.Release(bg))
		w.Grant(hb)
		w.Must(hb.Release(bg))
	}},
	{"a waiter that is cut off while the lock is freed gets it when it is back (R45, R11)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.waits(bg, b, 2)
		up := w.Down(b)
		w.Must(ha.Release(bg))
		w.IsOpen("acquired", hb.Acquired())
		up()
		w.Grant(hb)
		w.Must(hb.Release(bg))
	}},
	{"a holder whose znode becomes another's while it is cut off is told when it is back (R20, R1)", func(w place) {
		a, b := w.Client(10*T), w.Client(10*T)
		ha := w.Held(a)
		hb := w.waits(bg, b, 2)
		up := w.Down(a)
		w.Must(w.Op().Delete(w.Dir, -1))
		w.Grant(hb)
		up()
		w.Wait("lost", ha.Lost())
		w.Wants(ha.Err(), coord.ErrDeleted)
		w.Wait("done", ha.Done())
		w.Must(w.write(b, hb))
		w.Must(hb.Release(bg))
	}},
	{"a release while cut off goes on in the background, and ctx bounds only the wait for it (R7, R43, R61)", func(w place) {
		a, b := w.Client(10*T), w.Client(10*T)
		ha := w.Held(a)
		hb := w.waits(bg, b, 2)
		up := w.Down(a)
		cause := errors.New("in a hurry")
		ctx, cancel := context.WithTimeoutCause(bg, 20*time.Millisecond, cause)
		defer cancel()
		began := time.Now()
		w.Wants(ha.Release(ctx), cause)
		if d := time.Since(began); d > time.Second {
			w.Errorf("release took %v", d)
		}
		w.Wants(ha.Err(), coord.ErrReleased)
		w.IsOpen("acquired", hb.Acquired())
		up()
		w.Grant(hb)
		w.Must(ha.Release(bg))
		w.Must(hb.Release(bg))
	}},
	{"a lost create that was carried out is found, and one that was not is made again (R4, R60)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		w.Must(w.Held(b).Release(bg))
		for _, lost := range []coordtest.Direction{coordtest.ToServer, coordtest.ToClient} {
			for _, cancels := range []bool{false, true} {
				ctx, cancel := context.WithCancel(bg)
				met := false
				a.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
					if !met && f.Op == "multi" && f.Dir == lost {
						met = true
						if cancels {
							cancel()
						}
						return coordtest.HangUp
					}
					return coordtest.Pass
				})
				h := w.Acquire(ctx, a.Client, w.Dir)
				if cancels {
					w.Wants(w.Outcome(h), context.Canceled)
					w.Wait("done", h.Done())
					if w.Exists(w.Dir) || len(w.guards()) > 0 {
						w.Error("znodes left")
					}
				} else {
					w.Grant(h)
					if _, stat, err := w.Op().Get(w.Dir); err != nil || coord.Token(stat.Czxid) != h.Token() || len(w.guards()) != 1 {
						w.Errorf("token %d, znode %+v, %d guards, %v", h.Token(), stat, len(w.guards()), err)
					}
					w.Must(h.Release(bg))
					cancel()
				}
				a.Link.OnFrame(nil)
				if !met {
					w.Errorf("no create was lost on the way %v", lost)
				}
			}
		}
	}},
	{"what is asked for while cut off does not happen in the next session (R91, R95)", func(w place) {
		a := w.Client(T)
		held := w.Held(a)
		heal := a.Link.Stall(coordtest.Both)
		late := w.Acquire(bg, a.Client, w.Dir)
		w.Wait("lost", held.Lost())
		heal()
		w.Wants(w.Outcome(late), coord.ErrExpired)
		w.Wait("done", late.Done())
		_, err := a.Kit().Await(bg)
		w.Must(err)
		w.Eventually("old znodes gone", func() bool { return !w.Exists(w.Dir) && len(w.guards()) == 0 })
	}},
	{"a holder that is cut off is told before another gets the lock (R2, R21, R85, R16)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.waits(bg, b, 2)
		heal := a.Link.Stall(coordtest.Both)
		select {
		case <-ha.Lost():
		case <-hb.Acquired():
			w.Error("granted before the holder was told")
		}
		w.Wait("lost", ha.Lost())
		w.Wants(ha.Err(), coord.ErrExpired)
		w.Grant(hb)
		w.Must(hb.Release(bg))
		heal()
	}},
	{"closing loses the hold, frees the lock at once and ends the waiting (R28, R47)", func(w place) {
		a, b := w.Client(10*T), w.Client(T)
		ha, wait, hb := w.Held(a), w.Acquire(bg, a.Client, w.Dir), w.Acquire(bg, b.Client, w.Dir)
		began := time.Now()
		w.Must(a.Close())
		for _, h := range []*coord.Hold{ha, wait, w.Acquire(bg, a.Client, w.Dir)} {
			w.Wants(h.Err(), coord.ErrClosed)
			select {
			case <-h.Done():
			default:
				w.Error("not done")
			}
		}
		w.Grant(hb)
		if d := time.Since(began); d > 10*time.Second {
			w.Errorf("granted only after %v", d)
		}
		w.Must(hb.Release(bg))
		for range 5 { // at any moment
			c := w.Client(T)
			w.Acquire(bg, c.Client, w.Dir)
			w.Must(c.Close())
		}
	}},
}
