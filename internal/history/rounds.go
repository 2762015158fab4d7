package history

import (
	"fmt"
	"time"
)

// lingers is longer than what is left in the ensemble by a client that is dead or cut off.
const lingers = 2 * time.Minute

// rounds checks that a barrier let somebody in only when enough were in at one moment, and
// let nobody out before all of the round had left, of the holds of one barrier.
func (c *checker) rounds(holds []*Hold) {
	var all []*wait
	for _, w := range c.asked {
		if w.ask.Recipe == Barrier && w.ask.Path == holds[0].Path {
			all = append(all, w)
		}
	}
	for _, h := range holds {
		c.enters(h, all)
		c.leaves(h, holds)
	}
}

// enters checks that there is a moment, from when h was asked for until it was acquired, at
// which as many as the barrier has may have been in.
func (c *checker) enters(h *Hold, all []*wait) {
	var near []*wait
	for _, w := range all {
		if w.asked.At <= h.From.At && w.out() >= h.Asked.At {
			near = append(near, w)
		}
	}
	most := 0
	for _, m := range near { // most are in when one has come, h or later
		n, when := 0, max(m.asked.At, h.Asked.At)
		for _, w := range near {
			if w.asked.At <= when && when <= w.out() {
				n++
			}
		}
		most = max(most, n)
	}
	if most < h.N {
		c.violation("barrier", fmt.Sprintf("%s is let in, and at most %d of %d can have been in", h.Proc, most, h.N), h.Asked.I, h.From.I)
	}
}

// out returns the time after which w certainly is not in any more.
func (w *wait) out() time.Duration {
	switch {
	case w.hold != nil && w.hold.Left != Forever:
		return w.hold.Left.At
	case w.over == Forever:
		return w.over.At
	}
	return w.over.At + lingers
}

// leaves checks that all that were in with h have left when its release has returned.
func (c *checker) leaves(h *Hold, holds []*Hold) {
	if h.Left == Forever {
		return
	}
	for _, p := range holds {
		// A later round cannot have begun before h began to leave.
		if p != h && p.From.Before(h.Until) && h.From.Before(p.Until) && h.Left.Before(p.Until) {
			c.violation("barrier", fmt.Sprintf("%s has left, and %s of its round is in", h.Proc, p.Proc), h.From.I, p.From.I, h.Left.I, p.end)
		}
	}
}
