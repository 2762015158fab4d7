package config_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// On a real server, while two publish as fast as they can, each all keys of its
// generation and none of those that are for the other kind, no Tree sees a mix of
// two publications.
func TestPublicationsMeetOnRealServer(t *testing.T) {
	const publishers, readers = 2, 2
	rounds := harness.Times(80, 2000)
	w := harness.On(t, ensemble.Shared(t))
	root := w.Dir
	dial := func() *coord.Client { return harness.Dial(t, w.Real.Servers(), nil) }
	kinds := [][]string{{"a", "d/b"}, {"a", "d/b", "opt"}, {"a", "d/b", "opt", "e/opt"}, {"a", "d/b", "f/g/opt", "opt/below"}}
	all := []string{"a", "d/b", "opt", "opt/below", "e/opt", "f/g/opt"}
	publish := func(c *coord.Client, gen int) {
		values := make(map[string]int)
		for _, key := range kinds[gen%len(kinds)] {
			values[key] = gen
		}
		if _, below := values["opt/below"]; below {
			values["opt"] = gen
		}
		var remove []string
		for _, key := range all {
			if _, stored := values[key]; !stored {
				remove = append(remove, key)
			}
		}
		if err := published(t.Context(), config.NewTree(c, root, numbers), values, remove...); err != nil {
			t.Error(err)
		}
	}
	publish(dial(), 0)
	var states, mixed atomic.Int64
	check := func(k config.Values[int]) {
		state, err := keysOf(k)
		want := slices.Clone(kinds[state["a"]%len(kinds)])
		if slices.Contains(want, "opt/below") {
			want = append(want, "opt")
		}
		whole := err == nil && len(state) == len(want)
		for _, key := range want {
			gen, ok := state[key]
			whole = whole && ok && gen == state["a"]
		}
		states.Add(1)
		if !whole && mixed.Add(1) <= 5 {
			t.Errorf("the tree shows %v, %v", state, err)
		}
	}
	var reading, publishing sync.WaitGroup
	var trees []*coord.Client
	for range readers {
		c := dial()
		trees = append(trees, c)
		tree := config.NewTree(c, root, numbers).Watch(t.Context())
		reading.Go(func() {
			for k := range tree.All() {
				check(k)
			}
		})
	}
	c := dial()
	trees = append(trees, c)
	reading.Go(func() { // and one reads a whole after the other
		for {
			k, err := config.NewTree(c, root, numbers).Read(t.Context())
			if errors.Is(err, coord.ErrClosed) {
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			check(k)
		}
	})
	began := time.Now()
	for i := range publishers {
		c := dial()
		publishing.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 0))
			for n := range rounds {
				// The generation names publisher and round, and its kind is random.
				publish(c, len(kinds)*(publishers*n+i+1)+random.IntN(len(kinds)))
			}
		})
	}
	publishing.Wait()
	spent := time.Since(began)
	for _, c := range trees {
		c.Close()
	}
	reading.Wait()
	t.Logf("%d publications in %v, %d states seen, %d mixed", publishers*rounds, spent.Round(time.Millisecond), states.Load(), mixed.Load())
}
