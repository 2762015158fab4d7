package config_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// generations are how often is published.
const generations = 6

// publications are how a Tree is looked at while another publishes, with pauses that
// grow from none to two of those given.
var publications = []struct {
	name  string
	pause time.Duration
	look  func(w *world, tree *config.Tree[int])
}{
	// Also keys on several levels, keys that come and go, and whatever happens to the
	// connection.
	{"a stream shows what is published together or not at all", 10 * time.Millisecond, func(w *world, tree *config.Tree[int]) {
		for k := range tree.Watch(bg).All() {
			whole(w, k)
			if k.Keys["a"].Value == generations && !k.Suspended {
				return
			}
		}
	}},
	{"each Read returns a publication as a whole, and never an older one than the one before", time.Millisecond, func(w *world, tree *config.Tree[int]) {
		for last := 0; last < generations; {
			now, err := tree.Read(bg)
			w.Must(err)
			whole(w, now)
			gen := now.Keys["a"].Value
			if gen < last {
				w.Errorf("generation %d after %d", gen, last)
			}
			last = gen
			time.Sleep(time.Millisecond)
		}
	}},
}

// TestPublicationFaults has the connection break, or stand still for a moment, at each
// frame of a client that looks at a Tree while another publishes.
func TestPublicationFaults(t *testing.T) {
	var workloads []harness.Workload
	for _, p := range publications {
		workloads = append(workloads, harness.Workload{
			Name:   p.name,
			Share:  3,
			Faults: []harness.Fault{harness.Cut, harness.Last, harness.Delayed(coordtest.Both, 1, 160)},
			Run: func(hw *harness.World, connect func() *harness.Client) {
				w := newWorld(hw, connect())
				var publishing sync.WaitGroup
				publishing.Go(func() {
					for gen := 1; gen <= generations; gen++ {
						publish(w, w.Operator().Client, gen)
						time.Sleep(time.Duration(gen%3) * p.pause) // of the bubble
					}
				})
				p.look(w, config.NewTree(w.c, "/app", numbers))
				publishing.Wait()
			},
		})
	}
	harness.Faults(t, workloads...)
}

// publish stores generation gen: all keys have it, and one comes and goes.
func publish(t testing.TB, c *coord.Client, gen int) {
	t.Helper()
	values := map[string]int{"a": gen, "b": gen, "d/c": gen, "d/e/f": gen}
	odd := "odd/key"
	var remove []string
	if gen%2 == 1 {
		values[odd] = gen
	} else {
		remove = append(remove, odd)
	}
	if err := published(t.Context(), config.NewTree(c, "/app", config.JSON[int]()), values, remove...); err != nil {
		t.Errorf("publish %d: %v", gen, err)
	}
}

// whole checks that k is one generation, or was before any.
func whole(t testing.TB, k config.Values[int]) {
	t.Helper()
	gen := k.Keys["a"].Value
	want := fmt.Sprintf("a=%d b=%d d/c=%d d/e/f=%d", gen, gen, gen, gen)
	if gen%2 == 1 {
		want += " odd/key=" + strconv.Itoa(gen)
	}
	got := strings.TrimSuffix(sayKeys(k), "?")
	if got != want && got != "" {
		t.Errorf("half of a publication: %q", got)
	}
}
