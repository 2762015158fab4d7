package locktest

import (
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/ensemble"
)

// A hurt is something that a hold survives if the servers are quick enough.
type hurt struct {
	name   string
	T      time.Duration
	silent time.Duration // for how long the client hears nothing, however quick they are
	do     func(w *World, a *Client) (heal func())
}

// NoFalseLoss breaks what an ensemble of three can do without, and checks that a
// hold survives it, in its session. (R86.) A hold that is lost after the servers, or this
// process, stood still for longer than it can survive shows nothing. Then it is done again.
func NoFalseLoss(t *testing.T, s Subject) {
	e := ensemble.New(t, &ensemble.Options{Nodes: 3})
	const T = 10 * time.Second
	for _, x := range []hurt{
		{"a cut of T/3", T, T / 3, func(w *World, a *Client) func() {
			heal := a.Link.Stall(coordtest.Both)
			<-time.After(T / 3)
			heal()
			return func() {}
		}},
		{"a reset of the connection", T, 0, func(w *World, a *Client) func() {
			a.Link.Reset()
			return func() {}
		}},
		{"a kill -9 of the holder's follower", T, 0, func(w *World, a *Client) func() {
			n := w.Home(a)
			n.Kill()
			return func() { w.Restart(n) }
		}},
		{"a SIGSTOP of the holder's follower", T, T / 3, func(w *World, a *Client) func() {
			n := w.Home(a)
			n.Freeze()
			return n.Thaw
		}},
		{"a kill -9 of the leader", T, 0, func(w *World, a *Client) func() {
			n := w.Leader()
			n.Kill()
			return func() { w.Restart(n) }
		}},
		{"a kill -9 of the leader, with the least T that servers commonly give", 4 * time.Second, 0, func(w *World, a *Client) func() {
			n := w.Leader()
			n.Kill()
			return func() { w.Restart(n) }
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			for range 3 {
				if x.survived(on(t, s, e)) {
					return
				}
			}
			t.Skip("the machine is too busy to tell")
		})
	}
}

// survived does x to a holder, and reports whether that has shown something.
func (x hurt) survived(w *World) bool {
	a := w.Client(x.T)
	w.MoveTo(a, w.Follower().Addr())
	b := w.Client(40 * time.Second)
	ha, hb := w.Held(a), w.Behind(b, 2)
	session := a.Kit().Session()
	stillness := w.stillness()
	began := time.Now()
	heal := x.do(w, a)
	defer heal()
	// It has been heard by somebody since.
	w.Eventually("heard again", func() bool {
		return ha.Err() != nil || ha.Until().Sub(began) > x.T*64/100+50*time.Millisecond
	})
	gap, still := time.Since(began), stillness()
	shows := ha.Err() == nil || x.silent+still < x.T*64/100-x.T/8
	if shows {
		w.Must(ha.Err())
		w.IsOpen("lost", ha.Lost())
		w.IsOpen("acquired", hb.Acquired())
		if a.Kit().Session() != session {
			w.Error("another session")
		}
	}
	w.Logf("%v after %v, with the lease good for %v more; the servers stood still for %v", ha.Err(),
		gap.Round(time.Millisecond), time.Until(ha.Until()).Round(time.Millisecond), still.Round(time.Millisecond))
	w.Must(ha.Release(bg))
	w.Grant(hb)
	w.Must(hb.Release(bg))
	return shows
}

// stillness begins to measure for how long, at most, no server leads, none that leads
// answers, or this process is not run. It ends when the result is asked for.
func (w *World) stillness() (longest func() time.Duration) {
	stop, result := make(chan struct{}), make(chan time.Duration)
	go func() {
		longest, last := time.Duration(0), time.Now()
		for {
			asked := time.Now()
			leads := w.Real.Leader() != nil
			longest = max(longest, time.Since(last))
			if leads {
				last = asked
			}
			select {
			case <-stop:
				result <- longest
				return
			case <-w.Context().Done():
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	return func() time.Duration {
		close(stop)
		return <-result
	}
}
