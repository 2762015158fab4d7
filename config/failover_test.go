package config_test

import (
	"context"
	"sync"
	"testing"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// TestFailover kills the servers of an ensemble in turn, the leader among them,
// while clients increment a counter. The count is exact, and a stream ends on it.
// Only where the machine is so slow that a session ends may an outcome be unknown.
// (R60, R86.)
func TestFailover(t *testing.T) {
	w := harness.On(t, ensemble.New(t, &ensemble.Options{Nodes: 3}))
	dial := func() *coord.Client { return harness.Dial(t, w.Real.Servers(), nil) }
	rounds := harness.Times(1, 10)
	s := config.New(dial(), "/n", numbers).Watch(t.Context())
	var mu sync.Mutex
	var sum tally
	stop, cancel := context.WithCancel(bg)
	defer cancel()
	var all sync.WaitGroup
	for range 2 {
		c := dial()
		all.Go(func() {
			for stop.Err() == nil {
				_, err := add(bg, c, "/n")
				mu.Lock()
				sum.count(t, err, coord.ErrExpired)
				mu.Unlock()
			}
		})
	}
	counted := func() int {
		mu.Lock()
		defer mu.Unlock()
		return sum.ok
	}
	// further waits until all is well again, as far as can be told from here.
	further := func() {
		t.Helper()
		now := counted()
		w.Eventually("twenty more", func() bool { return counted() >= now+20 })
	}
	for range rounds {
		for _, n := range w.Real.Nodes() {
			further()
			n.Kill()
			further()
			w.Restart(n)
		}
	}
	further()
	cancel()
	all.Wait()
	u, err := config.New(dial(), "/n", numbers).Read(bg)
	if err != nil || u.Value < sum.ok || u.Value > sum.ok+sum.unknown {
		t.Errorf("counted %d, %+v, %v", u.Value, sum, err)
	}
	t.Logf("%+v", sum)
	w.Eventually("the stream ends on what is stored", func() bool {
		last, _ := s.Latest()
		return last.Mzxid == u.Mzxid && !last.Suspended && last.Value == u.Value
	})
}
