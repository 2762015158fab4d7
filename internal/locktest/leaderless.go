package locktest

import (
	"fmt"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/ensemble"
)

// Leaderless cuts servers off from each other and not from their clients. A
// follower that has lost its leader goes on answering heartbeats and reads, for
// longer than the leader keeps its clients' sessions; so must a frozen leader's.
// A holder there is told before the next gets the lock, or is saved by another
// server; in no case do two hold. (R2, R21.)
func Leaderless(t *testing.T, s Subject) {
	t.Run("T=4s, the leader freezes for longer than it", func(t *testing.T) {
		const T = 4 * time.Second
		e := ensemble.New(t, &ensemble.Options{Nodes: 3}) // which takes no root
		w := on(t, s, e)
		n := e.Settled(t)
		followers := w.Elsewhere(n)
		a := w.Dial(followers[:1], &coord.Options{SessionTimeout: T})
		b := w.Dial(followers[1:], &coord.Options{SessionTimeout: 40 * time.Second})
		ha, hb := w.Held(a), w.Behind(b, 2)
		n.Freeze()
		time.AfterFunc(T*3/2, n.Thaw) // before its followers give it up, after 5 ticks
		told, had := w.follow(ha.Lost()), w.follow(hb.Acquired())
		margin := (<-had).Sub(<-told)
		if margin <= 0 {
			t.Errorf("granted %v before the holder was told", -margin)
		}
		t.Logf("margin %v", margin.Round(time.Millisecond))
		w.Must(hb.Release(bg))
	})
	e := ensemble.New(t, &ensemble.Options{Nodes: 3, Namespaces: true})
	for _, T := range []time.Duration{4 * time.Second, 10 * time.Second} {
		t.Run(fmt.Sprintf("T=%v, a follower loses its leader, its clients know no other", T), func(t *testing.T) {
			w := on(t, s, e)
			e.Settled(t)
			n := w.Follower()
			a := w.Dial([]string{n.Addr()}, &coord.Options{SessionTimeout: T})
			others := w.Elsewhere(n)
			w.SetOperator(w.Dial(others, &coord.Options{}))
			b := w.Dial(others, &coord.Options{SessionTimeout: T})
			margin := w.partition(a, b, T, 0, func() func() { return w.Isolate(n, ensemble.Silence) }, true)
			t.Logf("margin %v", margin.Round(time.Millisecond))
		})
	}
	t.Run("a follower loses its leader, its clients know others", func(t *testing.T) {
		w := on(t, s, e)
		e.Settled(t)
		n := w.Follower()
		a := w.Client(10 * time.Second)
		w.MoveTo(a, n.Addr())
		w.SetOperator(w.Dial(w.Elsewhere(n), &coord.Options{}))
		b := w.Dial(w.Elsewhere(n), &coord.Options{})
		ha, hb := w.Held(a), w.Behind(b, 2)
		heal := w.Isolate(n, ensemble.Silence)
		defer heal()
		w.Eventually("left for another server", func() bool { return ha.Err() != nil || a.Conn().Server() != n.Addr() })
		w.Await(a.Client, coord.Connected)
		w.Eventually("good for longer", func() bool { return ha.Err() != nil || time.Until(ha.Until()) > 5*time.Second })
		w.Must(ha.Err())
		w.IsOpen("acquired", hb.Acquired())
		w.Must(ha.Release(bg))
		w.Grant(hb)
		w.Must(hb.Release(bg))
	})
}
