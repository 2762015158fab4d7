package semaphore_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// Of three holders that are cut off, each is told before another has its permit: there are
// never more than three. So it is whether the cut heals before the ensemble ends the sessions
// or after.
func TestNoOverlap(t *testing.T) {
	if !harness.Stress {
		t.Parallel() // it mostly waits
	}
	for _, late := range []bool{false, true} {
		for _, cut := range []struct {
			name string
			make func(*harness.Client) func()
		}{
			{"silence", func(c *harness.Client) func() { return c.Link.Stall(coordtest.Both) }},
			{"requests lost", func(c *harness.Client) func() { return c.Link.Stall(coordtest.ToServer) }},
			{"reset and refused", func(c *harness.Client) func() { return c.Link.Cut() }},
		} {
			name := fmt.Sprintf("%s, healed %s expiry", cut.name, map[bool]string{false: "before", true: "after"}[late])
			t.Run(name+", fake", func(t *testing.T) {
				harness.Bubble(t, func(w *harness.World) { place{w}.overlap(cut.make, late) })
			})
			t.Run(name+", real", func(t *testing.T) {
				if !harness.Stress {
					t.Parallel()
					place{harness.On(t, ensemble.Shared(t))}.overlap(cut.make, late)
					return
				}
				e := ensemble.New(t, &ensemble.Options{Nodes: 3})
				for range 5 {
					place{harness.On(t, e)}.overlap(cut.make, late)
				}
			})
		}
	}
}

func (w place) overlap(cut func(*harness.Client) func(), late bool) {
	const n = 3
	var holders, others []*coord.Hold
	var clients []*harness.Client
	for range n {
		c := w.Client(T)
		clients = append(clients, c)
		holders = append(holders, w.held(c, n))
	}
	for i := range n {
		others = append(others, w.waits(bg, w.Client(harness.Long), n, i+1))
	}
	told, had := make([]time.Time, n), make([]time.Time, n)
	var wg sync.WaitGroup
	for i := range n {
		w := place{w.Aside()}
		wg.Go(func() { w.Wait("loss", holders[i].Lost()); told[i] = time.Now() })
		wg.Go(func() { w.Wait("grant", others[i].Acquired()); had[i] = time.Now() })
	}
	for i, c := range clients {
		<-time.After(time.Duration(i) * T / 60) // each at another phase of its heartbeats
		heal := sync.OnceFunc(cut(c))
		defer heal()
		if !late {
			time.AfterFunc(T*4/5, heal) // the lease is over, the session is not
		}
	}
	wg.Wait()
	if w.Failed() {
		return
	}
	slices.SortFunc(told, time.Time.Compare)
	slices.SortFunc(had, time.Time.Compare)
	least := time.Hour
	for i := range n { // the i-th grant comes after as many losses
		least = min(least, had[i].Sub(told[i]))
	}
	w.Logf("smallest margin %v", least.Round(time.Millisecond))
	if least <= 0 {
		w.Errorf("granted %v before a holder was told", -least)
	}
	for i := range n {
		w.Wants(holders[i].Err(), coord.ErrExpired)
		w.Must(others[i].Err())
		w.Must(others[i].Release(bg))
	}
}
