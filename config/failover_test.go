package config_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/locktest"
)

// TestFailover kills the servers of an ensemble in turn, the leader among them,
// while clients increment a counter. The count is exact, and a stream ends on it.
// Only where the machine is so slow that a session ends may an outcome be unknown.
// (R60, R86.)
func TestFailover(t *testing.T) {
	e := ensemble.New(t, &ensemble.Options{Nodes: 3})
	dial := func() *coord.Client {
		c, err := coord.Dial(bg, e.Servers(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	rounds := 1
	if locktest.Stress {
		rounds = 10
	}
	w := &world{TB: t}
	s := config.New(dial(), "/n", numbers).Watch(t.Context())
	var mu sync.Mutex
	var sum tally
	stop, cancel := context.WithCancel(bg)
	defer cancel()
	var all sync.WaitGroup
	for range 4 {
		c := dial()
		all.Go(func() {
			for stop.Err() == nil {
				_, err := add(bg, c, "/n")
				mu.Lock()
				sum.count(w, err, coord.ErrExpired)
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
		now, tick := counted(), time.NewTicker(5*time.Millisecond)
		defer tick.Stop()
		for deadline := time.Now().Add(30 * time.Second); counted() < now+20; <-tick.C {
			if time.Now().After(deadline) {
				t.Fatalf("stuck at %d", counted())
			}
		}
	}
	for range rounds {
		for _, n := range e.Nodes() {
			further()
			n.Kill()
			further()
			ctx, cancel := context.WithTimeout(bg, time.Minute)
			err := n.Restart(ctx)
			cancel()
			if err != nil {
				t.Fatal(err)
			}
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
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); ; <-tick.C {
		if last, _ := s.Latest(); last.Mzxid == u.Mzxid && !last.Suspended && last.Value == u.Value {
			return
		}
		if time.Now().After(deadline) {
			last, _ := s.Latest()
			t.Fatalf("the stream ends on %+v, stored is %+v", last, u)
		}
	}
}
