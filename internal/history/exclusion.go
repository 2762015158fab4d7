package history

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
)

// exclusion checks that nobody held beside one that excluded it, of the holds of one path,
// and takes the margins.
func (c *checker) exclusion(holds []*Hold) {
	var present []*Hold        // that were not told yet
	var last, lastWriter *Hold // the last of those that were told
	for _, h := range holds {
		present = slices.DeleteFunc(present, func(p *Hold) bool {
			over := !h.From.Before(p.Told)
			if over && (last == nil || last.Told.Before(p.Told)) {
				last = p
			}
			if over && p.writes() && (lastWriter == nil || lastWriter.Told.Before(p.Told)) {
				lastWriter = p
			}
			return over
		})
		for _, p := range present {
			c.beside(p, h)
		}
		before := last
		if !h.writes() {
			before = lastWriter
		}
		if before != nil {
			if before.Proc != h.Proc || before.Op != h.Op {
				c.HandOvers[h.Recipe]++
			}
			// A writer that was downgraded let readers in before its end.
			if h.writes() || before.Shared == before.Told {
				c.margin(before, h)
			}
		}
		present = append(present, h)
	}
}

// beside checks p and h, of which h was acquired before p knew better than to hold.
func (c *checker) beside(p, h *Hold) {
	if !h.writes() && (!p.writes() || !h.From.Before(p.Shared)) {
		return // both read
	}
	if h.From.Before(p.Until) && h.certain() {
		c.violation("exclusion", fmt.Sprintf("%s acquires %s %s, which %s holds", h.Proc, h.Recipe, h.Path, p.Proc), p.From.I, h.From.I, p.end)
		c.margin(p, h)
	} else if p.Excuse != "" || h.Excuse != "" {
		c.Excused++
	}
}

// permits checks that no more held than there are permits, of the holds of one semaphore.
func (c *checker) permits(holds []*Hold) {
	var present, told []*Hold // told: that were told, the last of them first
	for _, h := range holds {
		present = slices.DeleteFunc(present, func(p *Hold) bool {
			over := !h.From.Before(p.Told)
			if over {
				i, _ := slices.BinarySearchFunc(told, p, func(a, b *Hold) int { return cmp.Compare(b.Told.At, a.Told.At) })
				told = slices.Insert(told, i, p)
			}
			return over
		})
		// The number may have been changed. Each was let in by the number that it names.
		n := h.N
		certain, shown := 1, []int{h.From.I}
		for _, p := range present {
			if h.From.Before(p.Until) {
				n = max(n, p.N)
				certain++
				shown = append(shown, p.From.I, p.end)
			}
		}
		switch {
		case certain > n && h.certain():
			c.violation("permits", fmt.Sprintf("%s is number %d with one of the %d permits of %s", h.Proc, certain, n, h.Path), shown...)
		case 1+len(present) > n:
			c.Excused++
		}
		// It was let in when all but n-1 had left: the margin is since then.
		if k := h.N - len(present); k >= 1 && k <= len(told) {
			c.margin(told[k-1], h)
			c.HandOvers[Semaphore]++
		}
		told = told[:min(len(told), max(h.N, 64))]
		present = append(present, h)
	}
}

// tokens checks that of two holders of a path the later has the greater token. One is later
// if it asked when the other held already, or if the two exclude each other. The tokens of
// those that share are in no other order.
func (c *checker) tokens(holds []*Hold) {
	greatest := make([]*Hold, 0, len(holds)) // of those so far
	var all, writer *Hold
	for _, h := range holds {
		if h.Token == 0 && h.Recipe != Barrier {
			c.violation("tokens", fmt.Sprintf("%s has no token", h.Proc), h.From.I)
		}
		i := sort.Search(len(greatest), func(i int) bool { return !holds[i].From.Before(h.Asked) })
		var before *Hold // that with the greatest token
		if i > 0 {
			before = greatest[i-1]
		}
		switch {
		case h.Recipe == Semaphore || h.Recipe == Barrier || !h.certain():
		case h.writes():
			before = greater(before, all)
		default:
			before = greater(before, writer)
		}
		if before != nil && before.Token >= h.Token && h.Token != 0 {
			c.violation("tokens", fmt.Sprintf("%s has token %#x, and before it %s had %#x", h.Proc, h.Token, before.Proc, before.Token), before.From.I, h.Asked.I, h.From.I)
		}
		all = greater(all, h)
		if h.writes() {
			writer = greater(writer, h)
		}
		greatest = append(greatest, all)
	}
}

// greater returns that with the greater token. Nil has none.
func greater(a, b *Hold) *Hold {
	if a == nil || b != nil && b.Token > a.Token {
		return b
	}
	return a
}
