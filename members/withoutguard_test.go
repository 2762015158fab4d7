package members_test

import (
	"errors"
	"path"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/members"
)

// A client that may not make a guard, or has no room for one, is a member all the same,
// and its Guard lets nothing pass. So is one that may make a guard and not delete it: its
// Guard does its work, its znode goes with its release, which tells of what is left, and
// it joins again.
func TestWithoutGuard(t *testing.T) {
	for _, tt := range []struct {
		name  string
		below string // in which something stands in the way
		perms int32
		flags int32
		stays bool // the guard can be made, and not be deleted
	}{
		{"the guards' directory is closed", "-guard", zk.PermRead, 0, false},
		{"the one of the ID is closed", "-guard/self", zk.PermRead, 0, false},
		{"the one of the ID may be written to by others only", "-guard/self", zk.PermAll &^ zk.PermWrite, 0, false},
		{"the one of the ID hides all", "-guard/self", zk.PermAdmin, 0, false},
		{"nothing may be deleted in the one of the ID", "-guard/self", zk.PermAll &^ zk.PermDelete, 0, true},
		{"another's znode is in the place of that", "-guard/self", zk.PermAll, zk.FlagEphemeral, false},
		{"a group in the root", "", 0, 0, false},
	} {
		for name, in := range map[string]harness.Maker{"fake": harness.Bubble, "real": harness.OnReal} {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				in(t, func(w *harness.World) {
					dir, id := w.Dir, "self"
					if tt.below == "" {
						dir, id = "/", path.Base(w.Dir)
					} else {
						h := members.New(w.Client(harness.T).Client, w.Dir+tt.below).Join(bg, members.Member{ID: "first"})
						w.Must(h.Wait()) // makes the directories
						w.Must(h.Release(bg))
						w.Must(w.Op().Delete(w.Dir+tt.below, -1))
						_, err := w.Op().Create(w.Dir+tt.below, nil, tt.flags, zk.WorldACL(tt.perms))
						w.Must(err)
					}
					g := members.New(w.Client(harness.T).Client, dir)
					node := path.Join(dir, id)
					for range 2 {
						h := g.Join(bg, members.Member{ID: id, Data: []byte("1")})
						w.Must(h.Wait())
						if data, _, err := w.Op().Get(node); err != nil || string(data) != "1" {
							t.Errorf("there is %q, %v", data, err)
						}
						if _, err := w.Op().Multi(harness.Guard(h)); tt.stays && err != nil || !tt.stays && !errors.Is(err, zk.ErrNoNode) {
							t.Errorf("a guarded write: %v", err)
						}
						if err := h.Release(bg); tt.stays && !errors.Is(err, zk.ErrNoAuth) || !tt.stays && err != nil {
							t.Errorf("released with %v", err)
						}
						if there, _, err := w.Op().Exists(node); there || err != nil {
							t.Errorf("there after the release: %t, %v", there, err)
						}

						m := g.Keep(bg, members.Member{ID: id})
						w.Wait("membership", m.Joined())
						w.Must(m.Leave(bg))

						h = g.Join(bg, members.Member{ID: id})
						w.Must(h.Wait())
						w.Must(w.Op().Delete(node, -1))
						w.Wait("end", h.Done())
						if err := h.Err(); !errors.Is(err, coord.ErrDeleted) {
							t.Errorf("ended with %v", err)
						}
					}
				})
			})
		}
	}
}
