// Package explore walks through every state that a model can reach, for tests of
// machines that must be right in each of them.
package explore

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
)

// A World is one state of a model. Worlds are not written to once they have been
// explored, so that a copy can share with its original what does not differ.
type World[W, A any] interface {
	// Enabled returns all that can happen next, in an order that does not differ
	// from one run to another.
	Enabled() []A
	// After returns a copy of the World in which a has happened.
	After(a A) W
	// Key appends all that tells the World from another to b.
	Key(b []byte) []byte
	// Wrong returns what must not be so, if anything.
	Wrong() string
}

// Walk visits every state that can be reached from start, breadth first and each
// once. It returns how many there are; or, as soon as it finds a World in which
// something is wrong, what that is and a shortest way to it.
func Walk[W World[W, A], A fmt.Stringer](start W) (states int, fault string) {
	type origin struct {
		parent int32
		act    A
	}
	var (
		seed    = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
		seen    = map[[2]uint64]struct{}{} // two hashes of 64 bits: no two states are taken for one
		origins = []origin{{parent: -1}}
		level   = []W{start}
		ids     = []int32{0}
		key     []byte
	)
	history := func(id int32, what string) string {
		var path []string
		for ; id > 0; id = origins[id].parent {
			path = append(path, origins[id].act.String())
		}
		slices.Reverse(path)
		return what + " after\n\t" + strings.Join(path, "\n\t")
	}
	for len(level) > 0 {
		var next []W
		var nextIDs []int32
		for n, w := range level {
			for _, a := range w.Enabled() {
				after := w.After(a)
				key = after.Key(key[:0])
				h := [2]uint64{maphash.Bytes(seed[0], key), maphash.Bytes(seed[1], key)}
				if _, ok := seen[h]; ok {
					continue
				}
				seen[h] = struct{}{}
				id := int32(len(origins))
				origins = append(origins, origin{ids[n], a})
				if what := after.Wrong(); what != "" {
					return len(origins), history(id, what)
				}
				next, nextIDs = append(next, after), append(nextIDs, id)
			}
			var zero W
			level[n] = zero // so that memory holds two levels at most
		}
		level, ids = next, nextIDs
	}
	return len(origins), ""
}
