package harness

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// The places of the frames behind a first fault are the nearest, and those with which the
// client connects again.
func TestPlacesBehindAFault(t *testing.T) {
	for _, tt := range []struct{ frames, want string }{
		{"r r r r r r r r", "1 2 3 4 5 6 - -"},
		{"r r r r r r r C c r r r C c", "1 2 3 4 5 6 - R1 R2 R3 R4 - - -"},
		{"r r r r C c r r r", "1 2 3 4 5 6 R3 R4 -"},
		{"C c r r r r r", "1 2 3 4 5 6 -"},
	} {
		var r trail
		var got []string
		for kind := range strings.FieldsSeq(tt.frames) {
			f := coordtest.Frame{Dir: coordtest.ToServer, Op: "exists"}
			switch kind {
			case "C":
				f.Op = "connect"
			case "c":
				f = coordtest.Frame{Dir: coordtest.ToClient, Op: "connect"}
			}
			switch p := r.place(f); {
			case p == place{}:
				got = append(got, "-")
			case p.reconnect:
				got = append(got, fmt.Sprint("R", p.n))
			default:
				got = append(got, fmt.Sprint(p.n))
			}
		}
		if got := strings.Join(got, " "); got != tt.want {
			t.Errorf("%s: places %s, want %s", tt.frames, got, tt.want)
		}
	}
}

// Each turn is in one part of m, and there is a sample of each day.
func TestEachTurnIsInOnePart(t *testing.T) {
	const n = 1000
	for _, m := range []int{1, 2, 8, 15} {
		times := make([]int, n)
		for k := range m {
			t.Setenv(partKey, fmt.Sprintf("%d/%d", k, m))
			in := part(n)
			for turn := range n {
				if in(turn) {
					times[turn]++
				}
			}
		}
		for turn, k := range times {
			if k != 1 {
				t.Errorf("turn %d is in %d of %d parts", turn, k, m)
			}
		}
	}
	t.Setenv(partKey, "")
	if Stress || racing {
		return
	}
	for _, n := range []int{0, 1, 2, 10, 100, 1000, 10_000} {
		tried := 0
		in := part(n)
		for turn := range n {
			if in(turn) {
				tried++
			}
		}
		if tried < min(n, sample-1) || tried > 2*sample {
			t.Errorf("%d of %d turns every day", tried, n)
		}
	}
}

// asks is a workload of two requests. The client connects again if it must.
var asks = Workload{Name: "asks", Run: func(w *World, connect func() *Client) {
	c := connect()
	for range 2 {
		_, _, err := c.Exists(bg, "/a")
		w.Must(err)
	}
}}

// Both faults of a pair are met, the second one also while the client connects again
// because of the first.
func TestPairMeetsBothFaults(t *testing.T) {
	var met []string
	note := func(name string, a coordtest.Action) Fault {
		return Fault{name, func(*World, *Client, time.Duration) coordtest.Action {
			met = append(met, name)
			return a
		}}
	}
	first := strike{coordtest.ToServer, 1, note("first", coordtest.HangUp)}
	places, every := asks.behind(t, first)
	if len(places) < near {
		t.Fatalf("places %v", places)
	}
	met = nil
	for _, p := range places {
		if !every[p] {
			continue
		}
		if !asks.playPair(t, first, p, note(p.String(), coordtest.HangUp)) {
			t.Errorf("not met: %v", p)
		}
		if want := []string{"first", p.String()}; strings.Join(met, ", ") != strings.Join(want, ", ") {
			t.Errorf("met %q, want %q", met, want)
		}
		met = nil
	}
	if asks.playPair(t, first, place{n: 100}, Cut) {
		t.Error("a frame that never comes has met a fault")
	}
	if asks.playPair(t, strike{coordtest.ToServer, 100, Cut}, place{n: 1}, Cut) {
		t.Error("a second fault was met without a first")
	}
}

// A pair whose second fault is never met fails, though its frame was there in the
// rehearsals.
func TestUnmetPairsFail(t *testing.T) {
	const key = "ZKCOORD_TEST_UNMET_PAIR"
	if os.Getenv(key) != "" {
		Faults(t, Workload{Name: "fewer frames", Faults: []Fault{Last}, Run: func(w *World, connect func() *Client) {
			c := connect()
			if !strings.Contains(w.Name(), "behind") {
				_, _, err := c.Exists(bg, "/a")
				w.Must(err)
			}
		}})
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestUnmetPairsFail$/fewer/frame_1_back.*/frame_1_behind")
	cmd.Env = append(os.Environ(), key+"=1", partKey+"=0/1")
	text, err := cmd.CombinedOutput()
	if err == nil || strings.Count(string(text), "the frame has not come in 200 runs") != 1 {
		t.Errorf("no second fault was met, and yet: %v\n%s", err, text)
	}
}

// A client that rests does so until it has had no fault for a while. What it sends and
// receives meanwhile is not counted, and only a second fault strikes there.
func TestRestBeginsAgainWithTheSecondFault(t *testing.T) {
	var rested time.Duration
	x := Workload{Run: func(w *World, connect func() *Client) {
		c := connect()
		_, _, err := c.Exists(bg, "/a")
		w.Must(err)
		began := time.Now()
		later := time.AfterFunc(T, func() { _, _, _ = c.Exists(bg, "/a") })
		defer later.Stop()
		c.Rest(3 * T)
		rested = time.Since(began)
	}}
	always, _ := x.rehearse(t)
	if always != [3]int{coordtest.ToServer: 1, coordtest.ToClient: 1} {
		t.Errorf("%d frames count", always)
	}
	if !x.play(t, strike{coordtest.ToClient, 1, Last}) || rested != 3*T {
		t.Errorf("rested for %v", rested)
	}
	first := strike{coordtest.ToServer, 1, act("none", coordtest.Pass)}
	if !x.playPair(t, first, place{n: 1}, Last) || rested != 3*T { // the answer, before it rests
		t.Errorf("rested for %v after a second fault before that", rested)
	}
	if !x.playPair(t, first, place{n: 2}, Last) || rested != 4*T {
		t.Errorf("rested for %v after a second fault in the middle", rested)
	}
}
