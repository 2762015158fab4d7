package rwlock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/locktest"
	"github.com/zkcoord/zkcoord/rwlock"
)

// sharings are what a lock promises to readers and writers.
var sharings = []scenario{
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
	{"the contenders are listed and followed in order, with what they are and which of them hold", func(w world) {
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
							map[bool]string{false: " in line"}[c.Holds]+
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
		next("ada writes", " reads in line")
		w.Must(named.Downgrade(bg, h))
		next("ada reads", " reads")
		writer, third := w.member(), w.member()
		waits := writer.AcquireWrite(bg)
		next("ada reads", " reads", " writes in line")
		last := third.AcquireRead(bg)
		next("ada reads", " reads", " writes in line", " reads in line")
		listed, err := third.Contenders(bg)
		w.Must(err)
		for i, want := range []struct{ reads, holds bool }{{true, true}, {true, true}, {false, false}, {true, false}} {
			if i >= len(listed) || listed[i].Reads != want.reads || listed[i].Holds != want.holds {
				w.Fatalf("contender %d of %+v, want %+v", i, listed, want)
			}
		}
		w.release(waits)
		next("ada reads", " reads", " reads")
		w.release(last)
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
		_, err = rwlock.New(a.Client.Client, "nowhere").Contenders(bg)
		w.Wants(err, coord.ErrInvalidPath)
	}},
}

// A scenario says in its name what is guaranteed.
type scenario struct {
	name string
	run  func(w world)
}

func TestReadersAndWriters(t *testing.T) {
	t.Parallel()
	harness.Both(t, func(t *testing.T, in harness.Maker) {
		for _, x := range slices.Concat(sharings, downgradings) {
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
