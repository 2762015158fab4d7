package leader_test

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
)

func TestPermissions(t *testing.T) {
	t.Parallel()
	inBoth(t, []scenario{
		{"an observer that may not list the queue sees who announces itself, and that nobody does", func(w place) {
			a, o := w.Client(T), w.Client(T)
			w.Must(w.leads(a, "").Release(bg)) // so that the directory is there
			acl := func(perms int32) {
				w.Helper()
				_, err := w.Op().SetACL(w.Dir, zk.WorldACL(perms), -1)
				w.Must(err)
			}
			h := w.leads(a, "value")
			acl(zk.PermAll &^ zk.PermRead)
			view := w.watch(o)
			view.sees(by("value", h))
			w.Must(h.Release(bg))
			view.sees("nobody")
			late := w.watch(o)
			late.sees("nobody")
			h = w.leads(a, "again") // a free queue need not be listed
			view.sees(by("again", h))
			late.sees(by("again", h))
			_, err := w.election(o).Leader(bg)
			w.Must(err)
			w.Must(h.Release(bg))
			_, err = w.election(o).Leader(bg)
			w.WantsOp(err, "leader", w.Dir, coord.ErrNoAuth)
			acl(zk.PermAll)
		}},
		{"an observer that may not read the announcement goes by the queue, and one that may read neither is told", func(w place) {
			o := w.Client(T)
			w.Must(w.leads(o, "").Release(bg)) // so that the directory is there, and open
			auth := coord.Auth{Scheme: "digest", Credential: []byte("user:password")}
			a := w.Dial(nil, &coord.Options{SessionTimeout: T, Auth: []coord.Auth{auth}, ACL: []coord.ACL{auth.ACL(coord.PermAll)}})
			h := w.leads(a, "value")
			w.Eventually("the announcement", func() bool { return w.Exists(w.Dir + "-leader") })
			view := w.watch(o)
			view.sees(by("label ", h))
			v, err := w.election(o).Leader(bg)
			w.Must(err)
			if v.Leader.Token != h.Token() || v.Value != nil || v.Leader.Session != a.Kit().Session().ID() {
				w.Errorf("leader %+v", v)
			}
			own := w.watch(a)
			own.sees(by("value", h))
			hidden := place{w.At(w.Dir + "-hidden")}
			other := hidden.leads(a, "hidden")
			hidden.watch(a).sees(by("hidden", other))
			ended := hidden.watch(o)
			w.Wait("end of the observer", ended.Done())
			w.WantsOp(ended.Err(), "watch", hidden.Dir, coord.ErrNoAuth)
			w.Must(other.Release(bg))
			w.Must(h.Release(bg))
			view.sees("nobody")
		}},
		{"a leader that may not delete its znode in the queue resigns, and is told that it stays", func(w place) {
			c := w.Client(T)
			k := w.election(c).Keep(bg, nil)
			w.stands(k, "leads", leads)
			_, err := w.Op().SetACL(w.Dir, zk.WorldACL(zk.PermAll&^zk.PermDelete), -1)
			w.Must(err)
			for range 2 {
				w.WantsOp(k.Resign(bg), "resign", w.Dir, coord.ErrNoAuth)
			}
			w.WantsOp(k.Err(), "keep", w.Dir, coord.ErrReleased)
			_, err = w.Op().SetACL(w.Dir, zk.WorldACL(zk.PermAll), -1)
			w.Must(err)
			w.Must(c.Close())
		}},
	})
}
