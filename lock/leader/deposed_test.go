package leader_test

import (
	"strings"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// A leader that is deposed while its announcement is under way writes nothing over that of
// the next, and removes nothing of it.
func TestDeposedLeaderWritesNothing(t *testing.T) {
	harness.Bubble(t, func(hw *harness.World) {
		w := place{hw}
		a, b := w.Client(T), w.Client(T)
		var release func()
		a.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if release == nil && f.Dir == coordtest.ToServer && f.Op == "multi" && len(w.Children(w.Dir)) > 0 {
				release = a.Link.Stall(coordtest.ToServer)
			}
			return coordtest.Pass
		})
		ha := w.leads(a, "a")
		w.Rest()
		if release == nil {
			t.Fatal("the announcement has not been stalled")
		}
		hb := w.election(b).Campaign(bg, []byte("b"))
		w.Rest()
		w.Delete(harness.Guard(ha).Path)
		w.Wait("term", hb.Acquired())
		w.Rest()
		if got := w.Get(w.Dir + "-leader"); !strings.HasSuffix(got, "\nb") {
			t.Fatalf("announcement %q", got)
		}
		writes := 0
		b.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Dir == coordtest.ToServer && f.Op == "multi" {
				writes++
			}
			return coordtest.Pass
		})
		release()
		w.Wait("loss", ha.Lost())
		w.Wait("end", ha.Done())
		time.Sleep(time.Second) // of the bubble
		if got := w.Get(w.Dir + "-leader"); !strings.HasSuffix(got, "\nb") || writes > 0 {
			t.Errorf("announcement %q, after %d writes of its leader", got, writes)
		}
		w.Must(hb.Release(bg))
		w.nothingLeft()
	})
}

// A leader that is deposed and is about to remove its announcement removes nothing of the
// next, which has replaced it meanwhile.
func TestDeposedLeaderRemovesNothing(t *testing.T) {
	harness.Bubble(t, func(hw *harness.World) {
		w := place{hw}
		a, b := w.Client(T), w.Client(T)
		stall := func(c *harness.Client, op string) (release func()) {
			var resume func()
			c.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if resume == nil && f.Dir == coordtest.ToServer && f.Op == op {
					resume = c.Link.Stall(coordtest.ToServer)
				}
				return coordtest.Pass
			})
			return func() {
				t.Helper()
				if resume == nil {
					t.Fatalf("no %s has been stalled", op)
				}
				resume()
			}
		}
		ha := w.leads(a, "a")
		w.Rest()
		hb := w.election(b).Campaign(bg, []byte("b"))
		time.Sleep(time.Second) // of the bubble: until a follows its place
		remove, announce := stall(a, "delete"), stall(b, "multi")
		w.Delete(harness.Guard(ha).Path)
		w.Wait("term", hb.Acquired())
		w.Rest()
		announce()
		w.Rest()
		announced := func() {
			t.Helper()
			if got := w.Get(w.Dir + "-leader"); !strings.HasSuffix(got, "\nb") {
				t.Fatalf("announcement %q", got)
			}
		}
		announced()
		writes := 0
		b.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Dir == coordtest.ToServer && f.Op == "multi" {
				writes++
			}
			return coordtest.Pass
		})
		remove()
		w.Wait("end", ha.Done())
		w.Rest()
		if announced(); writes > 0 {
			t.Errorf("%d writes of its leader", writes)
		}
		w.Must(w.election(b).Publish(bg, hb, []byte("also b"))) // it knows the version
		if writes != 1 {
			t.Errorf("%d writes for a new value", writes)
		}
		w.Must(hb.Release(bg))
		w.nothingLeft()
	})
}
