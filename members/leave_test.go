package members_test

import (
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// Leave does not wait for the ensemble longer than for the end of the session as far
// as the client is concerned. The ensemble may find that later, and so the znode be
// seen for a while yet; but it goes, and nothing comes after it. (R4, R29)
func TestLeaveWhileCutOff(t *testing.T) {
	for name, late := range map[string]bool{"before the lease ends": false, "after it": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *place) {
				w.create(dir+"/other", "", 0, world)
				c := w.client(term)
				m := w.keep(c, "self", "1")
				old := c.Kit().Session().ID()
				over := c.Kit().Session().Done()
				heal := w.Fake.Stall(c, coordtest.Both)
				if late {
					w.expired(c, old)
				}
				began := time.Now()
				w.Must(m.Leave(briefly()))
				took := time.Since(began)
				select {
				case <-over:
				default:
					w.Error("left in a session that is not over")
				}
				if late && took > 0 || took > term {
					w.Errorf("Leave took %v", took)
				}
				w.Wait("end", m.Done())
				w.WantsOp(m.Err(), "keep", dir+"/self", coord.ErrReleased)
				if w.owner("self") != old {
					w.Fatal("the znode is gone: nothing was tested")
				}
				heal()
				time.Sleep(2 * term)
				if got := w.truth(); got != "" {
					w.Errorf("left: %s", got)
				}
			})
		})
	}
}
