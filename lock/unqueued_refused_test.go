package lock_test

import (
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/locktest"
	"github.com/zkcoord/zkcoord/lock"
)

// Where guards can be made and not be deleted, a release frees the path, tells of what
// is left, and the lock is not held again while the earlier guard is in force.
func TestGuardStays(t *testing.T) {
	harness.Both(t, func(t *testing.T, in harness.Maker) {
		in(t, func(world *harness.World) {
			w := place{locktest.In(world, unqueued)}
			c := w.Client(T)
			w.Must(w.Held(c).Release(bg)) // makes the directories
			_, err := w.Op().SetACL(w.Dir+"-guard", zk.WorldACL(zk.PermAll&^zk.PermDelete), -1)
			w.Must(err)
			h := w.Held(c)
			if err := h.Release(bg); !errors.Is(err, zk.ErrNoAuth) {
				t.Errorf("released with %v", err)
			}
			if w.Exists(w.Dir) || len(w.guards()) != 1 {
				t.Errorf("there after the release: %t, guards %q", w.Exists(w.Dir), w.guards())
			}
			next := lock.NewUnqueued(w.Client(T).Client, w.Dir).Acquire(bg)
			if err := next.Wait(); !errors.Is(err, zk.ErrNoAuth) {
				t.Errorf("held, with %v, beside a guard in force", err)
			}
			_ = next.Release(bg)
			if w.Exists(w.Dir) {
				t.Error("the znode of one that was refused the lock is left")
			}
			_, err = w.Op().SetACL(w.Dir+"-guard", zk.WorldACL(zk.PermAll), -1)
			w.Must(err)
			last := w.Held(w.Client(T))
			if _, err := w.Op().Multi(harness.Guard(h)); !errors.Is(err, zk.ErrNoNode) {
				t.Errorf("a stale holder's write: %v", err)
			}
			w.Must(last.Release(bg))
		})
	})
}
