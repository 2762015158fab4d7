package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/lock"
)

// What an ensemble of three can do without costs the holder of an unqueued lock
// nothing, and lets nobody in beside it. (R86.)
func TestUnqueuedNoFalseLoss(t *testing.T) {
	const T = 10 * time.Second
	e := ensemble.New(t, &ensemble.Options{Nodes: 3})
	link := coordtest.NewLink(nil)
	t.Cleanup(link.Close)
	dial := func(servers []string, opts *coord.Options) *coord.Client {
		opts.SessionTimeout = T
		c, err := coord.Dial(t.Context(), servers, opts)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	var followers []string // a frozen leader is missed only after syncLimit
	for _, n := range e.Followers() {
		followers = append(followers, n.Addr())
	}
	ours, theirs := dial(followers, &coord.Options{Dial: link.Dial}), dial(e.Servers(), &coord.Options{})
	held := lock.NewUnqueued(ours, "/unqueued/lock").Acquire(t.Context())
	if err := held.Wait(); err != nil {
		t.Fatal(err)
	}
	next := lock.NewUnqueued(theirs, "/unqueued/lock").Acquire(t.Context())
	session := ours.Kit().Session()
	restart := func(n *ensemble.Node) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := n.Restart(ctx); err != nil {
			t.Fatal(err)
		}
		if err := e.WaitServing(ctx); err != nil {
			t.Fatal(err)
		}
	}
	home := func() *ensemble.Node {
		for _, n := range e.Nodes() {
			if n.Addr() == ours.Conn().Server() {
				return n
			}
		}
		t.Fatalf("connected to %s", ours.Conn().Server())
		return nil
	}
	for _, x := range []struct {
		name string
		hurt func() (heal func())
	}{
		{"a cut of T/3", func() func() {
			heal := link.Stall(coordtest.Both)
			<-time.After(T / 3)
			heal()
			return func() {}
		}},
		{"a reset", func() func() { link.Reset(); return func() {} }},
		{"a kill -9 of the holder's server", func() func() { n := home(); n.Kill(); return func() { restart(n) } }},
		{"a SIGSTOP of the holder's server", func() func() { n := home(); n.Freeze(); return n.Thaw }},
	} {
		began := time.Now()
		heal := x.hurt()
		tick := time.NewTicker(5 * time.Millisecond)
		deadline := time.After(time.Minute)
		for held.Err() == nil && held.Until().Sub(began) < T*64/100+T/5 { // until it has been heard since
			select {
			case <-tick.C:
			case <-deadline:
				t.Fatalf("%s: not heard again", x.name)
			}
		}
		tick.Stop()
		if err := held.Err(); err != nil || ours.Kit().Session() != session {
			t.Fatalf("%s: %v, or another session", x.name, err)
		}
		select {
		case <-next.Acquired():
			t.Fatalf("%s: two hold", x.name)
		default:
		}
		heal()
	}
	if err := held.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if err := next.Wait(); err != nil {
		t.Error(err)
	}
}
