package members_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/members"
)

// suspensions returns how often o was suspended, and the longest time of that.
func (o *onlooker) suspensions() (n int, longest time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var since time.Time
	for _, s := range o.steps {
		switch s.what {
		case "?":
			n++
			since = s.at
		case "!":
			longest = max(longest, s.at.Sub(since))
		}
	}
	return n, longest
}

// TestLeadersDie kills the leader every five seconds, while members join one by
// one and some of the onlookers lose their sessions, to open others on other
// servers. Nobody loses its membership (R86), nobody is reported to have left, and
// every onlooker shows all again soon, and never less than before.
func TestLeadersDie(t *testing.T) {
	const (
		T     = 10 * time.Second
		every = 5 * time.Second
		dir   = "/leaders-die"
	)
	kills := harness.Times(3, 12)
	w := harness.On(t, ensemble.New(t, &ensemble.Options{Nodes: 3, JVM: unsynced}))
	dial := func() *coord.Client {
		return harness.Dial(t, w.Real.Servers(), &coord.Options{SessionTimeout: T})
	}

	var groups []*members.Group
	var holds []*coord.Hold
	var keeps []*members.Membership
	var ids []string
	for i := range 5 {
		g := members.New(dial(), dir)
		joins, keeping := fmt.Sprintf("joins-%d", i), fmt.Sprintf("keeps-%d", i)
		groups, ids = append(groups, g), append(ids, joins, keeping)
		holds = append(holds, g.Join(t.Context(), members.Member{ID: joins}))
		keeps = append(keeps, g.Keep(t.Context(), members.Member{ID: keeping}))
	}
	var onlookers []*onlooker
	for range 3 {
		onlookers = append(onlookers, lookOn(t, dial(), dir))
	}
	var mortals []*harness.Client // whose sessions are ended behind their backs
	for range 2 {
		m := w.Client(T)
		mortals, onlookers = append(mortals, m), append(onlookers, lookOn(t, m.Client, dir))
	}
	for _, o := range onlookers {
		o.until(t, "the first ten", exactly(ids))
	}
	tokens := make([]coord.Token, len(keeps))
	for i, k := range keeps {
		s := <-k.Updates()
		if !s.In {
			t.Fatal(s.Err)
		}
		tokens[i] = s.Token
	}

	// One more joins every fifth of a second, so that there is always something
	// that a server which is behind does not know yet.
	ctx, cancel := context.WithCancel(t.Context())
	stop, joined := make(chan struct{}), make(chan struct{})
	halt := sync.OnceFunc(func() { close(stop); <-joined })
	defer halt()
	defer cancel() // before, for a test that fails
	go func() {
		defer close(joined)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			id := fmt.Sprintf("more-%03d", i)
			h := groups[i%len(groups)].Join(ctx, members.Member{ID: id})
			holds, ids = append(holds, h), append(ids, id)
			if err := h.Wait(); err != nil {
				t.Errorf("%s: %v", id, err)
				return
			}
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()

	expiries, moved := 0, 0
	next := time.NewTicker(every)
	defer next.Stop()
	for i := range kills {
		n := w.Leader()
		n.Kill()
		w.Restart(n)
		m := mortals[i%len(mortals)]
		w.Await(m.Client, coord.Connected)
		old, at := m.Kit().Session(), m.Conn().Server()
		if err := m.ExpireAt(w.Leader().Addr()); err != nil {
			t.Logf("expire: %v", err)
		}
		select {
		case <-old.Done():
			expiries++
			w.Await(m.Client, coord.Connected)
			if m.Conn().Server() != at {
				moved++
			}
		case <-next.C: // the server has hung up on us for another reason
			continue
		}
		<-next.C
	}
	halt()
	if expiries == 0 {
		t.Error("no session was expired")
	}
	for i, o := range onlookers {
		o.until(t, "everybody", exactly(ids))
		n, longest := o.suspensions()
		t.Logf("onlooker %d: suspended %d times, for at most %v", i, n, longest.Round(time.Millisecond))
		if longest > T {
			t.Errorf("onlooker %d was suspended for %v", i, longest)
		}
		for _, id := range ids {
			if got := o.history(id); got != "+" {
				t.Errorf("onlooker %d, member %s: %q, want only that it came", i, id, got)
			}
		}
	}
	for _, h := range holds {
		if err := h.Err(); err != nil {
			t.Error(err)
		}
	}
	for i, k := range keeps {
		if s, _ := k.Latest(); !s.In || s.Token != tokens[i] {
			t.Errorf("keeps-%d was out, and is now: %+v, first token %d", i, s, tokens[i])
		}
	}
	t.Logf("%d kills, %d members, %d sessions expired, %d of them reopened on another server", kills, len(ids), expiries, moved)
}
