package history

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// fencing checks that a store which compares tokens took no write after one with a greater
// token, of the operations of one path.
func (c *checker) fencing(ops []*Operation) {
	var done []*Operation // by their answers
	for _, o := range ops {
		if o.F == Fenced && o.Outcome == OK {
			done = append(done, o)
		}
	}
	calls := slices.Clone(done)
	slices.SortFunc(done, func(a, b *Operation) int { return cmp.Compare(a.end, b.end) })
	var greatest *Operation // of those that had returned
	for _, o := range calls {
		for len(done) > 0 && done[0].Returned.Before(o.Called) {
			if greatest == nil || done[0].Token > greatest.Token {
				greatest = done[0]
			}
			done = done[1:]
		}
		if greatest != nil && o.Token < greatest.Token {
			c.violation("fencing", fmt.Sprintf("%s took a write of %s with token %#x, after one with %#x", o.Path, o.Proc, o.Token, greatest.Token),
				greatest.Called.I, greatest.end, o.Called.I, o.end)
		}
	}
}

// guards checks that no guarded write was done after another had acquired what its hold was,
// and that none was refused while that was held.
func (c *checker) guards() {
	type key struct {
		proc  string
		token int64
	}
	of := make(map[key]*Hold)
	for _, h := range c.holds {
		of[key{h.Proc, h.Token}] = h
	}
	paths := make(map[string][]*Hold) // by recipe and path
	for _, h := range c.holds {
		paths[h.Recipe+" "+h.Path] = append(paths[h.Recipe+" "+h.Path], h)
	}
	for _, o := range c.ops {
		if o.F != Guarded {
			continue
		}
		h := of[key{o.Proc, o.Token}]
		if h == nil {
			c.violation("malformed", fmt.Sprintf("%s has no hold with token %#x", o.Proc, o.Token), o.Called.I)
			continue
		}
		switch o.Outcome {
		case OK:
			c.passed(o, h, paths[h.Recipe+" "+h.Path])
		case Refused:
			// What was held, and released later, was there all the time.
			kept := h.Ended == Release && h.Excuse == "" && h.Shared == h.Told
			if kept && h.From.Before(o.Called) && o.Returned.Before(h.Until) && h.Recipe != Members && strings.Contains(o.err, "not held") {
				c.violation("guards", fmt.Sprintf("a write of %s was refused while it held %s %s", o.Proc, h.Recipe, h.Path), h.From.I, o.Called.I, o.end, h.end)
			}
		}
	}
}

// passed checks that nobody that excludes h, of the holds of its path, held before o was called,
// which has succeeded with h's Guard.
func (c *checker) passed(o *Operation, h *Hold, holds []*Hold) {
	switch h.Recipe {
	case Barrier: // nobody excludes anybody
		return
	case Semaphore:
		c.passedBeside(o, h, holds)
		return
	}
	alone := h.writes() && (h.Shared == h.Told || o.Returned.Before(h.Shared)) // h was not downgraded by then
	later := holds[sort.Search(len(holds), func(i int) bool { return h.From.Before(holds[i].From) }):]
	for _, p := range later {
		if !p.From.Before(o.Called) {
			return
		}
		if p.certain() && (alone || p.writes()) {
			c.violation("guards", fmt.Sprintf("a write of %s passed the guard of %s %s after %s had acquired it", o.Proc, h.Recipe, h.Path, p.Proc),
				h.From.I, p.From.I, o.Called.I, o.end)
			return
		}
	}
}

// passedBeside checks that there was a permit left for h when o was done, which has succeeded
// with h's Guard.
func (c *checker) passedBeside(o *Operation, h *Hold, holds []*Hold) {
	beside := 0
	for _, p := range holds {
		if p != h && p.From.Before(o.Called) && o.Returned.Before(p.Until) {
			beside++
		}
	}
	if beside >= h.N {
		c.violation("guards", fmt.Sprintf("a write of %s passed the guard of %s, of which %d others held the %d permits", o.Proc, h.Path, beside, h.N),
			h.From.I, o.Called.I, o.end)
	}
}
