package chaos

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/history"
)

// serverBlows are what is done to servers in a round of one to two minutes.
func serverBlows() []blow {
	return []blow{
		{"kill leader", (*track).killLeader},
		{"kill leader", (*track).killLeader},
		{"kill follower", (*track).killFollower},
		{"kill follower", (*track).killFollower},
		{"isolate leader", func(t *track) error { return t.isolateLeader(ensemble.Reset) }},
		{"isolate leader", func(t *track) error { return t.isolateLeader(ensemble.Reset) }},
		{"isolate leader, others restarted", func(t *track) error { return t.isolateLeader(ensemble.Restart) }},
		{"isolate leader, silently", func(t *track) error { return t.isolateLeader(ensemble.Silence) }},
		{"isolate follower", (*track).isolateFollower},
		{"wipe", (*track).wipe},
		{"truncate", (*track).truncate},
		{"outage", (*track).outage},
		{"freeze leader", func(t *track) error { return t.freeze(true) }},
		{"freeze follower", func(t *track) error { return t.freeze(false) }},
		{"freeze all", (*track).freezeAll},
		{"cut link", (*track).cutLink},
		{"cut clients", (*track).cutClients},
		{"slow line", (*track).slow},
		{"slow disk", (*track).slowDisk},
		{"stutter", (*track).stutter},
	}
}

// servers strikes at the servers, one blow after the other.
func (t *track) servers(deck []blow) error {
	return t.blows(deck, func() error {
		err := t.settle()
		t.sleep(t.between(0, time.Second))
		return err
	})
}

// any returns a server that leads, or one that does not.
func (t *track) any(leads bool) *ensemble.Node {
	leader := t.ensemble.Leader()
	if leads {
		if leader != nil {
			return leader
		}
		return t.ensemble.Node(0) // the last blow has left none
	}
	nodes := t.ensemble.Nodes()
	for {
		if n := nodes[t.rng.IntN(len(nodes))]; n != leader {
			return n
		}
	}
}

func (t *track) kill(nodes ...*ensemble.Node) {
	var killing sync.WaitGroup
	for _, n := range nodes {
		killing.Go(n.Kill)
		t.kills.Add(1)
	}
	killing.Wait()
}

func launch(nodes ...*ensemble.Node) error {
	for _, n := range nodes {
		if err := n.Launch(); err != nil {
			return err
		}
	}
	return nil
}

func (t *track) killLeader() error   { return t.killOne("kill leader", t.any(true)) }
func (t *track) killFollower() error { return t.killOne("kill follower", t.any(false)) }

func (t *track) killOne(f string, n *ensemble.Node) error {
	defer t.fault(f, n.Addr())()
	t.kill(n)
	t.sleep(t.between(0, 2500*time.Millisecond))
	return launch(n)
}

// outage kills all servers, for less than a session timeout or for more.
func (t *track) outage() error {
	long := t.rng.IntN(2) == 0
	defer t.fault("outage", map[bool]string{false: "shorter than T", true: "longer than T"}[long])()
	t.kill(t.ensemble.Nodes()...)
	if long {
		t.sleep(t.between(t.timeout, t.timeout*3/2))
	}
	return launch(t.ensemble.Nodes()...)
}

// isolateLeader cuts the leader off from the others, not from its clients, for longer than
// the others need to elect anew and end the sessions that they do not hear.
func (t *track) isolateLeader(how ensemble.Isolation) error {
	n := t.any(true)
	healed := t.fault(history.Isolate, fmt.Sprintf("%s, %s", n.Addr(), how))
	defer healed()
	if how == ensemble.Restart {
		t.kills.Add(int64(len(t.ensemble.Nodes()) - 1))
	}
	heal, err := t.ensemble.Isolate(n, how)
	if err != nil {
		return err
	}
	defer heal()
	d := t.timeout + t.between(2*time.Second, 4*time.Second)
	if how == ensemble.Silence {
		d += t.timeout // so long the others take to find out
	}
	t.sleep(d)
	return nil
}

func (t *track) isolateFollower() error {
	n := t.any(false)
	defer t.fault("isolate follower", n.Addr())()
	heal, err := t.ensemble.Isolate(n, ensemble.Silence)
	if err != nil {
		return err
	}
	defer heal()
	t.sleep(t.between(t.timeout, 2*t.timeout))
	return nil
}

// wipe makes a follower start without data. All others have theirs: the servers have
// settled.
func (t *track) wipe() error {
	n := t.any(false)
	defer t.fault("wipe follower", n.Addr())()
	t.kills.Add(1)
	if err := n.Wipe(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), settlePatience)
	defer cancel()
	_ = n.Restart(ctx) // if it does not serve by then, settle sees to it
	return nil
}

// truncate makes a server log what the others never get. It isolates the leader, has it
// asked for writes, and kills all. The others elect a leader, and before that one has
// carried anything out, which is why no client may reach it, the former one comes back:
// what its log has more than the others' must go.
func (t *track) truncate() error {
	old := t.any(true)
	var others []*ensemble.Node
	for _, n := range t.ensemble.Nodes() {
		if n != old {
			others = append(others, n)
		}
	}
	defer t.fault("log ahead", old.Addr())()
	conn, events, err := zk.Connect([]string{old.Addr()}, 2*t.timeout, zk.WithLogger(mute{}))
	if err != nil {
		return err
	}
	defer conn.Close()
	for deadline := time.After(settlePatience); conn.State() != zk.StateHasSession; {
		select {
		case <-events:
		case <-deadline:
			return nil // it does not lead any more
		}
	}
	for _, n := range others {
		heal, err := t.ensemble.Cut(n, ensemble.Both, t.ensemble.ClientNet())
		if err != nil {
			return err
		}
		defer heal()
	}
	heal, err := t.ensemble.Isolate(old, ensemble.Silence)
	if err != nil {
		return err
	}
	defer heal()
	for range 20 {
		go func() { _, _ = conn.Set(root, nil, -1) }() // until the server dies: nobody answers
	}
	time.Sleep(300 * time.Millisecond) // the server logs at once
	t.kill(t.ensemble.Nodes()...)
	heal()
	if err := launch(others...); err != nil {
		return err
	}
	if t.awaitLeader(others, settlePatience) == nil {
		return launch(old)
	}
	if err := launch(old); err != nil {
		return err
	}
	t.awaitLeader(t.ensemble.Nodes(), settlePatience)
	return nil
}

// mute is a logger of go-zookeeper that says nothing.
type mute struct{}

func (mute) Printf(string, ...any) {}

func (t *track) freeze(leads bool) error {
	n := t.any(leads)
	f := map[bool]string{false: "freeze follower", true: "freeze leader"}[leads]
	defer t.fault(f, n.Addr())()
	n.Freeze()
	defer n.Thaw()
	t.sleep(t.between(t.timeout/8, 3*t.timeout))
	return nil
}

// freezeAll stops all servers for less than a session timeout or for more.
func (t *track) freezeAll() error {
	defer t.fault("freeze all", "")()
	for _, n := range t.ensemble.Nodes() {
		n.Freeze()
		defer n.Thaw()
	}
	t.sleep(t.between(t.timeout/4, t.timeout*3/2))
	return nil
}
