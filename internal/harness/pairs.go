package harness

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/zkcoord/zkcoord/coord/coordtest"
)

const (
	// near is how many frames behind the first fault, of both directions together, may
	// meet a second one.
	near = 6
	// ofReconnect is how many frames may besides, from the first with which the client
	// connects again.
	ofReconnect = 4
	// sample is of how many first faults and kinds of second faults a workload has the
	// pairs that are tried every day: with each of them, those at each place.
	sample = 2
)

// partKey is the environment variable that chooses a part of the pairs.
const partKey = "ZKCOORD_PAIRS"

// A place is where the second fault of a pair strikes. A frame has one place, or none.
type place struct {
	n         int  // of the frames behind the first fault
	reconnect bool // of those from when the client connects again, and far behind the fault
}

func (p place) String() string {
	if p.reconnect {
		return fmt.Sprintf("frame %d of the reconnect", p.n)
	}
	return fmt.Sprintf("frame %d behind", p.n)
}

// index is different for each place.
func (p place) index() int {
	if p.reconnect {
		return near + p.n
	}
	return p.n
}

// A trail is of the frames behind a first fault.
type trail struct {
	n         int // frames so far
	reconnect int // of those, from when the client connects again
}

// place returns the place of f, the next frame. That of a frame far behind is zero.
func (r *trail) place(f coordtest.Frame) place {
	r.n++
	if r.reconnect > 0 || f.Op == "connect" && f.Dir == coordtest.ToServer {
		r.reconnect++
	}
	switch {
	case r.n <= near:
		return place{n: r.n}
	case 1 <= r.reconnect && r.reconnect <= ofReconnect:
		return place{n: r.reconnect, reconnect: true}
	}
	return place{}
}

// pairs has each frame that is always there meet each fault, and then a frame at each
// place behind it meet each second fault: so also while the client recovers from the
// first. What frames there are behind a first fault is learned from runs with that alone.
//
// There are ten thousands of pairs in some workloads. The long form tries all of them
// without the race detector, and a sample with it. Every day the sample is tried without
// it, the same each time, and none with it. With ZKCOORD_PAIRS=n/m the n-th of m parts of
// all is tried, from 0, and nothing else: 0/1 with -run and the name of a case runs that
// again.
func (x Workload) pairs(t *testing.T, always [3]int, y *count) {
	kinds := len(x.Faults)
	units := (always[coordtest.ToServer] + always[coordtest.ToClient]) * kinds
	in := part(units * kinds)
	unit := 0
	for _, dir := range []coordtest.Direction{coordtest.ToServer, coordtest.ToClient} {
		for i := range always[dir] {
			for _, f := range x.Faults {
				var turns []int // a turn has one second fault at each place, another one at the next
				for turn := range kinds {
					if in(unit*kinds + turn) {
						turns = append(turns, turn)
					}
				}
				if unit++; turns == nil {
					continue
				}
				first := strike{dir, i + 1, f}
				t.Run(first.String()+", then", func(t *testing.T) {
					t.Parallel()
					places, every := x.behind(t, first)
					for _, p := range places {
						for _, turn := range turns {
							second := x.Faults[(p.index()+turn)%kinds]
							t.Run(fmt.Sprintf("%v %v", p, second), func(t *testing.T) {
								y.try(t, every[p], func() bool { return x.playPair(t, first, p, second) })
							})
						}
					}
				})
			}
		}
	}
}

// part returns which of n turns are to be tried.
func part(n int) func(turn int) bool {
	var k, m int
	switch spec := os.Getenv(partKey); {
	case spec != "":
		if _, err := fmt.Sscanf(spec, "%d/%d", &k, &m); err != nil || m <= 0 || k < 0 || k >= m {
			panic(fmt.Sprintf(partKey+"=%s, want n/m with n from 0 to m-1", spec))
		}
	case racing && !Stress:
		return func(int) bool { return false }
	case Stress && !racing:
		m = 1
	default:
		// Odd, so that first and second faults vary, and not the frame alone. A third
		// of a step from the ends.
		m = max(1, n/sample) | 1
		k = m / 3
	}
	return func(turn int) bool { return turn%m == k }
}

// behind returns the places of the frames behind the first fault, and for each whether the
// frame is there in every run.
func (x Workload) behind(t *testing.T, first strike) (places []place, every map[place]bool) {
	seen := make(map[place]int)
	met := 0
	for n := 0; n < attempts && met < rehearsals && !t.Failed(); n++ {
		if x.follow(t, first, func(_ *World, _ *Client, p place, _ coordtest.Frame) coordtest.Action {
			seen[p]++
			return coordtest.Pass
		}) {
			met++
		}
	}
	if met < rehearsals {
		t.Errorf("the frame of the first fault has come %d times in %d runs", met, attempts)
	}
	every = make(map[place]bool)
	for p, n := range seen {
		places, every[p] = append(places, p), n == met
	}
	slices.SortFunc(places, func(a, b place) int { return a.index() - b.index() })
	return places, every
}

// playPair runs x once, and reports whether both faults were met.
func (x Workload) playPair(t *testing.T, first strike, at place, second Fault) (met bool) {
	x.follow(t, first, func(w *World, c *Client, p place, f coordtest.Frame) coordtest.Action {
		if p != at {
			return coordtest.Pass
		}
		met = true
		return second.strike(w, c, f)
	})
	return met
}

// follow runs x once with the first fault, and asks next what becomes of the frames behind
// it that have a place. It reports whether the first fault was met.
func (x Workload) follow(t *testing.T, first strike, next func(*World, *Client, place, coordtest.Frame) coordtest.Action) (met bool) {
	var r trail
	x.run(t, func(w *World, c *Client, f coordtest.Frame) coordtest.Action {
		if !met && first.at(f) {
			met = true
			return first.fault.strike(w, c, f)
		}
		if met {
			if p := r.place(f); p != (place{}) {
				return next(w, c, p, f)
			}
		}
		return coordtest.Pass
	})
	return met
}
