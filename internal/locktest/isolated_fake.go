package locktest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
)

const (
	leaderAddr = "leader:2181"
	othersAddr = "others:2181"
)

// tick is that of the in-process server, which ends sessions on its multiples.
const tick = 2 * time.Second

// IsolatedPhases is [IsolatedLeader] in bubbles, where the others elect in no time
// and the old leader never finds out, at every phase of the heartbeats and of the
// server's ticks, and no matter what the holder's program does meanwhile.
func IsolatedPhases(t *testing.T, s Subject) {
	terms := []time.Duration{4 * time.Second, 10 * time.Second}
	if harness.Stress {
		terms = append(terms, 6*time.Second)
	}
	for _, T := range terms {
		for i, x := range meanwhiles {
			for _, alone := range []bool{true, false} {
				name := fmt.Sprintf("T=%v, knows others, %s", T, x.name)
				if alone {
					name = fmt.Sprintf("T=%v, knows no other, %s", T, x.name)
				}
				span, phases := max(T/4, tick), 13
				if harness.Stress {
					phases = 49
				}
				if i > 0 {
					phases /= 4
				}
				t.Run(name, func(t *testing.T) {
					r := new(row)
					for j := 0; j < phases && !t.Failed(); j++ {
						phase := span * time.Duration(j) / time.Duration(phases)
						InBubble(t, s, func(w *World) { w.isolatedAt(r, phase, T, alone, x) })
					}
					if r.late > 0 {
						t.Errorf("of %d holders %d were told after the next was granted, by up to %v", r.kept+r.margins.runs, r.late, -r.margins.least)
					}
					t.Logf("%d held on, %d lost; smallest margin %v", r.kept, r.margins.runs, r.margins.least)
				})
			}
		}
	}
}

// A meanwhile is something that goes on at the isolated leader.
type meanwhile struct {
	name  string
	every time.Duration // zero for once
	do    func(w *World, a *Client, s *coord.Session)
}

var meanwhiles = []meanwhile{
	{"nothing else", 0, func(*World, *Client, *coord.Session) {}},
	{"connection lost again and again", 300 * time.Millisecond, func(_ *World, a *Client, _ *coord.Session) { a.Link.Reset() }},
	{"program reads and syncs", 100 * time.Millisecond, func(w *World, _ *Client, s *coord.Session) {
		// That they fail in the end is not the matter here.
		_ = s.Sync(bg, w.Dir)
		_, _ = s.Exists(bg, w.Dir)
	}},
	{"program writes", 0, func(w *World, _ *Client, s *coord.Session) {
		_, _ = s.Set(bg, "/", nil, -1)
	}},
}

// run does x until stop is called.
func (x meanwhile) run(w *World, a *Client) (stop func()) {
	s := a.Kit().Session() // not in the next, where it would be another matter
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		x.do(w, a, s)
		if x.every == 0 {
			return
		}
		again := time.NewTicker(x.every)
		defer again.Stop()
		for {
			select {
			case <-again.C:
				x.do(w, a, s)
			case <-over:
				return
			}
		}
	})
	return func() {
		close(over)
		wg.Wait()
	}
}

// isolatedAt isolates the leader, to which a holder is connected, when that has held
// for phase, and notes in r what becomes of it.
func (w *World) isolatedAt(r *row, phase, T time.Duration, alone bool, x meanwhile) {
	a := at(w.World, []string{leaderAddr, othersAddr}, alone, T)
	b := w.Dial([]string{othersAddr}, &coord.Options{SessionTimeout: 40 * time.Second})
	c := &captive{w: w, a: a, ha: w.Held(a), next: w.contend(b)}
	time.Sleep(phase)
	began := time.Now()
	heal := w.Fake.Isolate(leaderAddr)
	stop := sync.OnceFunc(x.run(w, a))
	defer stop()
	defer heal() // before that, for the callers that wait for an answer
	o := c.outcome(leaderAddr)
	r.add(o, began)
	w.Must(o.next.Release(bg))
	heal()
	stop()
	if !o.saved { // it can go on
		w.Wait("done", c.ha.Done())
		again := w.Acquire(bg, a.Client, w.Dir)
		for errors.Is(w.Outcome(again), coord.ErrExpired) {
			// It was about to learn that yet another session is over.
			again = w.Acquire(bg, a.Client, w.Dir)
		}
		w.Grant(again)
		if again.Token() <= o.next.Token() {
			w.Errorf("token %d after %d", again.Token(), o.next.Token())
		}
		w.Must(again.Release(bg))
	}
}
