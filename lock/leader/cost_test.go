package leader_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock/leader"
)

// What a term and its announcement cost, and what they cost an observer.
func TestCost(t *testing.T) {
	inBoth(t, []scenario{{"a term, a change of its value, and its end", func(w place) {
		a, b, o := w.Client(harness.Long), w.Client(harness.Long), w.Client(harness.Long)
		w.Must(w.leads(a, "").Release(bg))      // so that the directory is there
		leader.SetPatience(o.Client, time.Hour) // it asks for no queue, however slow this test is
		view := w.watch(o)
		view.sees("nobody")
		h := w.leads(b, "b") // what is followed while nobody is announced is followed no more
		view.sees(by("b", h))
		w.Must(h.Release(bg))
		view.sees("nobody")
		mine, observer := w.Cost(a), w.Cost(o)
		observer.Ops()

		h = w.leads(a, "one")
		view.sees(by("one", h))
		// The candidate's znode, the announcement, a look at each. The znode is followed
		// when it has been there for a while.
		if w.Fake != nil {
			time.Sleep(time.Second)
		} else {
			w.Eventually("its znode and the announcement are followed", func() bool { return w.Watches() >= 3 })
		}
		mine.Is("a term", 0, "getData", "getData", "multi", "multi")
		observer.Is("the beginning of a term", 1, "getData")

		w.Must(w.election(a).Publish(bg, h, []byte("two")))
		view.sees(by("two", h))
		mine.Is("a change of the value", 1, "getData", "multi")
		observer.Is("a change of the value", 1, "getData")

		other := w.election(b).Campaign(bg, nil)
		w.Eventually("in line", func() bool { return len(w.Children(w.Dir)) == 2 })
		mine.Is("a candidate that comes", 0)
		observer.Is("a candidate that comes", 0)
		w.Must(other.Release(bg))
		mine.Is("a candidate that goes", 0)
		observer.Is("a candidate that goes", 0)

		w.Must(h.Release(bg))
		view.sees("nobody")
		observer.Is("the end of a term", 1, "exists", "getData")
		ops, events := mine.Ops() // the znode goes before the announcement, or after it
		if n := len(ops); n < 2 || n > 4 || events != 2 {
			w.Errorf("the end of a term costs %q and %d events", ops, events)
		}
	}}})
}

// However many candidates there are, one that comes or goes costs the observers nothing,
// and a change of the leader costs each of them the same few requests.
func TestScale(t *testing.T) {
	waiting, watching := 200, 10
	if harness.Stress {
		waiting, watching = 1000, 100
	}
	const homes = 4 // clients that the candidates share
	w := place{harness.On(t, ensemble.Shared(t))}
	packets := func() (n int) {
		text, err := w.Real.Node(0).Command("mntr")
		w.Must(err)
		for line := range strings.Lines(text) {
			if _, err := fmt.Sscanf(line, "zk_packets_received %d", &n); err == nil {
				return n
			}
		}
		w.Fatal("the server does not count")
		return 0
	}
	h := w.leads(w.Client(harness.Long), "first")
	observers := make([]*onlooker, watching)
	costs := make([]*harness.Cost, watching)
	for i := range observers {
		o := w.Client(harness.Long)
		leader.SetPatience(o.Client, time.Hour) // it asks for no queue, however slow this test is
		observers[i] = w.watch(o)
		observers[i].sees(by("first", h))
		costs[i] = w.Cost(o)
		costs[i].Ops()
	}
	var clients []*harness.Client
	for range homes {
		clients = append(clients, w.Client(harness.Long))
	}
	before := packets()
	var line []*coord.Hold
	for i := range waiting {
		line = append(line, w.election(clients[i%homes]).Campaign(bg, fmt.Append(nil, "number ", i)))
	}
	w.Eventually("all in line", func() bool { return len(w.Children(w.Dir)) == waiting+1 })
	t.Logf("%d candidates come: %d requests and heartbeats at the server, of all clients", waiting, packets()-before)
	quiet := func(what string) {
		t.Helper()
		for _, k := range costs {
			k.Is(what, 0)
		}
	}
	quiet("candidates that come")
	one := w.election(clients[0]).Campaign(bg, nil)
	w.Eventually("in line", func() bool { return len(w.Children(w.Dir)) == waiting+2 })
	w.Must(one.Release(bg))
	quiet("a candidate that comes and goes")

	for _, change := range []struct {
		what string
		do   func(h *coord.Hold)
	}{
		{"is released", func(h *coord.Hold) { w.Must(h.Release(bg)) }},
		{"is deposed", func(h *coord.Hold) { w.Delete(harness.Guard(h).Path) }},
	} {
		before := packets()
		change.do(h)
		all, err := w.election(w.Operator()).Leader(bg)
		w.Eventually("the next is announced", func() bool {
			all, err = w.election(w.Operator()).Leader(bg)
			return err == nil && all.Value != nil && all.Leader.Token > h.Token()
		})
		i := slices.IndexFunc(line, func(next *coord.Hold) bool { return next.Token() == all.Leader.Token })
		h = line[i]
		least, most, events := 1<<30, 0, 0
		for _, o := range observers {
			o.sees(by(string(all.Value), h))
		}
		for _, k := range costs {
			ops, n := k.Ops()
			least, most, events = min(least, len(ops)), max(most, len(ops)), max(events, n)
		}
		t.Logf("a leader of %d candidates %s: %d to %d requests and at most %d events for each of %d observers; %d requests at the server, of all clients and for this count",
			waiting, change.what, least, most, events, watching, packets()-before)
		if most > 3 || events > 2 {
			t.Errorf("up to %d requests and %d events", most, events)
		}
	}
}

// After any number of terms and campaigns, won, canceled at any moment, or resigned,
// nothing is left at the server and nothing in the client.
func TestCyclesLeaveNothing(t *testing.T) {
	harness.OnReal(t, func(hw *harness.World) {
		w := place{hw}
		clients := []*harness.Client{w.Client(harness.Long), w.Client(harness.Long)}
		round := func(n int) {
			var all sync.WaitGroup
			for i := range 4 {
				e := w.election(clients[i%len(clients)])
				all.Go(func() {
					for range n / 4 {
						ctx, cancel := context.WithTimeout(bg, rand.N(8*time.Millisecond))
						var err error
						if rand.N(4) > 0 {
							h := e.Campaign(ctx, []byte("value"))
							if h.Wait() == nil && rand.N(2) == 0 {
								err = e.Publish(bg, h, []byte("other"))
							}
							cancel()
							if err == nil {
								err = h.Release(bg)
							}
						} else {
							k := e.Keep(ctx, []byte("value"))
							select {
							case <-k.Updates():
							case <-k.Done():
							}
							cancel()
							err = k.Resign(bg)
						}
						if err != nil {
							w.Errorf("cycle: %v", err)
							return
						}
					}
				})
			}
			all.Wait()
		}
		total := harness.Times(400, 10_000)
		round(total / 5)
		before := w.Heap()
		round(total * 4 / 5)
		w.nothingLeft()
		w.Eventually("no watch left", func() bool { return w.Watches() == 0 })
		grown := w.Heap() - before
		t.Logf("heap grown by %d KiB", grown>>10)
		if grown > 100<<10+int64(total)*100 {
			t.Errorf("heap grown by %d KiB in %d cycles", grown>>10, total*4/5)
		}
		// What the library thinks is armed it tells the server at a reconnect.
		for _, c := range clients {
			told := false
			c.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
				told = told || f.Op == "setWatches"
				return coordtest.Pass
			})
			w.Down(c)()
			w.Must(w.leads(c, "").Release(bg))
			if c.Link.OnFrame(nil); told {
				t.Error("the library has watches left")
			}
		}
	})
}
