package locktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// endings are the ways in which a hold can end other than by release.
var endings = []scenario{
	{"a waiter that is canceled leaves the queue, and the next is not held up (R5)", func(w *World) {
		a, b, c := w.Client(T), w.Client(T), w.Client(T)
		ha := w.Held(a)
		ctx, cancel := context.WithCancelCause(bg)
		hb := w.Queued(ctx, b, 2)
		hc := w.Queued(bg, c, 3)
		cause := errors.New("lost interest")
		cancel(cause)
		w.Wants(w.Outcome(hb), cause)
		w.Wait("done", hb.Done())
		w.IsOpen("canceled waiter lost", hb.Lost())
		w.Eventually("one fewer", func() bool { return len(w.Children()) == 2 })
		w.IsOpen("next acquired too early", hc.Acquired())
		w.Must(ha.Release(bg))
		w.Grant(hc)
		w.Must(hc.Release(bg))
	}},
	{"ctx governs the waiting and not the holding", func(w *World) {
		a := w.Client(T)
		ctx, cancel := context.WithCancel(bg)
		h := w.Acquire(ctx, a.Client, w.Dir)
		w.Grant(h)
		cancel()
		w.Wants(w.Outcome(w.Try(bg, a.Client, w.Dir)), coord.ErrLocked)
		w.Must(h.Err())
		w.Must(h.Release(bg))
	}},
	{"wait returns nil exactly if held, though canceled at the moment of the grant (R74)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		rounds := 20
		if w.Real != nil && !harness.Stress {
			rounds = 4 // as it takes a while until a follows its own node
		}
		for range rounds {
			ha := w.Held(a)
			ctx, cancel := context.WithCancel(bg)
			hb := w.Queued(ctx, b, 2)
			go ha.Release(bg)
			cancel()
			if err := w.Outcome(hb); err != nil {
				w.Wants(err, context.Canceled)
				w.IsOpen("acquired", hb.Acquired())
			} else {
				w.IsClosed("acquired", hb.Acquired())
				w.Must(hb.Err())
				w.Must(hb.Release(bg))
			}
			w.Wait("done", ha.Done())
			w.Wait("done", hb.Done())
		}
	}},
	{"an expired holder is told, a waiter gets the lock, and the client can go on (R2, R46, R87)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.Queued(bg, b, 2)
		expired := a.Expired()
		w.Expire(a)
		w.Wait("expired", expired)
		w.Wait("lost", ha.Lost())
		w.Wants(ha.Err(), coord.ErrExpired)
		w.Wait("done", ha.Done())
		w.Grant(hb)
		w.Must(ha.Release(bg)) // too late, and harmless
		w.Must(hb.Err())
		again := w.Behind(a, 2)
		w.Must(hb.Release(bg))
		w.Grant(again)
		w.Must(again.Release(bg))
	}},
	{"a waiter learns that its own session is over (R26, R1)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.Queued(bg, b, 2)
		w.Expire(b)
		w.Wants(w.Outcome(hb), coord.ErrExpired)
		w.Wait("done", hb.Done())
		w.IsOpen("lost", hb.Lost()) // it never held
		w.Must(ha.Release(bg))
	}},
	{"a holder whose znode an operator deletes is told (R19)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.Queued(bg, b, 2)
		w.Must(w.Op().Delete(w.Dir+"/"+w.Children()[0], -1))
		w.Wait("lost", ha.Lost())
		w.Wants(ha.Err(), coord.ErrDeleted)
		w.Wait("done", ha.Done())
		w.Grant(hb)
		w.Must(hb.Release(bg))
	}},
	{"a waiter whose znode an operator deletes is told, and the next waits on (R9)", func(w *World) {
		a, b, c := w.Client(T), w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.Queued(bg, b, 2)
		hc := w.Queued(bg, c, 3)
		w.Must(w.Op().Delete(w.Dir+"/"+w.Children()[1], -1))
		w.Wants(w.Outcome(hb), coord.ErrDeleted)
		// Theirs on their own, c's on a, and that of b on a, which cannot be withdrawn.
		w.Eventually("c follows a", func() bool { return w.Watches() == w.shown(4, 2)+w.Follows })
		w.IsOpen("acquired", hc.Acquired())
		w.Must(ha.Release(bg))
		w.Grant(hc)
		w.Must(hc.Release(bg))
	}},
	{"a holder asked by Curator's revocation is told and keeps others out until released (R39)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.Queued(bg, b, 2)
		_, err := w.Op().Set(w.Dir+"/"+w.Children()[0], []byte("__REVOKE__"), -1)
		w.Must(err)
		w.Wait("lost", ha.Lost())
		w.Wants(ha.Err(), coord.ErrRevoked)
		w.IsOpen("done", ha.Done())
		w.IsOpen("acquired", hb.Acquired())
		w.Must(ha.Release(bg))
		w.Wants(ha.Err(), coord.ErrRevoked)
		w.Grant(hb)
		w.Must(hb.Release(bg))
	}},
	{"closing the client loses its holds, frees the lock at once and ends its waiters (R28)", func(w *World) {
		a, b := w.Client(40*time.Second), w.Client(T)
		ha := w.Held(a)
		wait := w.Behind(a, 2)
		hb := w.Behind(b, 3)
		began := time.Now()
		w.Must(a.Close())
		w.IsClosed("lost", ha.Lost())
		w.IsClosed("done", ha.Done())
		w.IsClosed("done", wait.Done())
		w.Wants(ha.Err(), coord.ErrClosed)
		w.Wants(wait.Err(), coord.ErrClosed)
		w.Grant(hb)
		if d := time.Since(began); d > 10*time.Second { // and not by expiry, after 40 s
			w.Errorf("granted only after %v", d)
		}
		w.Must(hb.Release(bg))
	}},
	{"acquiring with a closed client ends with ErrClosed at once (R47)", func(w *World) {
		a := w.Client(T)
		w.Must(a.Close())
		h := w.Acquire(bg, a.Client, w.Dir)
		w.IsClosed("done", h.Done())
		w.Wants(h.Wait(), coord.ErrClosed)
		w.Must(h.Release(bg))
	}},
	{"closing at any moment of an acquisition leaves nothing (R28)", func(w *World) {
		for i := range 10 {
			a := w.Client(T)
			w.Acquire(bg, a.Client, fmt.Sprint(w.Dir, "/deep/", i))
			w.Acquire(bg, a.Client, w.Dir)
			w.Must(a.Close())
		}
		w.Eventually("only the directories", func() bool {
			names := w.World.Children(w.Dir)
			names = slices.DeleteFunc(names, func(name string) bool { return name == "deep" || slices.Contains(w.Parts, name) })
			return len(names) == 0 && (w.Parts == nil || len(w.Children()) == 0)
		})
		w.Sweep(w.Dir + "/deep")
	}},
	{"a directory that is deleted under the queue ends it, and it starts anew (R78, R92)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.Queued(bg, b, 2)
		w.Sweep(w.Dir)
		w.Wait("lost", ha.Lost())
		w.Wants(ha.Err(), coord.ErrDeleted)
		// b was next for a moment, or not: the operator's deletes are not atomic.
		if err := w.Outcome(hb); err == nil {
			w.Wait("lost", hb.Lost())
		}
		w.Wants(hb.Err(), coord.ErrDeleted)
		again := w.Held(b)
		w.Must(ha.Release(bg)) // which must not touch the new queue
		w.Must(again.Err())
		if n := len(w.Children()); n != 1 {
			w.Errorf("%d children", n)
		}
		if again.Token() <= ha.Token() {
			w.Errorf("token %d after %d, because the numbers began again", again.Token(), ha.Token())
		}
		w.Must(again.Release(bg))
	}},
}
