package locktest

import (
	"context"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/ensemble"
)

// NoFalseLoss breaks what an ensemble of three can do without, and checks that a
// hold survives it, in its session. (R86.)
func NoFalseLoss(t *testing.T, s Subject) {
	e := ensemble.New(t, &ensemble.Options{Nodes: 3})
	home := func(w *World, c *Client) *ensemble.Node {
		for _, n := range e.Nodes() {
			if n.Addr() == c.Conn().Server() {
				return n
			}
		}
		w.Fatalf("connected to %s, which is none of ours", c.Conn().Server())
		return nil
	}
	restart := func(w *World, n *ensemble.Node) {
		ctx, cancel := context.WithTimeout(bg, time.Minute)
		defer cancel()
		must(w, n.Restart(ctx))
	}
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
			n := home(w, a)
			n.Kill()
			return func() { restart(w, n) }
		}},
		{"a SIGSTOP of the holder's follower", T, func(w *World, a *Client) func() {
			n := home(w, a)
			n.Freeze()
			return n.Thaw
		}},
		{"a kill -9 of the leader", T, func(w *World, a *Client) func() {
			n := leader(w.TB, e)
			n.Kill()
			return func() { restart(w, n) }
		}},
		{"a kill -9 of the leader, with the least T that servers commonly give", 4 * time.Second, func(w *World, a *Client) func() {
			n := leader(w.TB, e)
			n.Kill()
			return func() { restart(w, n) }
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			w := on(t, s, e)
			led := follower(t, e).Addr()
			a := w.Client(x.T)
			for { // round the ring to the follower
				at := a.Conn().Server()
				if at == led {
					break
				}
				a.Link.Reset()
				w.Eventually("another server", func() bool { return a.Conn().Server() != at })
			}
			await(w, a, coord.Connected)
			b := w.Client(40 * time.Second)
			ha, hb := w.Held(a), w.Behind(b, 2)
			session := a.Session()
			began := time.Now()
			heal := x.hurt(w, a)
			defer heal()
			// It has been heard by somebody since.
			w.Eventually("heard again", func() bool {
				return ha.Err() != nil || ha.Until().Sub(began) > x.T*64/100+50*time.Millisecond
			})
			gap := time.Since(began)
			must(w, ha.Err())
			open(w, "lost", ha.Lost())
			open(w, "acquired", hb.Acquired())
			if a.Session() != session {
				w.Error("another session")
			}
			t.Logf("heard again after %v, with the lease good for %v more", gap.Round(time.Millisecond), time.Until(ha.Until()).Round(time.Millisecond))
			must(w, ha.Release(bg))
			w.Grant(hb)
			must(w, hb.Release(bg))
		})
	}
}
