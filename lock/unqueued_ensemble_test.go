package lock_test

import (
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock"
)

// What an ensemble of three can do without costs the holder of an unqueued lock
// nothing, and lets nobody in beside it. (R86.)
func TestUnqueuedNoFalseLoss(t *testing.T) {
	const T = 10 * time.Second
	w := harness.On(t, ensemble.New(t, &ensemble.Options{Nodes: 3}))
	var followers []string // a frozen leader is missed only after syncLimit
	for _, n := range w.Real.Followers() {
		followers = append(followers, n.Addr())
	}
	ours := w.Dial(followers, &coord.Options{SessionTimeout: T})
	held := lock.NewUnqueued(ours.Client, "/unqueued/lock").Acquire(t.Context())
	w.Must(held.Wait())
	next := lock.NewUnqueued(w.Client(T).Client, "/unqueued/lock").Acquire(t.Context())
	session := ours.Kit().Session()
	for _, x := range []struct {
		name string
		hurt func() (heal func())
	}{
		{"a cut of T/3", func() func() {
			heal := ours.Link.Stall(coordtest.Both)
			<-time.After(T / 3)
			heal()
			return func() {}
		}},
		{"a reset", func() func() { ours.Link.Reset(); return func() {} }},
		{"a kill -9 of the holder's server", func() func() { n := w.Home(ours); n.Kill(); return func() { w.Restart(n) } }},
		{"a SIGSTOP of the holder's server", func() func() { n := w.Home(ours); n.Freeze(); return n.Thaw }},
	} {
		began := time.Now()
		heal := x.hurt()
		w.Eventually(x.name+": heard since", func() bool {
			return held.Err() != nil || held.Until().Sub(began) >= T*64/100+T/5
		})
		if err := held.Err(); err != nil || ours.Kit().Session() != session {
			t.Fatalf("%s: %v, or another session", x.name, err)
		}
		w.IsOpen(x.name+": acquired by the next", next.Acquired())
		heal()
	}
	w.Must(held.Release(t.Context()))
	w.Must(next.Wait())
}
