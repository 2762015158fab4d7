package locktest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// broken are scenarios with a broken link.
var broken = []scenario{
	{"a holder survives a reset of its connection (R86)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.Queued(bg, b, 2)
		for range 5 {
			up := w.Down(a)
			up()
			w.Must(ha.Err())
		}
		w.IsOpen("lost", ha.Lost())
		w.IsOpen("acquired", hb.Acquired())
		w.Must(ha.Release(bg))
		w.Grant(hb)
		w.Must(hb.Release(bg))
	}},
	{"a waiter goes on after a reset (R45, R52, R56)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.Queued(bg, b, 2)
		w.Down(b)()
		w.Must(ha.Release(bg))
		w.Grant(hb)
		w.Must(hb.Release(bg))
	}},
	{"a waiter whose predecessor goes while it is cut off gets the lock when it is back (R45, R11)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.Queued(bg, b, 2)
		up := w.Down(b)
		w.Must(ha.Release(bg))
		w.IsOpen("acquired", hb.Acquired())
		up()
		w.Grant(hb)
		w.Must(hb.Release(bg))
	}},
	{"a waiter whose node goes together with its predecessor while it is cut off is not granted (R20, R1)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.Queued(bg, b, 2)
		up := w.Down(b)
		mine := w.Children()[1]
		w.Must(w.Op().Delete(w.Dir+"/"+mine, -1))
		w.Must(ha.Release(bg))
		up()
		w.Wants(w.Outcome(hb), coord.ErrDeleted)
		w.IsOpen("acquired", hb.Acquired())
	}},
	{"a waiter whose node goes together with its predecessor as its first answer is lost is not granted (R20, R1)", deletedAtAnswer(1)},
	{"a waiter whose node goes together with its predecessor as its second answer is lost is not granted (R20, R1)", deletedAtAnswer(2)},
	{"a waiter whose node goes together with its predecessor as its third answer is lost is not granted (R20, R1)", deletedAtAnswer(3)},
	{"a waiter that gives up while cut off is gone when it is back, before it queues again (R8, R43)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		ctx, cancel := context.WithCancel(bg)
		hb := w.Queued(ctx, b, 2)
		up := w.Down(b)
		began := time.Now()
		cancel()
		w.Wants(hb.Wait(), context.Canceled)
		if d := time.Since(began); d > w.Bound(100*time.Millisecond) { // R61
			w.Errorf("wait took %v", d)
		}
		w.IsOpen("done", hb.Done())
		up()
		w.Wait("done", hb.Done())
		if n := len(w.Children()); n != 1 {
			w.Errorf("%d children after the waiter is done", n)
		}
		w.Must(ha.Release(bg))
	}},
	{"a release while cut off goes on in the background, and ctx bounds only the wait for it (R7, R61)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.Queued(bg, b, 2)
		up := w.Down(a)
		cause := errors.New("in a hurry")
		ctx, cancel := context.WithTimeoutCause(bg, 20*time.Millisecond, cause)
		defer cancel()
		began := time.Now()
		w.Wants(ha.Release(ctx), cause)
		if d := time.Since(began); d > w.Bound(120*time.Millisecond) {
			w.Errorf("release took %v", d)
		}
		w.Wants(ha.Err(), coord.ErrReleased)
		w.IsOpen("acquired", hb.Acquired())
		up()
		w.Grant(hb)
		w.Must(ha.Release(bg))
		w.Must(hb.Release(bg))
	}},
	{"a lost create that was carried out is found, and one that was not is made again (R4, R60)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		w.Must(w.Held(b).Release(bg)) // so that the directory is there
		for _, lost := range []coordtest.Direction{coordtest.ToServer, coordtest.ToClient} {
			met := false
			a.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if !met && f.Op == "multi" && f.Dir == lost {
					met = true
					return coordtest.HangUp
				}
				return coordtest.Pass
			})
			h := w.Held(a)
			if n := len(w.Children()); n != 1 {
				w.Errorf("%d children", n)
			}
			w.Must(h.Release(bg))
			a.Link.OnFrame(nil)
			if !met {
				w.Errorf("no create was lost on the way %v", lost)
			}
		}
	}},
	{"a znode with our id that belongs to another session is not taken for ours (R1, R3, R18)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		w.Must(w.Held(b).Release(bg))
		heal := make(chan func(), 1)
		met := false
		a.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if !met && f.Op == "multi" && f.Dir == coordtest.ToClient {
				met = true
				heal <- a.Link.Cut()
				return coordtest.HangUp
			}
			return coordtest.Pass
		})
		h := w.Acquire(bg, a.Client, w.Dir)
		w.Await(a.Client, coord.Suspended)
		// Somebody puts a znode of the same name in the place of ours.
		node := w.Dir + "/" + w.Children()[0]
		w.Must(w.Op().Delete(node, -1))
		_, err := w.Op().Create(node, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		w.Must(err)
		(<-heal)()
		w.Wants(w.Outcome(h), coord.ErrDeleted)
		w.IsOpen("acquired", h.Acquired())
		w.Must(w.Op().Delete(node, -1))
	}},
	{"what is asked for while cut off does not happen in the next session (R91, R95)", func(w *World) {
		a := w.Client(T)
		held := w.Held(a)
		first := a.Kit().Session()
		heal := a.Link.Stall(coordtest.Both)
		// In flight, or waiting for the link to come back: nothing tells them apart.
		late := w.Acquire(bg, a.Client, w.Dir)
		raw := make(chan error, 1)
		go func() {
			_, err := first.Txn(bg, coord.OpCreate(w.Dir+"-crossed", nil, coord.Ephemeral))
			raw <- err
		}()
		w.Wait("lost", held.Lost())
		heal()
		if err := <-raw; err == nil || first.Refused(err) {
			w.Errorf("request of the old session: %v", err)
		}
		w.Wants(w.Outcome(late), coord.ErrExpired)
		w.Wait("done", late.Done())
		_, err := a.Kit().Await(bg)
		w.Must(err)
		// The first session ends on the server too, with all that it has done.
		w.Eventually("old znodes gone", func() bool { return len(w.Children()) == 0 })
		if ok, _, err := w.Op().Exists(w.Dir + "-crossed"); ok || err != nil {
			w.Errorf("created in the next session: %v, %v", ok, err)
		}
	}},
	{"a holder that is cut off is told before the next gets the lock (R2, R21, R85, R16)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.Queued(bg, b, 2)
		a.Link.Stall(coordtest.Both)
		select {
		case <-ha.Lost():
		case <-hb.Acquired():
			w.Error("granted before the holder was told")
		}
		w.Wait("lost", ha.Lost())
		w.Wants(ha.Err(), coord.ErrExpired)
		if until := ha.Until(); time.Now().Before(until) {
			w.Errorf("lost %v before Until", time.Until(until))
		}
		w.Grant(hb)
		w.Must(hb.Release(bg))
	}},
}

// deletedAtAnswer returns a scenario in which the connection of a waiter is lost with the
// n-th answer to what it reads once it has a node: the queue, the one before it, and its
// own node. While it is cut off, both nodes go.
func deletedAtAnswer(n int) func(w *World) {
	return func(w *World) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		lost := make(chan struct{})
		reads := 0
		b.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Dir == coordtest.ToClient && strings.HasPrefix(f.Path, w.Dir) && slices.Contains(reading, f.Op) {
				if reads++; reads == n {
					close(lost)
					return coordtest.HangUp
				}
			}
			if reads >= n && f.Dir == coordtest.ToServer {
				return coordtest.HangUp // until it is up again
			}
			return coordtest.Pass
		})
		hb := w.Behind(b, 2)
		w.Wait("the answer", lost)
		w.Must(w.Op().Delete(w.Dir+"/"+w.Children()[1], -1))
		w.Must(ha.Release(bg))
		b.Link.OnFrame(nil)
		w.Wants(w.Outcome(hb), coord.ErrDeleted)
		w.IsOpen("acquired", hb.Acquired())
	}
}

// reading are the operations that read.
var reading = []string{"exists", "getData", "getChildren", "getChildren2"}
