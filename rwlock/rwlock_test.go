package rwlock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/locktest"
	"github.com/zkcoord/zkcoord/rwlock"
)

// A world is one for readers and writers.
type world struct{ *locktest.World }

// A member is a client with its lock.
type member struct {
	*locktest.Client
	*rwlock.RWMutex
	events atomic.Int32 // that its server has sent it
}

func (w world) member() *member {
	c := w.Client(locktest.T)
	m := &member{Client: c, RWMutex: rwlock.New(c.Client, w.Dir)}
	m.count()
	return m
}

// count counts events from now on, and ends what else was done with frames.
func (m *member) count() {
	m.events.Store(0)
	m.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
		if f.Op == "event" {
			m.events.Add(1)
		}
		return coordtest.Pass
	})
}

func (w world) members(n int) []*member {
	all := make([]*member, n)
	for i := range all {
		all[i] = w.member()
	}
	return all
}

// queue enters one after the other in the order of kinds, r or w, and waits until
// all are followed by their owners, and watches more are armed.
func (w world) queue(kinds string, all []*member, watches int) []*coord.Hold {
	w.Helper()
	var holds []*coord.Hold
	for i, kind := range kinds {
		if kind == 'r' {
			holds = append(holds, all[i].AcquireRead(bg))
		} else {
			holds = append(holds, all[i].AcquireWrite(bg))
		}
		w.Eventually("in the queue", func() bool { return len(w.Children()) == i+1 })
	}
	w.Eventually("watches armed", func() bool { return w.Watches() == len(kinds)+watches })
	return holds
}

// held checks which of holds are held now.
func (w world) held(holds []*coord.Hold, want ...bool) {
	w.Helper()
	for i, h := range holds {
		is := false
		select {
		case <-h.Acquired():
			is = h.Err() == nil
		default:
		}
		if is != want[i] {
			w.Errorf("hold %d: held: %v, want %v\n%s", i, is, want[i], w.Tree())
		}
	}
}

// events checks how many events the server has sent to each of all since they
// began to count, and has them begin anew. A holder that releases hears of its own
// node's end.
func (w world) events(what string, all []*member, want ...int32) {
	w.Helper()
	var got []int32
	for _, m := range all {
		// What the server has done is told before what it is asked now.
		_, _, err := m.Exists(bg, "/")
		w.Must(err)
		got = append(got, m.events.Load())
		m.count()
	}
	if !slices.Equal(got, want) {
		w.Errorf("%s: events %d, want %d", what, got, want)
	}
	w.Logf("%s: events to each %d", what, got)
}

func (w world) release(h *coord.Hold) {
	w.Helper()
	w.Must(h.Release(bg))
}

var tests = []struct {
	name string
	run  func(w world)
}{
	{"readers share, a writer waits for all of them, and holds back the readers behind it", func(w world) {
		all := w.members(4)
		h := w.queue("rrwr", all, 2)
		w.held(h, true, true, false, false)
		w.Wants(w.Outcome(all[0].TryAcquireRead(bg)), coord.ErrLocked) // behind a writer that waits
		w.Wants(w.Outcome(all[0].TryAcquireWrite(bg)), coord.ErrLocked)
		w.release(h[1]) // whom the writer follows
		w.Eventually("the writer follows the other reader", func() bool { return w.Watches() == 3+2 })
		w.held(h, true, false, false, false)
		w.release(h[0])
		w.Grant(h[2])
		w.held(h, false, false, true, false)
		if h[2].Token() <= max(h[0].Token(), h[1].Token()) {
			w.Errorf("token %d of the writer, after %d and %d of the readers", h[2].Token(), h[0].Token(), h[1].Token())
		}
		w.release(h[2])
		w.Grant(h[3])
		again := all[0].TryAcquireRead(bg)
		w.Grant(again)
		w.release(again)
		w.release(h[3])
	}},
	{"a reader that gives up behind a writer, and a writer that gives up before readers, hold up nobody", func(w world) {
		all := w.members(4)
		first := w.queue("r", all, 0)
		ctx, cancel := context.WithCancel(bg)
		wait := all[1].AcquireWrite(ctx)
		w.Eventually("a writer waits", func() bool { return w.Watches() == 3 })
		late := all[2].AcquireRead(bg)
		w.Eventually("a reader waits", func() bool { return w.Watches() == 5 })
		cancel()
		w.Wants(w.Outcome(wait), context.Canceled)
		w.Grant(late) // beside the first
		w.held(first, true)
		w.release(late)
		w.release(first[0])
	}},
	{"a writer's release lets in all readers up to the next writer, and wakes nobody else", func(w world) {
		all := w.members(6)
		h := w.queue("wrrrwr", all, 5)
		w.held(h, true, false, false, false, false, false)
		expect := func(what string, want ...int32) { w.Helper(); w.events(what, all, want...) }
		for _, m := range all {
			m.count()
		}
		w.release(h[0])
		for _, r := range h[1:4] {
			w.Grant(r)
		}
		w.held(h, false, true, true, true, false, false)
		expect("a writer releases before three readers", 1, 1, 1, 1, 0, 0)
		w.release(h[1])
		w.release(h[2])
		expect("two of three readers release", 0, 1, 1, 0, 0, 0)
		w.release(h[3])
		w.Grant(h[4])
		expect("the last reader releases", 0, 0, 0, 1, 1, 0)
		w.held(h, false, false, false, false, true, false)
		w.release(h[4])
		w.Grant(h[5])
		expect("the next writer releases", 0, 0, 0, 0, 1, 1)
		w.release(h[5])
	}},
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
	{"an upgrade, and a lock within itself, is refused where it can be known, and a try is in any case", func(w world) {
		a := w.member()
		h := a.AcquireRead(bg)
		w.Grant(h)
		w.Wants(w.Outcome(a.AcquireWrite(h.Context(bg))), rwlock.ErrUpgrade)
		w.Wants(w.Outcome(a.TryAcquireWrite(bg)), coord.ErrLocked)
		w.Wants(w.Outcome(a.AcquireRead(h.Context(bg))), rwlock.ErrNested)
		beside := a.AcquireWrite(bg) // of another part of the program, which may wait
		w.Eventually("a writer waits", func() bool { return len(w.Children()) == 2 })
		w.release(h)
		w.Grant(beside)
		w.release(beside)
		w.Must(a.DoRead(bg, func(ctx context.Context, _ *coord.Hold) error {
			w.Wants(a.DoWrite(ctx, func(context.Context, *coord.Hold) error { return errors.New("ran") }), rwlock.ErrUpgrade)
			return nil
		}))
		w.Must(a.DoWrite(bg, func(ctx context.Context, _ *coord.Hold) error {
			w.Wants(w.Outcome(a.AcquireWrite(ctx)), rwlock.ErrUpgrade)
			w.Wants(w.Outcome(a.AcquireRead(ctx)), rwlock.ErrNested)
			other := rwlock.New(a.Client.Client, w.Dir+"-other") // another lock may be had
			defer w.Op().Delete(w.Dir+"-other", -1)
			return other.DoWrite(ctx, func(context.Context, *coord.Hold) error { return nil })
		}))
	}},
	{"readers and writers of Curator and kazoo, and a mutex's contenders, are respected", func(w world) {
		a := w.member()
		w.Must(a.DoWrite(bg, func(context.Context, *coord.Hold) error { return nil }))
		put := func(name string, flags int32) string {
			path, err := w.Op().Create(w.Dir+"/"+name, nil, flags, zk.WorldACL(zk.PermAll))
			w.Must(err)
			return path
		}
		for name, reads := range map[string]bool{
			"_c_5b2a8c1e-93d4-4c75-8f1b-0a4de3a1c0f7-__WRIT__": false, // Curator
			"_c_5b2a8c1e-93d4-4c75-8f1b-0a4de3a1c0f7-__READ__": true,
			"_c_5b2a8c1e-93d4-4c75-8f1b-0a4de3a1c0f7-lock-":    false,
			"0123456789abcdef0123456789abcdef__lock__":         false, // kazoo
			"0123456789abcdef0123456789abcdef__rlock__":        true,
		} {
			node := put(name, zk.FlagEphemeral|zk.FlagSequence)
			w.Wants(w.Outcome(a.TryAcquireWrite(bg)), coord.ErrLocked)
			try := a.TryAcquireRead(bg)
			if reads {
				w.Grant(try)
				w.release(try)
			} else {
				w.Wants(w.Outcome(try), coord.ErrLocked)
			}
			r := a.AcquireRead(bg)
			if !reads {
				w.Eventually("in line", func() bool { return w.Watches() == 2 })
				w.Must(w.Op().Delete(node, -1))
			}
			w.Grant(r)
			w.release(r)
			if reads {
				w.Must(w.Op().Delete(node, -1))
			}
		}
		// Curator downgrades in two steps.
		const id, other = "_c_5b2a8c1e-93d4-4c75-8f1b-0a4de3a1c0f7-__WRIT__", "_c_11111111-93d4-4c75-8f1b-0a4de3a1c0f7-__READ__"
		old := put(id, zk.FlagEphemeral|zk.FlagSequence)
		next, late := a.AcquireWrite(bg), w.member()
		w.Eventually("the writer in line", func() bool { return w.Watches() == 2 })
		low := put(other+old[len(old)-10:], zk.FlagEphemeral)
		w.Must(w.Op().Delete(old, -1))
		behind := late.AcquireRead(bg)
		w.Eventually("the reader in line", func() bool { return w.Watches() == 4 })
		w.held([]*coord.Hold{next, behind}, false, false)
		w.Must(w.Op().Delete(low, -1))
		w.Grant(next)
		w.release(next)
		w.Grant(behind)
		w.release(behind)
	}},
	{"the contenders are listed and followed in order, with what they are", func(w world) {
		a, b := w.member(), w.member()
		ctx, cancel := context.WithCancel(bg)
		defer cancel()
		named := rwlock.New(a.Client.Client, w.Dir, rwlock.Label("ada"))
		line := b.Watch(ctx)
		next := func(want ...string) {
			w.Helper()
			var got []string
			w.Eventually(strings.Join(want, ", "), func() bool {
				select {
				case q := <-line.Updates():
					got = nil
					for _, c := range q.Contenders {
						got = append(got, c.Label+map[bool]string{true: " reads", false: " writes"}[c.Reads]+
							map[bool]string{true: ", revoked"}[c.Revoked])
					}
				default:
				}
				return slices.Equal(got, want)
			})
		}
		h := named.AcquireWrite(bg)
		w.Grant(h)
		next("ada writes")
		behind := b.AcquireRead(bg)
		next("ada writes", " reads")
		w.Must(named.Downgrade(bg, h))
		next("ada reads", " reads")
		for _, node := range w.Children() { // of several that hold together, each can be revoked
			_, err := w.Op().Set(w.Dir+"/"+node, []byte("__REVOKE__"), -1)
			w.Must(err)
		}
		next("ada reads, revoked", " reads, revoked")
		w.Wait("lost", behind.Lost())
		w.Wants(behind.Err(), coord.ErrRevoked)
		w.release(h)
		next(" reads, revoked")
		w.release(behind)
		_, err := rwlock.New(a.Client.Client, "nowhere").Contenders(bg)
		w.Wants(err, coord.ErrInvalidPath)
	}},
}

func TestReadersAndWriters(t *testing.T) {
	harness.Both(t, func(t *testing.T, in harness.Maker) {
		for _, x := range tests {
			t.Run(x.name, func(t *testing.T) {
				in(t, func(in *harness.World) {
					w := world{locktest.In(in, writer)}
					x.run(w)
					if !w.Failed() {
						w.NothingLeft()
					}
				})
			})
		}
	})
}
