package harness

import (
	"cmp"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// A Fault is what happens when a frame is met. It says in words what becomes of
// the frame.
type Fault struct {
	name string
	// meet does what happens beside the frame, and says what becomes of that. T is
	// the timeout of c's session.
	meet func(w *World, c *Client, T time.Duration) coordtest.Action
}

func (f Fault) String() string { return f.name }

// Called returns f under another name.
func (f Fault) Called(name string) Fault {
	f.name = name
	return f
}

// And returns the fault that is both f and g. Of what they do to the frame the
// later in the order of [coordtest.Action] counts.
func (f Fault) And(g Fault) Fault {
	return Fault{f.name + ", " + g.name, func(w *World, c *Client, T time.Duration) coordtest.Action {
		return max(f.meet(w, c, T), g.meet(w, c, T))
	}}
}

// act returns the fault that does something to the frame alone.
func act(name string, a coordtest.Action) Fault {
	return Fault{name, func(*World, *Client, time.Duration) coordtest.Action { return a }}
}

// Lost: a frame is lost alone, as a request or a reply may be in a server. An event
// goes with its connection: TCP loses no frame, and no client could tell.
var Lost = act("lost", coordtest.Drop)

// Cut: a frame is lost with its connection.
var Cut = act("lost with the connection", coordtest.HangUp)

// Last: a frame is the last of its connection.
var Last = act("the last of its connection", coordtest.PassAndHangUp)

// Delayed returns the fault that a frame is delayed by T*n/d, and so is what travels
// behind it in the directions given.
func Delayed(dir coordtest.Direction, n, d time.Duration) Fault {
	name := fmt.Sprintf("delayed by %v", share(n, d))
	if dir != coordtest.Both {
		name = fmt.Sprintf("delayed on the way %v by %v", way(dir), share(n, d))
	}
	return Fault{name, func(_ *World, c *Client, T time.Duration) coordtest.Action {
		time.AfterFunc(T*n/d, c.Link.Stall(dir))
		return coordtest.Pass
	}}
}

// Expired: a frame is followed by the end of the client's session.
var Expired = Fault{"followed by the session's expiry", func(w *World, c *Client, _ time.Duration) coordtest.Action {
	w.Expire(c)
	return coordtest.Pass
}}

// Frozen returns the fault that the server freezes for T*n/d as a frame comes.
func Frozen(n, d time.Duration) Fault {
	return Fault{fmt.Sprintf("there while the server freezes for %v", share(n, d)), func(w *World, _ *Client, T time.Duration) coordtest.Action {
		time.AfterFunc(T*n/d, w.Fake.Freeze())
		return coordtest.Pass
	}}
}

// share is T*n/d in words.
func share(n, d time.Duration) string {
	s := "T"
	if n > 1 {
		s = fmt.Sprint(int64(n), "T")
	}
	if d > 1 {
		s += fmt.Sprint("/", int64(d))
	}
	return s
}

func way(d coordtest.Direction) string {
	return map[coordtest.Direction]string{coordtest.ToServer: "there", coordtest.ToClient: "back"}[d]
}

// Common are the faults that every recipe must bear.
var Common = []Fault{
	Lost,
	Cut,
	Last,
	Delayed(coordtest.Both, 1, 4),
	Delayed(coordtest.ToServer, 2, 1).Called("delayed on the way there beyond the session's end"),
	Delayed(coordtest.ToClient, 2, 1).Called("delayed on the way back beyond the session's end"),
	Expired,
	Frozen(1, 4).Called("there while the server freezes"),
}

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
	// from then on until Run returns, except in [Client.Exempt]; it must come to an end
	// whatever they meet.
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
// own, as a subtest.
//
// A case is tried until it has met its fault; if it never does, it fails. Goroutines race
// in bubbles too, so that a run may have a few frames more than another. Those are tried
// as well, but whether they come is no part of the test.
func Faults(t *testing.T, workloads ...Workload) {
	for _, x := range workloads {
		t.Run(x.Name, x.test)
	}
}

func (x Workload) test(t *testing.T) {
	always, ever := x.rehearse(t)
	all := x.Faults
	if all == nil {
		all = Common
	}
	share := x.share()
	var met, more, absent atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d cases met their fault, and %d of %d with frames that are not always there; %d to %d frames to the server, %d to %d back",
			met.Load(), more.Load(), more.Load()+absent.Load(),
			always[coordtest.ToServer], ever[coordtest.ToServer], always[coordtest.ToClient], ever[coordtest.ToClient])
	})
	for _, dir := range []coordtest.Direction{coordtest.ToServer, coordtest.ToClient} {
		for i := range ever[dir] {
			for k, f := range all {
				if (i+k)%share > 0 {
					continue
				}
				t.Run(fmt.Sprintf("frame %d %s %s", i+1, way(dir), f), func(t *testing.T) {
					t.Parallel()
					meets := func(attempts int) bool {
						for range attempts {
							if x.play(t, strike{dir, i + 1, f}) || t.Failed() {
								return true
							}
						}
						return false
					}
					switch {
					case i < always[dir] && meets(attempts):
						met.Add(1)
					case i < always[dir]:
						t.Errorf("the frame has not come in %d runs", attempts)
					case meets(seldom):
						more.Add(1)
					default:
						absent.Add(1)
					}
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
			frames[f.Dir] = f.N
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

// play runs x once, and reports whether the fault of s was met.
func (x Workload) play(t *testing.T, s strike) (met bool) {
	x.run(t, func(w *World, c *Client, f coordtest.Frame) coordtest.Action {
		if f.Dir != s.dir || f.N != s.n {
			return coordtest.Pass
		}
		met = true
		action := s.fault.meet(w, c, c.timeout)
		if action == coordtest.Drop && f.Op == "event" {
			action = coordtest.HangUp
		}
		return action
	})
	return met
}

// run runs x in a bubble, and asks hook what becomes of the frames, whose N is their
// number in x.
func (x Workload) run(t *testing.T, hook func(*World, *Client, coordtest.Frame) coordtest.Action) {
	Bubble(t, func(w *World) {
		var c *Client
		var n [3]int
		x.Run(w, func() *Client {
			c = w.Client(cmp.Or(x.Timeout, T))
			c.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if f.N == 0 || c.exempt.Load() > 0 { // N is 0 for heartbeats
					return coordtest.Pass
				}
				n[f.Dir]++
				f.N = n[f.Dir]
				return hook(w, c, f)
			})
			return c
		})
		w.Rest() // what is under way belongs to it
		c.Link.OnFrame(nil)
	})
}
