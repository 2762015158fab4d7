package members_test

import (
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/members"
)

// A missing permission is reported, and only by what needs it. (R24.)
func TestNoPermission(t *testing.T) {
	acl := func(perm int32) []zk.ACL {
		return append(zk.DigestACL(zk.PermAll, "owner", "secret"), zk.ACL{Perms: perm, Scheme: "world", ID: "anyone"})
	}
	me := members.Member{ID: "self", Data: []byte("1")}
	t.Run("to create", func(t *testing.T) {
		bubble(t, func(w *place) {
			w.create(dir, "", 0, world)
			_, err := w.Op().SetACL(dir, zk.WorldACL(zk.PermRead), -1)
			w.Must(err)
			g := members.New(w.client(term), dir)
			h, m := g.Join(bg, me), g.Keep(bg, members.Member{ID: "other"})
			w.WantsOp(h.Wait(), "join", dir+"/self", zk.ErrNoAuth)
			w.Wait("end", m.Done())
			w.WantsOp(m.Err(), "keep", dir+"/other", zk.ErrNoAuth)
			if err := m.SetData(bg, nil); !errors.Is(err, zk.ErrNoAuth) {
				w.Errorf("SetData: %v", err)
			}
			w.Must(m.Leave(bg))
		})
	})
	t.Run("to delete", func(t *testing.T) {
		bubble(t, func(w *place) {
			w.create(dir, "", 0, world)
			_, err := w.Op().SetACL(dir, zk.WorldACL(zk.PermAll&^zk.PermDelete), -1)
			w.Must(err)
			c := w.client(term)
			h, m := w.join(c, "self", ""), w.keep(c, "other", "")
			w.WantsOp(h.Release(bg), "release", dir+"/self", zk.ErrNoAuth)
			if err := m.Leave(bg); !errors.Is(err, zk.ErrNoAuth) {
				w.Errorf("Leave: %v", err)
			}
			if err := m.Leave(bg); !errors.Is(err, zk.ErrNoAuth) { // and again
				w.Errorf("Leave: %v", err)
			}
			w.Must(c.Close())
			if got := w.truth(); got != "" { // with the session at last
				w.Errorf("left: %s", got)
			}
		})
	})
	t.Run("to update", func(t *testing.T) {
		bubble(t, func(w *place) {
			c := w.client(term)
			m := w.keep(c, "self", "1")
			_, err := w.Op().SetACL(dir+"/self", acl(zk.PermAll&^zk.PermWrite), -1)
			w.Must(err)
			w.WantsOp(m.SetData(bg, []byte("2")), "setdata", dir+"/self", zk.ErrNoAuth)
			time.Sleep(time.Minute)
			if s, _ := m.Latest(); !s.In || w.truth() != "self=1" {
				w.Errorf("stands %+v, there is %q", s, w.truth())
			}
			_, err = c.Conn().SetACL(dir+"/self", world, -1)
			w.Must(err)
			w.Must(m.SetData(bg, []byte("3")))
			w.Must(m.Leave(bg))
		})
	})
	t.Run("to list", func(t *testing.T) {
		bubble(t, func(w *place) {
			w.create(dir, "", 0, world)
			_, err := w.Op().SetACL(dir, zk.WorldACL(zk.PermAll&^zk.PermRead), -1)
			w.Must(err)
			g := members.New(w.client(term), dir)
			s := g.Watch(bg)
			w.Wait("end", s.Done())
			w.WantsOp(s.Err(), "watch", dir, zk.ErrNoAuth)
			_, err = g.AwaitN(bg, 1)
			w.WantsOp(err, "awaitn", dir, zk.ErrNoAuth)
			h := g.Join(bg, me) // for which nothing need be listed
			w.Must(h.Wait())
			w.Must(h.Release(bg))
		})
	})
	t.Run("to read one", func(t *testing.T) {
		bubble(t, func(w *place) {
			w.create(dir+"/hidden", "", zk.FlagEphemeral, zk.WorldACL(zk.PermAll&^zk.PermRead))
			w.create(dir+"/hidden2", "", zk.FlagEphemeral, zk.WorldACL(zk.PermAll&^zk.PermRead))
			c := w.client(term)
			r := w.watch(w.client(long), nil)
			m := w.keep(c, "self", "1")
			w.sees(r, "self=1 !")
			if v, _ := r.Latest(); !errors.Is(v.Err, zk.ErrNoAuth) {
				w.Errorf("View.Err is %v", v.Err)
			}
			g := members.New(c, dir)
			_, _, err := g.Find(bg, "hidden")
			w.WantsOp(err, "find", dir+"/hidden", zk.ErrNoAuth)
			s := g.Follow(bg, "hidden")
			w.Wait("end", s.Done())
			w.WantsOp(s.Err(), "follow", dir+"/hidden", zk.ErrNoAuth)
			_, err = g.Await(bg, "hidden")
			w.WantsOp(err, "await", dir+"/hidden", zk.ErrNoAuth)
			w.Must(m.SetData(bg, []byte("2")))
			w.sees(r, "self=2 !")
			w.Must(w.Op().Delete(dir+"/hidden", -1))
			w.Must(w.Op().Delete(dir+"/hidden2", -1))
			w.sees(r, "self=2")
			w.Must(m.Leave(bg))
		})
	})
}
