package coord

import (
	"math/rand/v2"
	"testing"
)

// Requests are admitted in their order, while the gate is open, and maxCalls at a
// time; once it is shut none is, and it is drained when the last one inside is over.
func TestGate(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		g := gate{drained: make(chan struct{})}
		var waiting []chan struct{} // as they came
		var inside []chan struct{}  // nil for those that did not wait
		shut := false
		for range 100 {
			switch k := r.IntN(10); {
			case k < 4:
				waiting = append(waiting, g.enter())
			case k == 4:
				g.set(r.IntN(3) > 0)
			case k == 5 && !shut:
				g.pass()
				inside = append(inside, nil)
			case k < 8 && len(inside) > 0:
				i := r.IntN(len(inside))
				if ticket := inside[i]; ticket != nil && r.IntN(2) == 0 {
					g.cancel(ticket) // it was admitted, and does not want to any more
				} else {
					g.exit()
				}
				inside = append(inside[:i], inside[i+1:]...)
			case k == 8 && len(waiting) > 0:
				i := r.IntN(len(waiting))
				g.cancel(waiting[i])
				waiting = append(waiting[:i], waiting[i+1:]...)
			case k == 9 && !shut && r.IntN(20) == 0:
				g.close()
				shut = true
			}
			before := len(inside)
			for len(waiting) > 0 && done(waiting[0]) {
				inside, waiting = append(inside, waiting[0]), waiting[1:]
			}
			if len(inside) > before && (shut || !g.open || len(inside) > maxCalls) {
				t.Fatalf("admitted while open %v, shut %v, and %d inside", g.open, shut, before)
			}
			if !shut && g.open && len(waiting) > 0 && len(inside) < maxCalls {
				t.Fatalf("%d wait, and only %d are inside", len(waiting), len(inside))
			}
			for i, ticket := range waiting {
				if done(ticket) {
					t.Fatalf("number %d of those waiting is admitted before the first", i)
				}
			}
			if want := shut && len(inside) == 0; done(g.drained) != want {
				t.Fatalf("drained %v with %d inside, shut %v", !want, len(inside), shut)
			}
		}
	}
}

func done(ch chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
