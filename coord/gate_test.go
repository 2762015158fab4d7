package coord

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Requests are admitted in their order, while the gate is open, and maxCalls at a
// time; once it is shut none is, and it is drained when the last one inside is over.
// What was admitted in vain is admitted before all others.
func TestGate(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		g := gate{drained: make(chan struct{})}
		var waiting []*call // as they came
		var inside []*call
		var closed []*call
		shut := false
		for range 400 {
			switch k := r.IntN(10); {
			case k < 5:
				q := new(call)
				g.enter(q)
				waiting = append(waiting, q)
			case k == 5:
				g.open = r.IntN(3) > 0
			case k < 8 && len(inside) > 0:
				i := r.IntN(len(inside))
				g.exit()
				inside = slices.Delete(inside, i, i+1)
			case k == 8 && len(waiting) > 0 && r.IntN(2) == 0:
				i := r.IntN(len(waiting))
				g.cancel(waiting[i])
				waiting = slices.Delete(waiting, i, i+1)
			case k == 8 && !shut && len(inside) > 0:
				n := r.IntN(len(inside)) + 1 // the newest
				again := slices.Clone(inside[len(inside)-n:])
				waiting, inside = append(slices.Clone(again), waiting...), inside[:len(inside)-n]
				g.readmit(again)
			case k == 9 && !shut && r.IntN(80) == 0:
				if closed = g.close(); !slices.Equal(closed, waiting) {
					t.Fatalf("of %d that waited close returned %d", len(waiting), len(closed))
				}
				shut, waiting = true, nil
			}
			for q := g.next(); q != nil; q = g.next() {
				if len(waiting) == 0 || q != waiting[0] {
					t.Fatal("admitted before the first")
				}
				inside, waiting = append(inside, q), waiting[1:]
				if shut || !g.open || len(inside) > maxCalls {
					t.Fatalf("admitted while open %v, shut %v, and %d inside", g.open, shut, len(inside))
				}
			}
			if !shut && g.open && len(waiting) > 0 && len(inside) < maxCalls {
				t.Fatalf("%d wait, and only %d are inside", len(waiting), len(inside))
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
