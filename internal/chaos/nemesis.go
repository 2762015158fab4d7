package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/history"
)

// A nemesis hurts servers and clients. What it does comes from a seed; when, and what
// becomes of it, does not.
type nemesis struct {
	ctx      context.Context // ends when no more faults are to come
	ensemble *ensemble.Ensemble
	store    *store
	children []*child
	timeout  time.Duration // of the sessions
	record   *history.Recorder
	clock    func() time.Duration // of the history
	logf     func(format string, args ...any)

	kills    atomic.Int64 // of servers
	restarts atomic.Int64 // of all servers, because they did not come together
	halts    []halt       // of holders
}

// A track is one of the nemesis's hands: its faults come one after the other, beside
// those of the others.
type track struct {
	*nemesis
	name string
	rng  *rand.Rand
	op   int64
}

func (n *nemesis) track(name string, seed uint64) *track {
	for _, b := range []byte(name) {
		seed = seed*31 + uint64(b)
	}
	return &track{nemesis: n, name: "nemesis/" + name, rng: rand.New(rand.NewPCG(seed, seed))}
}

// fault records that a fault begins, and returns what records its end.
func (t *track) fault(f, value string) (healed func()) {
	t.op++
	e := history.Event{Proc: t.name, Kind: history.Fault, F: f, Value: value, Op: t.op}
	t.logf("%s: %s", f, value)
	t.record.Record(e)
	return func() {
		e.Kind, e.At = history.Healed, 0
		t.record.Record(e)
	}
}

// sleep waits for d, or until no more faults are to come.
func (t *track) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.ctx.Done():
	}
}

// between returns a time.
func (t *track) between(from, to time.Duration) time.Duration {
	return from + time.Duration(t.rng.Int64N(int64(to-from)+1))
}

// direction returns one.
func (t *track) direction() ensemble.Direction {
	return []ensemble.Direction{ensemble.In, ensemble.Out, ensemble.Both}[t.rng.IntN(3)]
}

// A blow is a fault, with what it takes to inflict and heal it.
type blow struct {
	name   string
	strike func(*track) error
}

// blows strikes all of deck, in any order and again and again, until no more faults are to
// come. After each it calls recover.
func (t *track) blows(deck []blow, recover func() error) error {
	for {
		for _, i := range t.rng.Perm(len(deck)) {
			if t.ctx.Err() != nil {
				return nil
			}
			if err := deck[i].strike(t); err != nil {
				return fmt.Errorf("%s: %w", deck[i].name, err)
			}
			if err := recover(); err != nil {
				return err
			}
		}
	}
}

// settlePatience is how long servers have to come together after a fault.
const settlePatience = 45 * time.Second

// settle waits until all servers run and one leads the others. If that takes too long, which
// is not for the library to answer, they are all started anew.
func (t *track) settle() error {
	for range 5 {
		if t.awaitLeader(t.ensemble.Nodes(), settlePatience) != nil {
			return nil
		}
		t.restarts.Add(1)
		t.logf("the servers do not come together: all of them are started anew")
		for _, n := range t.ensemble.Nodes() {
			n.Kill()
		}
		for _, n := range t.ensemble.Nodes() {
			if err := n.Launch(); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("the servers do not come together")
}

// awaitLeader waits until one of nodes leads and the others of them follow, and returns
// the leader, nil if that takes longer than d.
func (t *track) awaitLeader(nodes []*ensemble.Node, d time.Duration) *ensemble.Node {
	deadline := time.Now().Add(d)
	for {
		leader := t.ensemble.Leader()
		following := 0
		for _, f := range t.ensemble.Followers() {
			for _, n := range nodes {
				if f == n {
					following++
				}
			}
		}
		for _, n := range nodes {
			if n == leader && following == len(nodes)-1 {
				return leader
			}
		}
		if time.Now().After(deadline) {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
}
