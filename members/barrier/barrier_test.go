package barrier_test

import (
	"testing"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// A scenario says in its name what is guaranteed.
type scenario struct {
	name string
	run  func(w *place)
}

var scenarios = []scenario{
	{"nobody is inside before n are in, and nobody has left before all have", func(w *place) {
		a, b, c := w.Client(T), w.Client(T), w.Client(T)
		ha, hb := w.enter(a, 3, "a"), w.enter(b, 3, "b")
		w.in(2)
		w.pending(ha)
		hc := w.enter(c, 3, "c")
		w.acquired(ha, hb, hc)
		for _, h := range []*coord.Hold{ha, hb, hc} {
			if h.Token() == 0 {
				w.Error("no token")
			}
		}
		w.leaves(ha)
		w.leaves(hb)
		w.IsOpen("done", ha.Done())
		w.IsOpen("done", hb.Done())
		w.release(ha, hb, hc)
		w.Wants(hb.Err(), coord.ErrReleased)
	}},
}

func TestScenarios(t *testing.T) {
	harness.Both(t, func(t *testing.T, in harness.Maker) {
		for _, sc := range scenarios {
			t.Run(sc.name, func(t *testing.T) {
				in(t, func(hw *harness.World) {
					w := &place{hw}
					sc.run(w)
					if !w.Failed() {
						w.nothingLeft()
					}
				})
			})
		}
	})
}
