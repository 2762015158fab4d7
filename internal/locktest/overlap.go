package locktest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// A cut is a way in which a holder loses touch with its server.
type cut struct {
	name string
	// make breaks the link of the holder a and returns what heals it.
	make func(w *World, a *Client) (heal func())
}

var cuts = []cut{
	{"silence in both directions", func(w *World, a *Client) func() { return a.Link.Stall(coordtest.Both) }},
	{"requests lost, while watch events keep arriving", deaf},
	{"reset and refused", func(w *World, a *Client) func() { return a.Link.Cut() }},
}

// deaf lets nothing through to the server any more, while the server has
// something to tell every tenth of a second.
func deaf(w *World, a *Client) func() {
	ctx, cancel := context.WithCancel(bg)
	paths := make([]string, 100)
	for i := range paths {
		paths[i] = fmt.Sprintf("%s-noise-%d-%d", w.Dir, a.Kit().Session().ID(), i)
		s := a.Watch(ctx, paths[i], event.Presence)
		<-s.Updates()
	}
	var heard atomic.Int32
	a.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
		if f.Op == "event" {
			heard.Add(1)
		}
		return coordtest.Pass
	})
	heal := a.Link.Stall(coordtest.ToServer)
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for _, p := range paths {
			s := w.Operator().Kit().Session()
			_ = s.InDir(ctx, path.Dir(p), func() error {
				_, err := s.Create(ctx, p, nil, coord.Container)
				return err
			})
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		a.Link.OnFrame(nil)
		if n := heard.Load(); n < 5 {
			w.Errorf("only %d events during the cut: it was silence", n)
		}
		heal()
		cancel()
		wg.Wait()
		for _, p := range paths {
			_ = w.Op().Delete(p, -1)
		}
	}
}

// NoOverlap cuts holders off in every way, on real servers, and checks that each
// is told before the next gets the lock, whether the cut heals before the
// ensemble ends the session or after. (R2, R16, R21, R85.)
func NoOverlap(t *testing.T, s Subject) {
	runs, timeouts := 2, []time.Duration{4 * time.Second}
	if harness.Stress {
		runs, timeouts = 20, []time.Duration{4 * time.Second, 6 * time.Second}
	}
	e := ensemble.New(t, &ensemble.Options{Nodes: 3})
	var freezing sync.Mutex // one server at a time
	for _, T := range timeouts {
		for _, late := range []bool{false, true} {
			run := func(name string, f func(t *testing.T, y *margins)) {
				name = fmt.Sprintf("T=%v, %s, healed %s expiry", T, name, map[bool]string{false: "before", true: "after"}[late])
				t.Run(name, func(t *testing.T) {
					if !harness.Stress {
						t.Parallel() // they mostly wait
					}
					var y margins
					f(t, &y)
					measured.merge(&y)
					t.Logf("smallest margin of %d: %v", y.runs, y.least.Round(time.Millisecond))
				})
			}
			for _, x := range cuts {
				run(x.name, func(t *testing.T, y *margins) {
					var wg sync.WaitGroup
					for i := range runs {
						w := on(t, s, ensemble.Shared(t))
						a, b := w.Client(T), w.Client(T)
						w = w.aside()
						wg.Go(func() {
							y.add(w.partition(a, b, T, i, func() func() { return x.make(w, a) }, late))
						})
					}
					wg.Wait()
				})
			}
			run("server frozen", func(t *testing.T, y *margins) {
				freezing.Lock()
				defer freezing.Unlock()
				frozen(t, e, s, y, T, runs, late)
			})
		}
	}
}

// partition makes a hold the lock and b wait for it, cuts a off, and returns by
// how much a was told before b was granted.
func (w *World) partition(a, b *Client, T time.Duration, i int, cut func() (heal func()), late bool) time.Duration {
	ha, hb := w.Held(a), w.Behind(b, 2)
	<-time.After(time.Duration(i%10) * T / 60) // at another phase of the heartbeats each time
	heal := sync.OnceFunc(cut())
	defer heal()
	if !late {
		timer := time.AfterFunc(T*4/5, heal) // the lease is over, the session is not
		defer timer.Stop()
	}
	told := w.follow(ha.Lost())
	when, granted := <-w.follow(w.settled(hb))
	for granted && errors.Is(hb.Err(), coord.ErrExpired) && !isOver(hb.Acquired()) {
		// Its session is as short, and the machine too busy. It comes again.
		hb = w.Acquire(bg, b.Client, w.Dir)
		when, granted = <-w.follow(w.settled(hb))
	}
	knew, lost := <-told
	if !granted || !lost {
		w.FailNow() // follow has said why
	}
	w.IsClosed("acquired", hb.Acquired())
	margin := when.Sub(knew)
	if margin <= 0 {
		w.Errorf("granted %v before the holder was told", -margin)
	}
	w.Wants(ha.Err(), coord.ErrExpired)
	w.Must(hb.Release(bg))
	heal()
	// The one that was cut off can go on.
	again := w.Acquire(bg, a.Client, w.Dir)
	for errors.Is(w.Outcome(again), coord.ErrExpired) {
		// Its only server, just thawed, may be too slow for one more session.
		again = w.Acquire(bg, a.Client, w.Dir)
	}
	w.Grant(again)
	if again.Token() <= hb.Token() {
		w.Errorf("token %d after %d", again.Token(), hb.Token())
	}
	w.Must(again.Release(bg))
	return margin
}

// settled returns what is closed when h is held or over.
func (w *World) settled(h *coord.Hold) <-chan struct{} {
	known := make(chan struct{})
	go func() {
		defer close(known)
		_ = h.Wait()
	}()
	return known
}

// follow returns the moment at which ch is closed, or a closed channel if that
// does not happen.
func (w *World) follow(ch <-chan struct{}) <-chan time.Time {
	at := make(chan time.Time, 1)
	go func() {
		defer close(at)
		w := w.aside()
		w.Wait("news of a holder", ch)
		at <- time.Now()
	}()
	return at
}

// frozen stops a follower of e, with holders that know no other server. The leader
// ends their sessions, and contenders with other servers get the locks.
func frozen(t *testing.T, e *ensemble.Ensemble, s Subject, y *margins, T time.Duration, runs int, late bool) {
	root := harness.On(t, e)
	e.Settled(t)
	for done := 0; done < runs; done += 10 {
		ice := root.Follower()
		others := root.Elsewhere(ice)
		root.SetOperator(root.Dial(others, &coord.Options{}))
		cold, thaw := make(chan struct{}), make(chan struct{})
		var ready, melted, over sync.WaitGroup
		for i := range min(10, runs-done) {
			w := In(root.At(fmt.Sprintf("%s-%d", root.Dir, done+i)), s)
			a := w.Dial([]string{ice.Addr()}, &coord.Options{SessionTimeout: T})
			b := w.Dial(others, &coord.Options{SessionTimeout: T})
			ready.Add(1)
			melted.Add(1)
			arrive, leave := sync.OnceFunc(ready.Done), sync.OnceFunc(melted.Done)
			w = w.aside()
			over.Go(func() {
				defer leave() // both also if it fails before
				defer arrive()
				y.add(w.partition(a, b, T, i, func() func() {
					arrive()
					<-cold
					return func() { leave(); <-thaw }
				}, late))
			})
		}
		ready.Wait()
		ice.Freeze()
		close(cold)
		melted.Wait()
		ice.Thaw()
		close(thaw)
		over.Wait()
	}
}
