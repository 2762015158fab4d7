package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkcoord/zkcoord/coord"
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
		wants(w, w.Settled(hb), cause)
		w.Wait("done", hb.Done())
		open(w, "canceled waiter lost", hb.Lost())
		w.Eventually("one fewer", func() bool { return len(w.Children()) == 2 })
		open(w, "next acquired too early", hc.Acquired())
		must(w, ha.Release(bg))
		w.Grant(hc)
		must(w, hc.Release(bg))
	}},
	{"ctx governs the waiting and not the holding", func(w *World) {
		a := w.Client(T)
		ctx, cancel := context.WithCancel(bg)
		h := w.Acquire(ctx, a.Client, w.Dir)
		w.Grant(h)
		cancel()
		wants(w, w.Settled(w.Try(bg, a.Client, w.Dir)), coord.ErrLocked)
		must(w, h.Err())
		must(w, h.Release(bg))
	}},
	{"wait returns nil exactly if held, though canceled at the moment of the grant (R74)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		for range 20 {
			ha := w.Held(a)
			ctx, cancel := context.WithCancel(bg)
			hb := w.Queued(ctx, b, 2)
			go ha.Release(bg)
			cancel()
			if err := w.Settled(hb); err != nil {
				wants(w, err, context.Canceled)
				open(w, "acquired", hb.Acquired())
			} else {
				closed(w, "acquired", hb.Acquired())
				must(w, hb.Err())
				must(w, hb.Release(bg))
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
		wants(w, ha.Err(), coord.ErrExpired)
		w.Wait("done", ha.Done())
		w.Grant(hb)
		must(w, ha.Release(bg)) // too late, and harmless
		must(w, hb.Err())
		again := w.Behind(a, 2)
		must(w, hb.Release(bg))
		w.Grant(again)
		must(w, again.Release(bg))
	}},
	{"a waiter learns that its own session is over (R26, R1)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.Queued(bg, b, 2)
		w.Expire(b)
		wants(w, w.Settled(hb), coord.ErrExpired)
		w.Wait("done", hb.Done())
		open(w, "lost", hb.Lost()) // it never held
		must(w, ha.Release(bg))
	}},
	{"a holder whose znode an operator deletes is told (R19)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.Queued(bg, b, 2)
		must(w, w.Op().Delete(w.Dir+"/"+w.Children()[0], -1))
		w.Wait("lost", ha.Lost())
		wants(w, ha.Err(), coord.ErrDeleted)
		w.Wait("done", ha.Done())
		w.Grant(hb)
		must(w, hb.Release(bg))
	}},
	{"a waiter whose znode an operator deletes is told, and the next waits on (R9)", func(w *World) {
		a, b, c := w.Client(T), w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.Queued(bg, b, 2)
		hc := w.Queued(bg, c, 3)
		must(w, w.Op().Delete(w.Dir+"/"+w.Children()[1], -1))
		wants(w, w.Settled(hb), coord.ErrDeleted)
		// Theirs on their own, c's on a, and that of b on a, which can not be withdrawn.
		w.Eventually("c follows a", func() bool { return w.Watches() == 4 })
		open(w, "acquired", hc.Acquired())
		must(w, ha.Release(bg))
		w.Grant(hc)
		must(w, hc.Release(bg))
	}},
	{"a holder asked by Curator's revocation is told and keeps others out until released (R39)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.Queued(bg, b, 2)
		_, err := w.Op().Set(w.Dir+"/"+w.Children()[0], []byte("__REVOKE__"), -1)
		must(w, err)
		w.Wait("lost", ha.Lost())
		wants(w, ha.Err(), coord.ErrRevoked)
		open(w, "done", ha.Done())
		open(w, "acquired", hb.Acquired())
		must(w, ha.Release(bg))
		wants(w, ha.Err(), coord.ErrRevoked)
		w.Grant(hb)
		must(w, hb.Release(bg))
	}},
	{"closing the client loses its holds, frees the lock at once and ends its waiters (R28)", func(w *World) {
		a, b := w.Client(40*time.Second), w.Client(T)
		ha := w.Held(a)
		wait := w.Behind(a, 2)
		hb := w.Behind(b, 3)
		began := time.Now()
		must(w, a.Close())
		closed(w, "lost", ha.Lost())
		closed(w, "done", ha.Done())
		closed(w, "done", wait.Done())
		wants(w, ha.Err(), coord.ErrClosed)
		wants(w, wait.Err(), coord.ErrClosed)
		w.Grant(hb)
		if d := time.Since(began); d > 10*time.Second { // and not by expiry, after 40 s
			w.Errorf("granted only after %v", d)
		}
		must(w, hb.Release(bg))
	}},
	{"acquiring with a closed client ends with ErrClosed at once (R47)", func(w *World) {
		a := w.Client(T)
		must(w, a.Close())
		h := w.Acquire(bg, a.Client, w.Dir)
		closed(w, "done", h.Done())
		wants(w, h.Wait(), coord.ErrClosed)
		must(w, h.Release(bg))
	}},
	{"closing at any moment of an acquisition leaves nothing (R28)", func(w *World) {
		for i := range 10 {
			a := w.Client(T)
			w.Acquire(bg, a.Client, fmt.Sprint(w.Dir, "/deep/", i))
			w.Acquire(bg, a.Client, w.Dir)
			must(w, a.Close())
		}
		w.Eventually("only the directories", func() bool {
			names, _, err := w.Op().Children(w.Dir)
			return err != nil || len(names) == 0 || len(names) == 1 && names[0] == "deep"
		})
		w.sweep(w.Dir + "/deep")
	}},
	{"a directory that is deleted under the queue ends it, and it starts anew (R78, R92)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.Queued(bg, b, 2)
		w.sweep(w.Dir)
		w.Wait("lost", ha.Lost())
		wants(w, ha.Err(), coord.ErrDeleted)
		// b was next for a moment, or not: the operator's deletes are not atomic.
		if err := w.Settled(hb); err == nil {
			w.Wait("lost", hb.Lost())
		}
		wants(w, hb.Err(), coord.ErrDeleted)
		again := w.Held(b)
		must(w, ha.Release(bg)) // which must not touch the new queue
		must(w, again.Err())
		if n := len(w.Children()); n != 1 {
			w.Errorf("%d children", n)
		}
		if again.Token() <= ha.Token() {
			w.Errorf("token %d after %d, because the numbers began again", again.Token(), ha.Token())
		}
		must(w, again.Release(bg))
	}},
}

// sweep deletes path and what is below it, as an operator would.
func (w *World) sweep(path string) {
	w.Helper()
	w.Eventually("delete of "+path, func() bool {
		names, _, _ := w.Op().Children(path)
		for _, name := range names {
			w.sweep(path + "/" + name)
		}
		_ = w.Op().Delete(path, -1)
		there, _, err := w.Op().Exists(path)
		return err == nil && !there
	})
}
