package semaphore_test

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
)

// Semaphores among znodes that are not open to everyone.
func TestPermissions(t *testing.T) {
	t.Parallel() // it mostly waits
	inBoth(t, permissions)
}

// allow lets the world do only what perms say with the znode name below the semaphore's.
func (w place) allow(name string, perms int32) {
	w.Helper()
	_, err := w.Op().SetACL(w.Dir+name, zk.WorldACL(perms|zk.PermAdmin), -1)
	w.Must(err)
}

var permissions = []scenario{
	{"where the leases may be made but not their directory written to, permits are had, and not too many", func(w place) {
		a, b := w.Client(T), w.Client(T)
		w.Must(w.held(a, 2).Release(bg))
		w.allow("/leases", zk.PermRead|zk.PermCreate|zk.PermDelete)
		h1, h2 := w.held(a, 2), w.held(b, 2)
		if h1.Token() == 0 || h2.Token() <= h1.Token() {
			w.Errorf("tokens %d, %d", h1.Token(), h2.Token())
		}
		next := w.waits(bg, a, 2, 1)
		w.IsOpen("acquired", next.Acquired())
		w.Must(h1.Release(bg))
		w.grant(next)
		w.Must(next.Release(bg))
		w.Must(h2.Release(bg))
	}},
	{"a number that may be read but not written is enough once it is there", func(w place) {
		a := w.Client(T)
		w.Must(w.held(a, 2).Release(bg))
		w.allow("", zk.PermRead|zk.PermCreate|zk.PermDelete)
		w.Must(w.held(a, 2).Release(bg))
		w.WantsOp(w.sem(a, 2).Resize(bg, 3), "resize", w.Dir, coord.ErrNoAuth)
		w.allow("", zk.PermAll)
		w.Set(w.Dir, "")
		w.allow("", zk.PermRead|zk.PermCreate|zk.PermDelete)
		no := w.sem(a, 2).Acquire(bg)
		w.Wants(w.outcome(no), coord.ErrNoAuth)
		w.Wait("done", no.Done())
	}},
	{"what may not be read or made ends the hold with the refusal, and the next is not held up", func(w place) {
		a, b := w.Client(T), w.Client(T)
		w.Must(w.held(a, 1).Release(bg))
		for _, x := range []struct {
			name  string
			perms int32
		}{
			{"", zk.PermAll &^ zk.PermRead},
			{"/leases", zk.PermAll &^ zk.PermRead},
			{"/leases", zk.PermAll &^ zk.PermCreate},
			{"/locks", zk.PermAll &^ zk.PermCreate},
		} {
			w.allow(x.name, x.perms)
			h := w.sem(a, 1).Acquire(bg)
			w.WantsOp(w.outcome(h), "acquire", w.Dir, coord.ErrNoAuth)
			w.Must(h.Release(bg))
			w.allow(x.name, zk.PermAll)
			w.Must(w.held(b, 1).Release(bg))
		}
	}},
	{"a permit that may not be given back is gone with the session, and the release says so", func(w place) {
		a, b := w.Client(T), w.Client(T)
		h := w.held(a, 1)
		next := w.waits(bg, b, 1, 1)
		w.allow("/leases", zk.PermAll&^zk.PermDelete)
		w.WantsOp(h.Release(bg), "release", w.Dir, coord.ErrNoAuth)
		w.IsOpen("acquired", next.Acquired())
		w.Must(a.Close())
		w.grant(next)
		w.allow("/leases", zk.PermAll)
		w.Must(next.Release(bg))
	}},
	{"a place at the gate that may not be given back is gone with the session, and the release says so", func(w place) {
		a, b := w.Client(T), w.Client(T)
		w.Must(w.held(a, 2).Release(bg))
		w.allow("/locks", zk.PermAll&^zk.PermDelete)
		h := w.grant(w.sem(a, 2).Acquire(bg))
		next := w.sem(b, 2).Acquire(bg)
		w.WantsOp(h.Release(bg), "release", w.Dir, coord.ErrNoAuth)
		w.allow("/locks", zk.PermAll)
		w.Must(a.Close())
		w.grant(next)
		w.Must(next.Release(bg))
	}},
}
