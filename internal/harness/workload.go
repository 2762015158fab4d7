package harness

import (
	"cmp"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// A Workload is what a client does while a frame of it meets a fault.
type Workload struct {
	Name    string
	Timeout time.Duration // of the client's session; zero means [T]
	Faults  []Fault       // nil means [Common]
	// Share, if not zero, has one fault in so many tried with each frame, another one
	// with the next, for a workload of many frames: see [Workload.share].
	Share int
	// Run connects the client, makes it do something, and checks what must hold in the
	// end. It is called in a bubble, for each case anew. The frames of the client count
	// from then on until Run returns, except in [Client.Exempt] and [Client.Rest]; it
	// must come to an end whatever they meet.
	Run func(w *World, connect func() *Client)
}

const (
	// rehearsals are how often a Workload is run without a fault, to learn what frames
	// there are.
	rehearsals = 3
	// attempts are how often a case is tried that does not meet its fault, and
	// seldom how often that is if the frame is not there in each run.
	attempts = 200
	seldom   = 5
)

// Faults lets every frame of every workload meet every fault, each in a bubble of its
// own, as a subtest. Then it has a second fault strike within a short distance of the
// first, in a sample of all such pairs, or in all of them: see [Workload.pairs].
//
// A case is tried until it has met its fault, or both; if it never does, it fails.
// Goroutines race in bubbles too, so that a run may have a few frames more than another.
// Those are tried as well, but whether they come is no part of the test.
func Faults(t *testing.T, workloads ...Workload) {
	tallies := make([]tally, len(workloads))
	t.Cleanup(func() {
		var sum tally
		for i := range tallies {
			sum.single.add(&tallies[i].single)
			sum.pair.add(&tallies[i].pair)
		}
		t.Logf("%s in all: %v", t.Name(), &sum)
	})
	for i, x := range workloads {
		t.Run(x.Name, func(t *testing.T) { x.test(t, &tallies[i]) })
	}
}

// A tally counts the cases of one fault, and those of two.
type tally struct{ single, pair count }

func (y *tally) String() string { return fmt.Sprintf("one fault: %v; two: %v", &y.single, &y.pair) }

// A count is of cases that met their faults, and of those for which that is no part of
// the test because a frame is not there in each run.
type count struct{ met, more, absent atomic.Int64 }

func (n *count) add(other *count) {
	n.met.Add(other.met.Load())
	n.more.Add(other.more.Load())
	n.absent.Add(other.absent.Load())
}

func (n *count) String() string {
	return fmt.Sprintf("%d cases met, and %d of %d with frames that are not always there",
		n.met.Load(), n.more.Load(), n.more.Load()+n.absent.Load())
}

// try plays a case until it meets its faults, and counts it. If always is set, it must come
// to that.
func (n *count) try(t *testing.T, always bool, play func() (met bool)) {
	times := seldom
	if always {
		times = attempts
	}
	met := false
	for range times {
		if met = play() || t.Failed(); met {
			break
		}
	}
	switch {
	case met && always:
		n.met.Add(1)
	case met:
		n.more.Add(1)
	case always:
		t.Errorf("the frame has not come in %d runs", times)
	default:
		n.absent.Add(1)
	}
}

func (x Workload) test(t *testing.T, y *tally) {
	always, ever := x.rehearse(t)
	if x.Faults == nil {
		x.Faults = Common
	}
	t.Cleanup(func() {
		t.Logf("%s: %v; %d to %d frames to the server, %d to %d back", t.Name(), y,
			always[coordtest.ToServer], ever[coordtest.ToServer], always[coordtest.ToClient], ever[coordtest.ToClient])
	})
	x.singles(t, always, ever, &y.single)
	x.pairs(t, always, &y.pair)
}

// singles has each frame meet each fault.
func (x Workload) singles(t *testing.T, always, ever [3]int, y *count) {
	share := x.share()
	if os.Getenv(partKey) != "" {
		return // only the pairs are asked for
	}
	for _, dir := range []coordtest.Direction{coordtest.ToServer, coordtest.ToClient} {
		for i := range ever[dir] {
			for k, f := range x.Faults {
				if (i+k)%share > 0 {
					continue
				}
				s := strike{dir, i + 1, f}
				t.Run(s.String(), func(t *testing.T) {
					t.Parallel()
					y.try(t, i < always[dir], func() bool { return x.play(t, s) })
				})
			}
		}
	}
}

// share is of how many faults one is tried with a frame. In the long form all are
// tried. With the race detector a case takes five times as long, and what it can find
// does not depend on the fault at every frame, so there it is one in 32 of those.
func (x Workload) share() int {
	switch share := max(x.Share, 1); {
	case Stress:
		return 1
	case racing:
		return 32 * share
	default:
		return share
	}
}

// rehearse returns how many frames there are in each direction, in every run and in
// that with the most.
func (x Workload) rehearse(t *testing.T) (always, ever [3]int) {
	for i := range rehearsals {
		var frames [3]int
		x.run(t, func(_ *World, _ *Client, f coordtest.Frame) coordtest.Action {
			frames[f.Dir] = max(frames[f.Dir], f.N)
			return coordtest.Pass
		})
		if i == 0 {
			always = frames
		}
		for d, n := range frames {
			always[d], ever[d] = min(always[d], n), max(ever[d], n)
		}
	}
	return always, ever
}

// A strike has the n-th frame of a direction meet a fault.
type strike struct {
	dir   coordtest.Direction
	n     int
	fault Fault
}

func (s strike) String() string { return fmt.Sprintf("frame %d %s %s", s.n, way(s.dir), s.fault) }

// at reports whether s has f meet the fault.
func (s strike) at(f coordtest.Frame) bool { return f.Dir == s.dir && f.N == s.n }

// play runs x once, and reports whether the fault of s was met.
func (x Workload) play(t *testing.T, s strike) (met bool) {
	x.run(t, func(w *World, c *Client, f coordtest.Frame) coordtest.Action {
		if !s.at(f) {
			return coordtest.Pass
		}
		met = true
		return s.fault.strike(w, c, f)
	})
	return met
}

// run runs x in a bubble, and asks hook what becomes of the frames, whose N is their
// number in x, or 0 while the client rests.
func (x Workload) run(t *testing.T, hook func(*World, *Client, coordtest.Frame) coordtest.Action) {
	Bubble(t, func(w *World) {
		var c *Client
		var n [3]int
		x.Run(w, func() *Client {
			c = w.Client(cmp.Or(x.Timeout, T))
			c.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
				switch {
				case f.N == 0 || c.exempt.Load() > 0: // N is 0 for heartbeats
					return coordtest.Pass
				case c.resting.Load() > 0:
					f.N = 0
				default:
					n[f.Dir]++
					f.N = n[f.Dir]
				}
				return hook(w, c, f)
			})
			return c
		})
		w.Rest() // what is under way belongs to it
		c.Link.OnFrame(nil)
	})
}
