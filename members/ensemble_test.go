package members_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/members"
)

// A mortal is a client whose session can be ended behind its back.
type mortal struct {
	*coord.Client
	link *coordtest.Link

	mu  sync.Mutex
	key []byte // of the session as the server gave it: id, then password
}

func dialMortal(t *testing.T, servers []string, opts *coord.Options) *mortal {
	m := &mortal{link: coordtest.NewLink(nil)}
	t.Cleanup(m.link.Close)
	opts.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := m.link.Dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &keyhole{Conn: conn, m: m}, nil
	}
	m.Client = dialReal(t, servers, opts)
	return m
}

// A keyhole sees the key of the session that the server gives out.
type keyhole struct {
	net.Conn
	m    *mortal
	head []byte
}

const headSize = 4 + 4 + 4 + 8 + 4 + 16 // length, version, timeout, session, password with its length

func (k *keyhole) Read(b []byte) (int, error) {
	n, err := k.Conn.Read(b)
	if len(k.head) < headSize {
		if k.head = append(k.head, b[:n]...); len(k.head) >= headSize {
			k.m.mu.Lock()
			k.m.key = k.head[12:headSize]
			k.m.mu.Unlock()
		}
	}
	return n, err
}

// expire resumes the session of m at another connection, by way of the server
// addr, and closes it. It does not always succeed while servers come and go.
func (m *mortal) expire(addr string) error {
	heal := m.link.Cut()
	defer heal()
	m.mu.Lock()
	key := slices.Clone(m.key)
	m.mu.Unlock()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return err
	}
	b := binary.BigEndian.AppendUint32(nil, 44)
	b = append(b, make([]byte, 4+8)...)
	b = binary.BigEndian.AppendUint32(b, 4000)
	b = append(b, key...)
	b = append(b, 0, 0, 0, 8, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xf5) // xid 1, closeSession
	if _, err := conn.Write(b); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, conn) // until the server hangs up, having done it
	return err
}

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
// one and some of those who watch lose their sessions, to open others on other
// servers. Nobody loses its membership (R86), nobody is reported to have left, and
// whoever watches shows all again soon, and never less than before.
func TestLeadersDie(t *testing.T) {
	const (
		T     = 10 * time.Second
		every = 5 * time.Second
		dir   = "/leaders-die"
	)
	kills := 4
	if harness.Stress {
		kills = 12
	}
	e := ensemble.New(t, &ensemble.Options{Nodes: 3, JVM: unsynced})
	options := func() *coord.Options { return &coord.Options{SessionTimeout: T} }

	var groups []*members.Group
	var holds []*coord.Hold
	var keeps []*members.Membership
	var ids []string
	for i := range 5 {
		g := members.New(dialReal(t, e.Servers(), options()), dir)
		joins, keeping := fmt.Sprintf("joins-%d", i), fmt.Sprintf("keeps-%d", i)
		groups, ids = append(groups, g), append(ids, joins, keeping)
		holds = append(holds, g.Join(t.Context(), members.Member{ID: joins}))
		keeps = append(keeps, g.Keep(t.Context(), members.Member{ID: keeping}))
	}
	var onlookers []*onlooker
	for range 3 {
		onlookers = append(onlookers, lookOn(t, dialReal(t, e.Servers(), options()), dir))
	}
	var mortals []*mortal
	for range 2 {
		m := dialMortal(t, e.Servers(), options())
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
		n := someLeader(t, e)
		n.Kill()
		again(t, e, n)
		m := mortals[i%len(mortals)]
		waitState(t, m.Client, coord.Connected)
		old, at := m.Session(), m.Conn().Server()
		if err := m.expire(someLeader(t, e).Addr()); err != nil {
			t.Logf("expire: %v", err)
		}
		select {
		case <-old.Done():
			expiries++
			waitState(t, m.Client, coord.Connected)
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
		t.Logf("onlooker %d: suspended %d times, for %v at the most", i, n, longest.Round(time.Millisecond))
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

// again starts n, which was killed, and waits until all of e serve.
func again(t *testing.T, e *ensemble.Ensemble, n *ensemble.Node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := n.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if err := e.WaitServing(ctx); err != nil {
		t.Fatal(err)
	}
}

// someLeader returns the leader of e, once it has one.
func someLeader(t *testing.T, e *ensemble.Ensemble) *ensemble.Node {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-tick.C {
		if n := e.Leader(); n != nil {
			return n
		}
	}
	t.Fatal("no leader after a minute")
	return nil
}
