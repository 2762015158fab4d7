package lock_test

import (
	"context"
	"errors"
	"path"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/locktest"
	"github.com/zkcoord/zkcoord/internal/queue"
	"github.com/zkcoord/zkcoord/lock"
)

// Locks among znodes that are not open to everyone.
func TestPermissions(t *testing.T) { inBoth(t, mutex, permissions, nothingLeft) }

// guarded makes the lock's directory, which lets the world do only what perms
// say, and returns what deletes it.
func guarded(w place, perms int32) (remove func()) {
	w.Helper()
	s := w.Operator().Kit().Session()
	w.Must(s.InDir(bg, path.Dir(w.Dir), func() error {
		_, err := s.Create(bg, w.Dir, nil, coord.Persistent, coord.ACL{Perms: perms, Scheme: "world", ID: "anyone"})
		return err
	}))
	return func() {
		w.Helper()
		w.Must(w.Op().Delete(w.Dir, -1))
	}
}

var permissions = []scenario{
	{"where batons may not be made a crowd does without; where they may not be removed, they are gone with the session", func(w place) {
		batons := w.Dir + "-batons"
		w.Must(w.Held(w.Operator()).Release(bg)) // so that the directory above is there
		for i, perms := range []int32{zk.PermRead | zk.PermDelete, zk.PermRead | zk.PermCreate, zk.PermRead | zk.PermDelete, zk.PermRead | zk.PermCreate} {
			late := i > 1
			_, err := w.Op().Create(batons, nil, 0, zk.WorldACL(perms))
			w.Must(err)
			var clients []*locktest.Client
			var holds []*coord.Hold
			for i := range 4 {
				c := w.Client(T)
				if late {
					queue.BatonsBehind(c.Client, 1)
				} else {
					queue.ExpectCrowd(c.Client, w.Dir)
				}
				clients, holds = append(clients, c), append(holds, w.Behind(c, i+1))
			}
			for i, h := range holds {
				w.Grant(h)
				if perms&zk.PermDelete != 0 || late && i == 0 { // the first has no baton
					w.Must(h.Release(bg))
				} else {
					w.Wants(h.Release(bg), zk.ErrNoAuth)
					w.Must(clients[i].Close())
				}
			}
			w.Eventually("no batons", func() bool { return len(w.World.World.Children(batons)) == 0 })
			w.Must(w.Op().Delete(batons, -1))
		}
	}},
	{"a client's ACL guards its contenders and its directories, also below a chroot", func(w place) {
		defer guarded(w, zk.PermAll)()
		acl := zk.DigestACL(zk.PermAll, "user", "secret")
		a := w.Dial(nil, &coord.Options{
			SessionTimeout: T,
			Auth:           []coord.Auth{{Scheme: "digest", Credential: []byte("user:secret")}},
			ACL:            []coord.ACL{coord.Auth{Scheme: "digest", Credential: []byte("user:secret")}.ACL(coord.PermAll)},
			Chroot:         w.Dir,
		})
		const dir = "/deep/lock"
		ha := w.Acquire(bg, a.Client, dir)
		w.Grant(ha)
		hb := w.Acquire(bg, a.Client, dir)
		full := a.FullPath(dir)
		if full != w.Dir+dir {
			w.Errorf("full path %s", full)
		}
		var names []string
		w.Eventually("two in the queue", func() bool {
			var err error
			names, _, err = a.Conn().Children(full)
			w.Must(err)
			return len(names) == 2
		})
		for _, path := range []string{w.Dir + "/deep", full, full + "/" + names[0], full + "/" + names[1]} {
			got, _, err := a.Conn().GetACL(path)
			w.Must(err)
			if len(got) != 1 || got[0] != acl[0] {
				w.Errorf("ACL of %s: %v, want %v", path, got, acl)
			}
		}
		if _, _, err := w.Op().Children(full); !errors.Is(err, zk.ErrNoAuth) {
			w.Errorf("the directory is open to others: %v", err)
		}
		w.Must(ha.Release(bg))
		w.Grant(hb)
		w.Must(hb.Release(bg))
		w.Must(a.Conn().Delete(full, -1))
		w.Must(a.Conn().Delete(w.Dir+"/deep", -1))
	}},
	{"a directory that may not be written to serves as well, if znodes may be created there", func(w place) {
		defer guarded(w, zk.PermAll&^zk.PermWrite)()
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.Queued(bg, b, 2)
		w.Taken(a)
		w.IsOpen("acquired", hb.Acquired())
		w.Must(ha.Release(bg))
		w.Grant(hb)
		if ha.Token() >= hb.Token() || ha.Token() == 0 {
			w.Errorf("tokens %d, %d", ha.Token(), hb.Token())
		}
		w.Must(hb.Release(bg))
	}},
	{"a release that the ensemble refuses says so, ends as a release, and the znode goes with the session (R6)", func(w place) {
		defer guarded(w, zk.PermAll&^zk.PermDelete)()
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.Queued(bg, b, 2)
		w.Wants(ha.Release(bg), zk.ErrNoAuth)
		w.IsClosed("done", ha.Done())
		w.Wants(ha.Err(), coord.ErrReleased)
		w.IsOpen("lost", ha.Lost())
		w.IsOpen("acquired", hb.Acquired())
		if n := len(w.Children()); n != 2 {
			w.Errorf("%d children", n)
		}
		w.Must(a.Close())
		w.Grant(hb)
		w.Must(b.Close())
		w.Eventually("nobody left", func() bool { return len(w.Children()) == 0 })
	}},
	{"Do's error has both the work's and a refused release (R6)", func(w place) {
		defer guarded(w, zk.PermAll&^zk.PermDelete)()
		a := w.Client(T)
		err := lock.New(a.Client, w.Dir).Do(bg, func(context.Context, *coord.Hold) error { return errMine })
		w.Wants(err, errMine)
		w.Wants(err, zk.ErrNoAuth)
		if errors.Is(err, coord.ErrReleased) {
			w.Errorf("the release itself is in the error: %v", err)
		}
		w.Must(a.Close())
		w.Eventually("nobody left", func() bool { return len(w.Children()) == 0 })
	}},
	{"a directory in which nothing may be created refuses contenders", func(w place) {
		defer guarded(w, zk.PermAll&^zk.PermCreate)()
		a := w.Client(T)
		for _, h := range []*coord.Hold{w.Acquire(bg, a.Client, w.Dir), w.Try(bg, a.Client, w.Dir)} {
			w.Wants(w.Outcome(h), zk.ErrNoAuth)
			w.Wait("done", h.Done())
			w.Must(h.Release(bg))
		}
		w.Wants(lock.New(a.Client, w.Dir).Do(bg, uncalled(w)), zk.ErrNoAuth)
	}},
}
