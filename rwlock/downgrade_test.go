package rwlock_test

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/queue"
	"github.com/zkcoord/zkcoord/rwlock"
)

// downgradings are what it promises to a writer that becomes a reader, and to the others.
var downgradings = []scenario{
	{"a downgrade wakes the readers right behind it, and nobody else", func(w world) {
		all := w.members(5)
		h := w.queue("wrrwr", all, 4)
		for _, m := range all {
			m.count()
		}
		w.Must(all[0].Downgrade(bg, h[0]))
		w.Grant(h[1])
		w.Grant(h[2])
		w.events("a writer downgrades before two readers", all, 1, 1, 1, 0, 0)
		w.Eventually("all follow their own again, and two another", func() bool { return w.Watches() == 5+2 })
		w.release(h[0])
		w.events("the downgraded releases", all, 1, 0, 0, 0, 0)
		w.release(h[2])
		w.Eventually("the writer follows the other reader", func() bool { return w.Watches() == 3+2 })
		w.release(h[1])
		w.Grant(h[3])
		w.release(h[3])
		w.Grant(h[4])
		w.release(h[4])
	}},
	{"a downgrade keeps the place and the token, and moves the guard (R9)", func(w world) {
		all := w.members(2)
		h := w.queue("w", all, 0)[0]
		token, before, guard := h.Token(), w.Children()[0], harness.Guard(h)
		key := w.Dir + "-guarded"
		_, err := w.Op().Create(key, nil, 0, zk.WorldACL(zk.PermAll))
		w.Must(err)
		defer w.Op().Delete(key, -1)
		write := func(guard *zk.CheckVersionRequest) error {
			_, err := all[0].Conn().Multi(guard, &zk.SetDataRequest{Path: key, Version: -1})
			return err
		}
		w.Must(write(guard))
		w.Must(all[0].Downgrade(bg, h))
		if after := w.Children(); len(after) != 1 || after[0] != strings.Replace(before, "-__WRIT__", "-__READ__", 1) {
			w.Errorf("%q has become %q", before, after)
		}
		if h.Token() != token {
			w.Errorf("token %d has become %d", token, h.Token())
		}
		w.Wants(write(guard), zk.ErrNoNode)
		w.Must(write(harness.Guard(h)))
		w.Must(all[0].Downgrade(bg, h)) // it is one already
		who, err := all[1].Contenders(bg)
		w.Must(err)
		if len(who) != 1 || !who[0].Reads || who[0].Session != all[0].Kit().Session().ID() {
			w.Errorf("contenders: %+v", who)
		}
		beside := all[1].TryAcquireRead(bg)
		w.Grant(beside)
		w.Wants(w.Outcome(all[1].TryAcquireWrite(bg)), coord.ErrLocked)
		w.release(beside)
		w.release(h)
		w.Wants(h.Err(), coord.ErrReleased)
	}},
	{"nothing more is held than was asked for: after a downgrade one znode, after a try that failed or a refused upgrade none", func(w world) {
		a, b := w.member(), w.member()
		for _, crowded := range []bool{false, true} {
			if crowded {
				queue.ExpectCrowd(a.Client.Client, w.Dir) // so that the writer has a baton
			}
			h := a.AcquireWrite(bg)
			w.Grant(h)
			batons := w.World.World.Children(w.Dir + "-batons")
			if n := len(w.Children()); n != 1 || len(batons) > 0 != crowded {
				w.Errorf("a writer has %d znodes and the batons %q", n, batons)
			}
			left := func(what string, refused *coord.Hold, why error) {
				w.Helper()
				w.Wants(w.Outcome(refused), why)
				w.Wait("done", refused.Done())
				if n := len(w.Children()); n != 1 {
					w.Errorf("%d znodes after %s", n, what)
				}
			}
			left("a try to read beside the writer", b.TryAcquireRead(bg), coord.ErrLocked)
			left("a try to write beside the writer", b.TryAcquireWrite(bg), coord.ErrLocked)
			w.Must(a.Downgrade(bg, h))
			batons = w.World.World.Children(w.Dir + "-batons")
			if names := w.Children(); len(names) != 1 || !strings.Contains(names[0], "-__READ__") || len(batons) > 0 {
				w.Errorf("after a downgrade: %q, and the batons %q", names, batons)
			}
			left("a try to write beside a reader", b.TryAcquireWrite(bg), coord.ErrLocked)
			left("an upgrade", a.AcquireWrite(h.Context(bg)), rwlock.ErrUpgrade)
			left("a try to upgrade", a.TryAcquireWrite(h.Context(bg)), rwlock.ErrUpgrade)
			w.Must(h.Err())
			w.release(h)
		}
	}},
	{"a downgrade lets in the readers right behind it, and keeps out a writer until it is released (R10)", func(w world) {
		all := w.members(4)
		h := w.queue("wrwr", all, 3)
		w.Must(all[0].Downgrade(bg, h[0]))
		w.Grant(h[1])
		w.held(h, true, true, false, false)
		w.release(h[1])
		w.Eventually("the writer follows the downgraded", func() bool { return w.Watches() == 3+2 })
		w.held(h, true, false, false, false)
		w.release(h[0])
		w.Grant(h[2])
		w.held(h, false, false, true, false)
		if h[2].Token() <= h[0].Token() {
			w.Errorf("token %d after the downgraded reader's %d", h[2].Token(), h[0].Token())
		}
		w.Must(all[2].Downgrade(bg, h[2]))
		w.Grant(h[3])
		w.held(h, false, false, true, true)
		w.release(h[2])
		w.release(h[3])
	}},
	{"with a writer right behind it a downgrade lets nobody in (R10)", func(w world) {
		all := w.members(3)
		h := w.queue("wwr", all, 2)
		w.Must(all[0].Downgrade(bg, h[0]))
		w.Eventually("the writer follows the downgraded", func() bool { return w.Watches() == 3+2 })
		w.held(h, true, false, false)
		w.release(h[0])
		w.Grant(h[1])
		w.held(h, false, true, false)
		w.release(h[1])
		w.Grant(h[2])
		w.release(h[2])
	}},
	{"what is not held for writing is not downgraded, and the error says why", func(w world) {
		a, b := w.member(), w.member()
		h := a.AcquireRead(bg)
		w.Grant(h)
		w.Wants(a.Downgrade(bg, h), rwlock.ErrNotWriting)
		late := b.AcquireWrite(bg)
		w.Wants(b.Downgrade(bg, late), rwlock.ErrNotWriting) // not held yet
		w.release(h)
		w.Wants(a.Downgrade(bg, h), coord.ErrReleased)
		w.Grant(late)
		w.Wants(a.Downgrade(bg, late), rwlock.ErrNotWriting) // not of this lock
		ctx, cancel := context.WithCancel(bg)
		cancel()
		w.Must(late.Err())
		_ = b.Downgrade(ctx, late) // begun all the same
		w.Must(b.Downgrade(bg, late))
		w.release(late)

		lost := b.AcquireWrite(bg)
		w.Grant(lost)
		w.Expire(b.Client)
		w.Wait("lost", lost.Lost())
		w.Wants(b.Downgrade(bg, lost), coord.ErrExpired)

		deleted := a.AcquireWrite(bg)
		w.Grant(deleted)
		w.Must(w.Op().Delete(w.Dir+"/"+w.Children()[0], -1))
		w.Wants(a.Downgrade(bg, deleted), coord.ErrDeleted) // heard of before, or found out by it
		w.Wait("lost", deleted.Lost())
		w.Wait("done", deleted.Done())
	}},
	{"a downgrade whose request or answer is lost ends in one of the two states (R4)", func(w world) {
		a, b := w.member(), w.member()
		for _, lost := range []coordtest.Direction{coordtest.ToServer, coordtest.ToClient} {
			h := a.AcquireWrite(bg)
			w.Grant(h)
			next := b.AcquireWrite(bg)
			w.Eventually("the next in line", func() bool { return len(w.Children()) == 2 })
			met := false
			a.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if !met && f.Op == "multi" && f.Dir == lost {
					met = true
					return coordtest.HangUp
				}
				return coordtest.Pass
			})
			w.Must(a.Downgrade(bg, h))
			a.count()
			if n := w.Children(); len(n) != 2 || !strings.Contains(n[0], "-__READ__") {
				w.Errorf("children %q", n)
			}
			w.held([]*coord.Hold{h, next}, true, false)
			w.release(h)
			w.Grant(next)
			w.release(next)
		}
	}},
	{"a downgrade while cut off goes on in the background, and ctx bounds only the wait for it", func(w world) {
		a, b := w.member(), w.member()
		h := a.AcquireWrite(bg)
		w.Grant(h)
		next := b.AcquireRead(bg)
		w.Eventually("the next in line", func() bool { return len(w.Children()) == 2 })
		heal := a.Link.Cut()
		cause := errors.New("in a hurry")
		ctx, cancel := context.WithTimeoutCause(bg, 20*time.Millisecond, cause)
		defer cancel()
		err := a.Downgrade(ctx, h)
		w.Wants(err, cause)
		if want := "downgrade " + w.Dir; err != nil && !strings.Contains(err.Error(), want) {
			w.Errorf("error %q does not name %q", err, want)
		}
		w.held([]*coord.Hold{h, next}, true, false)
		heal()
		w.Grant(next)
		w.Must(a.Downgrade(bg, h)) // to learn that it is done
		w.release(h)
		w.release(next)
	}},
	{"a release while a downgrade is under way leaves nothing", func(w world) {
		a := w.member()
		h := a.AcquireWrite(bg)
		w.Grant(h)
		heal := a.Link.Stall(coordtest.ToClient) // it is done, and the answer is late
		back := make(chan error, 1)
		go func() { back <- a.Downgrade(bg, h) }()
		w.Eventually("the downgrade", func() bool { return strings.Contains(w.Children()[0], "-__READ__") })
		w.Must(h.Err())
		ctx, cancel := context.WithCancel(bg)
		cancel()
		w.Wants(h.Release(ctx), context.Canceled)
		w.Wants(<-back, coord.ErrReleased)
		heal()
		w.Wait("done", h.Done())
		if n := w.Children(); len(n) != 0 {
			w.Errorf("left: %q", n)
		}
	}},
	{"a downgrade that the ensemble refuses leaves the lock held for writing", func(w world) {
		a, b := w.member(), w.member()
		h := a.AcquireWrite(bg)
		w.Grant(h)
		_, err := w.Op().SetACL(w.Dir, zk.WorldACL(zk.PermAll&^zk.PermCreate), -1)
		w.Must(err)
		err = a.Downgrade(bg, h)
		w.Wants(err, zk.ErrNoAuth)
		w.Must(h.Err())
		_, err = w.Op().SetACL(w.Dir, zk.WorldACL(zk.PermAll), -1)
		w.Must(err)
		w.Wants(w.Outcome(b.TryAcquireRead(bg)), coord.ErrLocked)
		w.Must(a.Downgrade(bg, h))
		beside := b.TryAcquireRead(bg)
		w.Grant(beside)
		w.release(beside)
		w.release(h)
	}},
}
