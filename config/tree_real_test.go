package config_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// On a real server, too, no Tree sees half of what is published together, while
// publications follow one another as fast as they can and connections break all
// the time; and all end on the last one.
func TestTreeOnRealServer(t *testing.T) {
	const keys = 20
	readers, rounds := harness.Times(3, 5), harness.Times(120, 300)
	w := harness.On(t, ensemble.Shared(t))
	root, writer := w.Dir, w.Client(harness.Long)
	publish := func(gen int) {
		values := make(map[string]int)
		var remove []string
		for k := range keys {
			key := fmt.Sprintf("d%d/k%d", k%3, k)
			if k < keys/2 || (k+gen)%2 == 0 { // half of them come and go
				values[key] = gen
			} else {
				remove = append(remove, key)
			}
		}
		if err := published(t.Context(), config.NewTree(writer.Client, root, config.JSON[int]()), values, remove...); err != nil {
			t.Error(err)
		}
	}
	publish(1)
	var reading, breaking sync.WaitGroup
	done := make(chan struct{})
	for range readers {
		c := w.Client(20 * time.Second)
		tree := config.NewTree(c.Client, root, config.JSON[int]()).Watch(t.Context())
		reading.Go(func() {
			shown, last := 0, 0
			late := time.After(time.Minute)
			for last < rounds {
				select {
				case k := <-tree.Updates():
					shown++
					last = max(last, oneGeneration(t, k, last, keys))
				case <-late:
					t.Errorf("ends on %d", last)
					return
				}
			}
			t.Logf("%d states of %d seen", shown, rounds)
		})
		breaking.Go(func() {
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					c.Link.Reset()
				case <-done:
					return
				}
			}
		})
	}
	for gen := 2; gen <= rounds; gen++ {
		publish(gen)
	}
	close(done)
	breaking.Wait()
	reading.Wait()
}

// oneGeneration checks that k is one generation, not before last, and returns it.
func oneGeneration(t *testing.T, k config.Values[int], last, keys int) int {
	t.Helper()
	gens := make(map[int]int)
	for name, u := range k.Keys {
		if u.Err != nil || strings.Count(name, "/") != 1 {
			t.Errorf("%s: %v", name, u.Err)
		}
		gens[u.Value]++
	}
	for gen, n := range gens {
		want := keys / 2
		for i := keys / 2; i < keys; i++ {
			if (i+gen)%2 == 0 {
				want++
			}
		}
		if len(gens) != 1 || n != want || gen < last {
			t.Errorf("after %d: %d keys of %d, want %d of one generation; %v", last, n, gen, want, gens)
		}
		return gen
	}
	t.Error("no keys")
	return last
}
