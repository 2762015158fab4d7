package semaphore_test

import (
	"context"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/lock/semaphore"
)

func TestDirectory(t *testing.T) {
	t.Parallel() // it mostly waits
	inBoth(t, directories)
}

// put makes a znode below the semaphore's directory, for somebody else.
func (w place) put(name, data string, flags int32) string {
	w.Helper()
	path, err := w.Op().Create(w.Dir+name, []byte(data), flags, zk.WorldACL(zk.PermAll))
	w.Must(err)
	return path
}

// directories is what may be in the directory already, or change there.
var directories = []scenario{
	{"the first contender writes the number, and a number that is there is kept", func(w place) {
		c := w.Client(T)
		h := w.held(c, 3)
		if got := w.Get(w.Dir); got != "3" {
			w.Errorf("data %q", got)
		}
		w.Must(h.Release(bg))
		w.Set(w.Dir, "4")
		w.Wants(w.outcome(w.sem(c, 3).Acquire(bg)), semaphore.ErrPermits)
		w.Must(w.held(c, 4).Release(bg))
	}},
	{"a directory of which the number is missing gets one, as one that Curator has made", func(w place) {
		c := w.Client(T)
		w.Must(w.held(c, 2).Release(bg))
		w.Set(w.Dir, "")
		w.Must(w.held(c, 5).Release(bg))
		if got := w.Get(w.Dir); got != "5" {
			w.Errorf("data %q", got)
		}
	}},
	{"a contender that loses the gate while it asks for a permit gets none", func(w place) {
		a := w.Client(T)
		w.Must(w.held(a, 1).Release(bg)) // so that the directories are there
		met := false
		a.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if !met && f.Op == "multi" && f.Dir == coordtest.ToServer && len(w.queue()) == 1 {
				met = true
				w.Delete(w.Dir + "/locks/" + w.queue()[0])
			}
			return coordtest.Pass
		})
		h := w.sem(a, 1).Acquire(bg)
		w.Wants(w.outcome(h), coord.ErrDeleted)
		w.Wait("done", h.Done())
		a.Link.OnFrame(nil)
		if n := len(w.leases()); !met || n > 0 {
			w.Errorf("asked for a permit: %v; %d leases", met, n)
		}
	}},
	{"data that are no number are refused with a clear error, and stay", func(w place) {
		c := w.Client(T)
		w.Must(w.held(c, 2).Release(bg))
		for _, data := range []string{"hunter2", "2x", "-1", "0", "99999999999999999999", "\x00\x00\x00\x02"} {
			w.Set(w.Dir, data)
			h := w.sem(c, 2).Acquire(bg)
			w.Wants(w.outcome(h), coord.ErrForeign)
			w.WantsOp(h.Err(), "acquire", w.Dir, coord.ErrForeign, "no number of permits")
			if text := h.Err().Error(); strings.Contains(text, "hunter") {
				w.Errorf("a secret: %s", text)
			}
			w.WantsOp(w.sem(c, 2).Resize(bg, 3), "resize", w.Dir, coord.ErrForeign)
			_, err := w.sem(c, 2).Contenders(bg)
			w.WantsOp(err, "contenders", w.Dir, coord.ErrForeign)
			watch := w.sem(c, 2).Watch(bg)
			w.Wait("end of the watch", watch.Done())
			w.WantsOp(watch.Err(), "watch", w.Dir, coord.ErrForeign)
			if got := w.Get(w.Dir); got != data {
				w.Errorf("data %q", got)
			}
			w.Wait("done", h.Done())
		}
		w.Must(c.Close())
	}},
	{"the directory of a lock or of kazoo's semaphore is refused, naming what is there", func(w place) {
		c := w.Client(T)
		w.Must(w.held(c, 2).Release(bg))
		for _, name := range []string{
			"_c_5b2a8c1e-93d4-4c75-8f1b-0a4de3a1c0f7-latch-0000000007",  // of Curator's LeaderLatch
			"abcdefghijklm-lease-0000000007",                            // of a semaphore: its directory of leases
			"0123456789abcdef0123456789abcdef",                          // a lease of kazoo's semaphore
			"0123456789abcdef0123456789abcdef__lock__0000000000",        // a contender for its lock
			"_c_5b2a8c1e-93d4-4c75-8f1b-0a4de3a1c0f7-lock-0000000007",   // and for Curator's
			"_c_5b2a8c1e-93d4-4c75-8f1b-0a4de3a1c0f7-__READ__000000007", // no name of Curator's: one digit is missing
		} {
			ctx, cancel := context.WithCancel(bg)
			before := w.sem(c, 2).Watch(ctx)
			w.Eventually("watched", func() bool {
				_, any := before.Latest()
				return any
			})
			path := w.put("/"+name, "", 0)
			h := w.sem(c, 2).Acquire(bg)
			if strings.HasSuffix(name, "__000000007") {
				w.Must(w.grant(h).Release(bg))
				w.Must(before.Err())
			} else {
				w.WantsOp(w.outcome(h), "acquire", w.Dir, coord.ErrForeign, name)
				w.WantsOp(w.sem(c, 2).Resize(bg, 3), "resize", w.Dir, coord.ErrForeign, name)
				_, err := w.sem(c, 2).Contenders(bg)
				w.WantsOp(err, "contenders", w.Dir, coord.ErrForeign, name)
				for _, watch := range []*event.Stream[semaphore.View]{before, w.sem(c, 2).Watch(bg)} {
					w.Wait("end of the watch", watch.Done())
					w.WantsOp(watch.Err(), "watch", w.Dir, coord.ErrForeign, name)
				}
			}
			w.Wait("done", h.Done())
			cancel()
			w.Delete(path)
		}
		w.Must(w.held(c, 2).Release(bg))
	}},
	{"the directory of kazoo's semaphore is refused before it has any part of ours", func(w place) {
		c := w.Client(T)
		w.Must(w.held(w.Client(T), 2).Release(bg)) // makes what is above it
		dir := w.Dir + "/kazoos"
		lease := dir + "/0123456789abcdef0123456789abcdef"
		w.Create(dir, "2")
		w.Create(lease, "")
		w.Wants(w.outcome(semaphore.New(c.Client, dir, 2).Acquire(bg)), coord.ErrForeign)
		w.Delete(lease)
		w.Must(w.grant(semaphore.New(c.Client, dir, 2).Acquire(bg)).Release(bg))
		w.Eventually("its directory gone", func() bool { w.Sweep(dir); return !w.Exists(dir) })
	}},
	{"a child of the leases counts as one, whatever its name", func(w place) {
		c := w.Client(T)
		w.Must(w.held(c, 2).Release(bg))
		h := w.held(c, 2)
		path := w.put("/leases/_c_5b2a8c1e-93d4-4c75-8f1b-0a4de3a1c0f7-lease-", "", zk.FlagEphemeral|zk.FlagSequence)
		next := w.waits(bg, c, 2, 1)
		w.IsOpen("acquired", next.Acquired())
		w.Delete(path)
		w.grant(next)
		path = w.put("/leases/odd", "", 0)
		w.Must(next.Release(bg))
		w.Wants(w.outcome(w.sem(c, 2).TryAcquire(bg)), coord.ErrLocked)
		w.Delete(path)
		w.Must(h.Release(bg))
	}},
	{"more permits than before are given out at once to those that know it", func(w place) {
		a, b := w.Client(T), w.Client(T)
		h := w.held(a, 1)
		old := w.waits(bg, b, 1, 1)
		known := w.waits(bg, a, 2, 2)
		w.Must(w.sem(a, 1).Resize(bg, 2))
		w.Wants(w.outcome(old), semaphore.ErrPermits)
		w.grant(known)
		w.Must(h.Err())
		w.Wants(w.outcome(w.sem(b, 1).Acquire(bg)), semaphore.ErrPermits)
		w.Must(h.Release(bg))
		w.Must(known.Release(bg))
	}},
	{"with fewer permits than before the holders keep theirs, and none is given out before they are fewer", func(w place) {
		a, b := w.Client(T), w.Client(T)
		holds := []*coord.Hold{w.held(a, 3), w.held(a, 3), w.held(a, 3)}
		w.Must(w.sem(b, 3).Resize(bg, 1))
		next := w.waits(bg, b, 1, 1)
		for _, h := range holds {
			w.Must(h.Err())
			w.IsOpen("acquired", next.Acquired())
			w.Must(h.Release(bg))
		}
		w.grant(next)
		w.Must(next.Release(bg))
	}},
	{"a directory can be sized before it is used, and to the same number again", func(w place) {
		c := w.Client(T)
		for range 2 {
			w.Must(w.sem(c, 1).Resize(bg, 7))
		}
		if got := w.Get(w.Dir); got != "7" {
			w.Errorf("data %q", got)
		}
		w.Must(w.held(c, 7).Release(bg))
	}},
	{"leases that are deleted with their directory are lost, and others are had", func(w place) {
		a, b := w.Client(T), w.Client(T)
		h := w.held(a, 1)
		next := w.waits(bg, b, 1, 1)
		leases := w.Dir + "/leases"
		lease := w.World.Children(leases)[0]
		_, err := w.Op().Multi( // at once, or else the next has a lease in between
			&zk.DeleteRequest{Path: leases + "/" + lease, Version: -1}, &zk.DeleteRequest{Path: leases, Version: -1})
		w.Must(err)
		w.Wait("lost", h.Lost())
		w.Wants(h.Err(), coord.ErrDeleted)
		w.grant(next)
		if next.Token() <= h.Token() {
			w.Errorf("token %d after %d, because the numbers began again", next.Token(), h.Token())
		}
		w.Must(next.Release(bg))
	}},
}
