package recipes_test

import (
	"context"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/rwlock"
)

// In a directory that a LeaderLatch of Curator uses, or a semaphore, nothing is acquired:
// its participants do not look at ours. Whoever asks for the contenders is told as well.
// The error names what was found, and nothing of ours is left there.
func TestDirectoryOfAnotherRecipe(t *testing.T) {
	harness.Both(t, func(t *testing.T, in harness.Maker) {
		in(t, func(w *harness.World) {
			c := w.Client(harness.Long)
			acquired := func() {
				w.Helper()
				h := lock.New(c.Client, w.Dir).Acquire(bg)
				w.Must(wait(w, hold{h}))
				w.Must(h.Release(bg))
			}
			acquired() // so that the directory is there
			for _, infix := range []string{"-latch-", "-lease-"} {
				path, err := w.Op().Create(w.Dir+"/_c_5b2a8c1e-93d4-4c75-8f1b-0a4de3a1c0f7"+infix, nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
				w.Must(err)
				child := path[len(w.Dir)+1:]
				for _, r := range recipes {
					if !r.queued {
						continue
					}
					h := r.seek(bg, c.Client, w.Dir)
					w.Wait("end of "+r.name, h.Done())
					once(w, h.Err(), coord.ErrForeign)
					if !strings.Contains(h.Err().Error(), child) {
						w.Errorf("%s: %v does not name the child", r.name, h.Err())
					}
				}
				m, rw := lock.New(c.Client, w.Dir), rwlock.New(c.Client, w.Dir)
				for _, contenders := range []func(context.Context) ([]coord.Contender, error){m.Contenders, rw.Contenders} {
					_, err := contenders(bg)
					w.WantsOp(err, "contenders", w.Dir, coord.ErrForeign, child)
				}
				for _, watch := range []func(context.Context) *event.Stream[coord.Contention]{m.Watch, rw.Watch} {
					s := watch(bg)
					w.Wait("end", s.Done())
					w.WantsOp(s.Err(), "watch", w.Dir, coord.ErrForeign, child)
				}
				w.Eventually("nothing of ours is left", func() bool { return len(w.Children(w.Dir)) == 1 })
				// A stream that began before ends when such a child comes.
				w.Delete(path)
				s := m.Watch(bg)
				w.Eventually("a first value", func() bool { _, any := s.Latest(); return any })
				_, err = w.Op().Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
				w.Must(err)
				w.Wait("end", s.Done())
				w.WantsOp(s.Err(), "watch", w.Dir, coord.ErrForeign, child)
				w.Delete(path)
			}
			acquired()
		})
	})
}
