package locktest

import (
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/ensemble"
)

// NoFalseLoss breaks what an ensemble of three can do without, and checks that a
// hold survives it, in its session. (R86.)
func NoFalseLoss(t *testing.T, s Subject) {
	e := ensemble.New(t, &ensemble.Options{Nodes: 3})
	const T = 10 * time.Second
	for _, x := range []struct {
		name string
		T    time.Duration
		hurt func(w *World, a *Client) (heal func())
	}{
		{"a cut of T/3", T, func(w *World, a *Client) func() {
			heal := a.Link.Stall(coordtest.Both)
			<-time.After(T / 3)
			heal()
			return func() {}
		}},
		{"a reset of the connection", T, func(w *World, a *Client) func() {
			a.Link.Reset()
			return func() {}
		}},
		{"a kill -9 of the holder's follower", T, func(w *World, a *Client) func() {
			n := w.Home(a)
			n.Kill()
			return func() { w.Restart(n) }
		}},
		{"a SIGSTOP of the holder's follower", T, func(w *World, a *Client) func() {
			n := w.Home(a)
			n.Freeze()
			return n.Thaw
		}},
		{"a kill -9 of the leader", T, func(w *World, a *Client) func() {
			n := w.Leader()
			n.Kill()
			return func() { w.Restart(n) }
		}},
		{"a kill -9 of the leader, with the least T that servers commonly give", 4 * time.Second, func(w *World, a *Client) func() {
			n := w.Leader()
			n.Kill()
			return func() { w.Restart(n) }
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			w := on(t, s, e)
			a := w.Client(x.T)
			w.MoveTo(a, w.Follower().Addr())
			b := w.Client(40 * time.Second)
			ha, hb := w.Held(a), w.Behind(b, 2)
			session := a.Kit().Session()
			began := time.Now()
			heal := x.hurt(w, a)
			defer heal()
			// It has been heard by somebody since.
			w.Eventually("heard again", func() bool {
				return ha.Err() != nil || ha.Until().Sub(began) > x.T*64/100+50*time.Millisecond
			})
			gap := time.Since(began)
			w.Must(ha.Err())
			w.IsOpen("lost", ha.Lost())
			w.IsOpen("acquired", hb.Acquired())
			if a.Kit().Session() != session {
				w.Error("another session")
			}
			t.Logf("heard again after %v, with the lease good for %v more", gap.Round(time.Millisecond), time.Until(ha.Until()).Round(time.Millisecond))
			w.Must(ha.Release(bg))
			w.Grant(hb)
			w.Must(hb.Release(bg))
		})
	}
}
