package harness

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(Main(m)) }

var bg = context.Background()

// A case that does not meet its fault shows nothing, and fails: here none does behind
// the rehearsals, where a frame more came each time.
func TestUnmetFaultsFail(t *testing.T) {
	const key = "ZKCOORD_TEST_UNMET"
	if os.Getenv(key) != "" {
		var runs atomic.Int32
		Faults(t, Workload{Name: "fewer frames", Faults: []Fault{Lost}, Run: func(w *World, connect func() *Client) {
			c := connect()
			if runs.Add(1) <= rehearsals {
				_, _, err := c.Exists(bg, "/a")
				w.Must(err)
			}
		}})
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestUnmetFaultsFail$")
	cmd.Env = append(os.Environ(), key+"=1", "ZKCOORD_STRESS=1") // every fault at every frame
	text, err := cmd.CombinedOutput()
	if err == nil || strings.Count(string(text), "the frame has not come in 200 runs") != 2 {
		t.Errorf("the request and its reply were never lost, and yet: %v\n%s", err, text)
	}
}

// ops are the operations of x's frames to the server, as they are counted.
func ops(t *testing.T, x Workload) (all []string) {
	x.run(t, func(_ *World, _ *Client, f coordtest.Frame) coordtest.Action {
		if f.Dir == coordtest.ToServer {
			if all = append(all, f.Op); f.N != len(all) {
				t.Errorf("%s is frame %d, want %d", f.Op, f.N, len(all))
			}
		}
		return coordtest.Pass
	})
	return all
}

// What a client does in Exempt is not counted, and no frame of it meets a fault.
func TestExemptFramesDoNotCount(t *testing.T) {
	got := ops(t, Workload{Run: func(w *World, connect func() *Client) {
		c := connect()
		_, _, err := c.Exists(bg, "/a")
		w.Must(err)
		c.Exempt(func() {
			_, _, err := c.Children(bg, "/")
			w.Must(err)
		})
		_, _, err = c.Get(bg, "/")
		w.Must(err)
	}})
	if want := []string{"exists", "getData"}; !slices.Equal(got, want) {
		t.Errorf("frames %q, want %q", got, want)
	}
}

// And does what both faults do beside the frame; of what becomes of that, the worse.
func TestAndIsBothFaults(t *testing.T) {
	for _, tt := range []struct {
		a, b, want coordtest.Action
	}{
		{coordtest.Pass, coordtest.Drop, coordtest.Drop},
		{coordtest.Drop, coordtest.HangUp, coordtest.HangUp},
		{coordtest.Pass, coordtest.PassAndHangUp, coordtest.PassAndHangUp},
	} {
		var met []string
		fault := func(name string, a coordtest.Action) Fault {
			return Fault{name, func(*World, *Client, time.Duration) coordtest.Action {
				met = append(met, name)
				return a
			}}
		}
		both := fault("first", tt.a).And(fault("second", tt.b))
		if got := both.meet(nil, nil, T); got != tt.want {
			t.Errorf("%v and %v: %v, want %v", tt.a, tt.b, got, tt.want)
		}
		if got := fault("first", tt.b).And(fault("second", tt.a)).meet(nil, nil, T); got != tt.want {
			t.Errorf("%v and %v: %v, want %v", tt.b, tt.a, got, tt.want)
		}
		if both.String() != "first, second" || !slices.Equal(met, []string{"first", "second", "first", "second"}) {
			t.Errorf("%v has met %q", both, met)
		}
	}
}

// TCP loses no event alone: where an event is to be lost, its connection goes with it,
// and no other frame's does.
func TestLostEventTakesItsConnection(t *testing.T) {
	var broken bool
	x := Workload{Run: func(w *World, connect func() *Client) {
		w.Create("/a", "")
		c := connect()
		news := c.Watch(bg, "/a", event.Presence)
		<-news.Updates()
		_, changed := c.State()
		w.Delete("/a")
		for (<-news.Updates()).Exists {
		}
		select {
		case <-changed:
			broken = true
		default:
			broken = false
		}
	}}
	var back []string
	x.run(t, func(_ *World, _ *Client, f coordtest.Frame) coordtest.Action {
		if f.Dir == coordtest.ToClient {
			back = append(back, f.Op)
		}
		return coordtest.Pass
	})
	n := slices.Index(back, "event") + 1
	if n == 0 || broken {
		t.Fatalf("frames back %q, connection broken: %v", back, broken)
	}
	if met := x.play(t, strike{coordtest.ToClient, n, Lost}); !met || !broken {
		t.Errorf("met: %v, connection broken: %v", met, broken)
	}
	if x.play(t, strike{coordtest.ToClient, len(back) + 1, Lost}) || broken {
		t.Errorf("a frame that never came was lost; connection broken: %v", broken)
	}
}
