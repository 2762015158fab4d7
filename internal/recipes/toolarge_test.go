package recipes_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/members"
	"github.com/zkcoord/zkcoord/rwlock"
)

// Whatever is too large to be stored is coord.ErrTooLarge, whoever finds out, and
// nothing is stored.
func TestTooLargeIsOneError(t *testing.T) {
	harness.Bubble(t, func(w *harness.World) {
		c := w.Client(harness.Long).Client
		const most = 992 << 10
		huge, half := strings.Repeat("x", most+1), strings.Repeat("x", most/2+1)
		label := strings.Repeat("x", 1025)
		hold := func(h *coord.Hold) error {
			w.Wait("end", h.Done())
			return h.Err()
		}
		value := config.New(c, "/value", config.Text())
		tree := config.NewTree(c, "/tree", config.Text())
		kept := members.New(c, "/kept").Keep(bg, members.Member{ID: "a"})
		w.Wait("join", kept.Joined())
		for _, tt := range []struct {
			what string
			err  func() error
		}{
			{"a request", func() error { _, err := c.Create(bg, "/plain", make([]byte, 1<<20), coord.Persistent); return err }},
			{"a value to store", func() error { _, err := value.Store(bg, huge); return err }},
			{"a value to change", func() error {
				_, err := value.Modify(bg, func(string) (string, error) { return huge, nil })
				return err
			}},
			{"a value to publish", func() error { _, err := tree.Publish(bg, map[string]string{"a": huge}, nil); return err }},
			{"values to publish", func() error { _, err := tree.Publish(bg, map[string]string{"a": half, "b": half}, nil); return err }},
			{"data to join with", func() error {
				return hold(members.New(c, "/joined").Join(bg, members.Member{ID: "a", Data: []byte(huge)}))
			}},
			{"data to be kept with", func() error {
				m := members.New(c, "/never").Keep(bg, members.Member{ID: "a", Data: []byte(huge)})
				w.Wait("end", m.Done())
				return m.Err()
			}},
			{"data to set", func() error { return kept.SetData(bg, []byte(huge)) }},
			{"the label of a Mutex", func() error { return hold(lock.New(c, "/lock", lock.Label(label)).Acquire(bg)) }},
			{"the label of an Unqueued", func() error { return hold(lock.NewUnqueued(c, "/unqueued", lock.Label(label)).Acquire(bg)) }},
			{"the label of an RWMutex", func() error { return hold(rwlock.New(c, "/rwlock", rwlock.Label(label)).AcquireRead(bg)) }},
		} {
			err := tt.err()
			if !errors.Is(err, coord.ErrTooLarge) || !errors.As(err, new(*coord.Error)) {
				w.Errorf("%s: %.200v", tt.what, err)
			}
		}
		w.Must(kept.Leave(bg))
		for _, path := range []string{"/plain", "/value", "/tree", "/joined", "/never", "/lock", "/unqueued", "/rwlock"} {
			if _, exists, err := c.Exists(bg, path); exists || err != nil {
				w.Errorf("%s exists: %t, %v", path, exists, err)
			}
		}
	})
}
