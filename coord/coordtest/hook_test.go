package coordtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/jute"
)

// TestHook calls the link's own methods from the hook.
func TestHook(t *testing.T) {
	bubble(t, func(t *testing.T, s *coordtest.Server, w *world) {
		r := w.session()
		var heal func()
		w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if heal == nil {
				heal = w.link.Stall(coordtest.ToServer)
			}
			return coordtest.Pass
		})
		r.create("/root/held")
		synctest.Wait()
		equal(t, "tree", s.Tree(), "/root \"\"\n")
		heal()
		equal(t, "answered", r.hears(1), true)

		// A hook that waits holds up the other frames, not the bubble's time.
		w.link.OnFrame(func(coordtest.Frame) coordtest.Action {
			time.Sleep(time.Second)
			return coordtest.Pass
		})
		second := w.raw()
		second.send(int32(0), int64(0), int32(4000), int64(0), []byte{})
		start := time.Now()
		r.send(int32(5), jute.OpExists, "/root", false)
		_, err := r.receive()
		must(t, err)
		if d := time.Since(start); d < 2*time.Second || d > 4*time.Second {
			t.Errorf("answered after %v", d)
		}
		w.link.OnFrame(func(coordtest.Frame) coordtest.Action {
			w.link.Reset()
			return coordtest.Pass
		})
		equal(t, "answered", r.answered(6), false)
	})
}

// A hook is not asked about a frame that was lost while the hook was busy with another.
func TestHookIsNotAskedAboutWhatIsLost(t *testing.T) {
	bubble(t, func(t *testing.T, s *coordtest.Server, w *world) {
		first, second := w.session(), w.session()
		var asked []int
		w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			asked = append(asked, f.N)
			time.Sleep(time.Second)
			w.link.Reset()
			return coordtest.Pass
		})
		first.send(int32(5), jute.OpExists, "/root", false)
		second.send(int32(5), jute.OpExists, "/root", false)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		equal(t, "frames that the hook was asked about", len(asked), 1)
		var next int
		w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if next == 0 {
				next = f.N
			}
			return coordtest.Pass
		})
		w.session()
		equal(t, "number of the next", next, asked[0]+1)
	})
}
