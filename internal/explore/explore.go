package explore

import (
	"fmt"
	"hash/maphash"
	"os"
	"slices"
	"strings"
	"testing"
)

// A World is everything that can differ between two states. It is copied by
// assignment: nothing that a copy shares with the original may be written to.
type World[W any, A fmt.Stringer] interface {
	*W
	// Enabled returns what can happen next.
	Enabled() []A
	// Do makes it happen, and returns what was wrong with that, if anything.
	Do(A) string
	// Wrong says what must not be so in the world, if anything.
	Wrong() string
	// Stuck says what should still happen in a world in which nothing can.
	Stuck() string
	// Key appends all that tells the world from another.
	Key([]byte) []byte
}

// Walk visits every state that start can come to, breadth first and each once. It
// returns how many there are, or the shortest way to a fault.
func Walk[P World[W, A], W any, A fmt.Stringer](start W) (states int, fault string) {
	type origin struct {
		parent int
		act    A
	}
	var (
		seed    = maphash.MakeSeed()
		seen    = map[uint64]struct{}{} // hashes: of ten million states two have the same in one run of 400,000
		origins = []origin{{parent: -1}}
		level   = []*W{&start}
		ids     = []int{0}
		key     []byte
		after   = new(W)
	)
	history := func(id int, what string, last ...A) string {
		path := last
		for ; id > 0; id = origins[id].parent {
			path = append(path, origins[id].act)
		}
		slices.Reverse(path)
		var b strings.Builder
		b.WriteString(what)
		for i, a := range path {
			fmt.Fprintf(&b, "\n\t%d %v", i+1, a)
		}
		return b.String()
	}
	if what := P(&start).Wrong(); what != "" {
		return len(origins), history(0, what)
	}
	for len(level) > 0 {
		var next []*W
		var nextIDs []int
		for n, w := range level {
			level[n] = nil // memory holds at most two levels
			acts := P(w).Enabled()
			if len(acts) == 0 {
				if what := P(w).Stuck(); what != "" {
					return len(origins), history(ids[n], what)
				}
			}
			for _, a := range acts {
				*after = *w
				if what := P(after).Do(a); what != "" {
					return len(origins), history(ids[n], what, a)
				}
				key = P(after).Key(key[:0])
				h := maphash.Bytes(seed, key)
				if _, ok := seen[h]; ok {
					continue
				}
				seen[h] = struct{}{}
				if what := P(after).Wrong(); what != "" {
					return len(origins), history(ids[n], what, a)
				}
				next, nextIDs = append(next, after), append(nextIDs, len(origins))
				after = new(W)
				origins = append(origins, origin{ids[n], a})
			}
		}
		level, ids = next, nextIDs
	}
	return len(origins), ""
}

// deep has the large worlds walked through too.
var deep = os.Getenv("ZKCOORD_STRESS") != ""

// Through walks through the world that start returns, in a subtest of that name, beside
// others. One that is large is left to make stress.
func Through[P World[W, A], W any, A fmt.Stringer](t *testing.T, name string, large bool, start func() W) {
	t.Run(name, func(t *testing.T) {
		if large && !deep {
			t.Skip("a large world: make stress walks through it")
		}
		t.Parallel()
		states, fault := Walk[P](start())
		if fault != "" {
			t.Fatal(fault)
		}
		t.Logf("%d states", states)
	})
}
