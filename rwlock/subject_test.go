package rwlock_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/locktest"
	"github.com/zkcoord/zkcoord/internal/queue"
	"github.com/zkcoord/zkcoord/rwlock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(locktest.Main(m)) }

var bg = context.Background()

// A crowd is all contenders in one World. It makes readers and writers of them such
// that no two can hold together, which is what the scenarios of locktest ask for.
type crowd struct {
	// writes says whether the next one writes, when there are already those given.
	writes func(there []one) bool
	large  bool // contenders expect many others, and so those that write have batons

	mu    sync.Mutex
	there []one
}

type one struct {
	h      *coord.Hold
	m      *rwlock.RWMutex
	writes bool
}

func (x *crowd) acquire(ctx context.Context, c *coord.Client, dir string, try bool) *coord.Hold {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.there = slices.DeleteFunc(x.there, func(o one) bool { return o.h.Err() != nil })
	o := one{m: rwlock.New(c, dir), writes: x.writes(x.there)}
	if x.large {
		queue.ExpectCrowd(c, dir)
	}
	switch {
	case o.writes && try:
		o.h = o.m.TryAcquireWrite(ctx)
	case o.writes:
		o.h = o.m.AcquireWrite(ctx)
	case try:
		o.h = o.m.TryAcquireRead(ctx)
	default:
		o.h = o.m.AcquireRead(ctx)
	}
	x.there = append(x.there, o)
	return o.h
}

// downgrade makes a reader of a holder.
func (x *crowd) downgrade(h *coord.Hold) error {
	x.mu.Lock()
	i := slices.IndexFunc(x.there, func(o one) bool { return o.h == h })
	if i < 0 {
		x.mu.Unlock()
		return h.Err()
	}
	m := x.there[i].m
	x.mu.Unlock()
	return m.Downgrade(bg, h)
}

// subject is a kind of holders and waiters. With downgrade each holder becomes a reader
// at once.
func subject(name string, downgrade bool, writes func(there []one) bool) locktest.Subject {
	return inCrowd(name, false, downgrade, writes)
}

// inCrowd is like subject; with large, of a crowd that is.
func inCrowd(name string, large, downgrade bool, writes func(there []one) bool) locktest.Subject {
	return locktest.Subject{Name: name, New: func() locktest.Subject {
		x := &crowd{writes: writes, large: large}
		s := locktest.Subject{
			Name: name,
			Acquire: func(ctx context.Context, c *coord.Client, dir string) *coord.Hold {
				return x.acquire(ctx, c, dir, false)
			},
			Try: func(ctx context.Context, c *coord.Client, dir string) *coord.Hold {
				return x.acquire(ctx, c, dir, true)
			},
		}
		if downgrade {
			s.AfterGrant = x.downgrade
		}
		return s
	}}
}

func always([]one) bool { return true }

var (
	writer = subject("writers", false, always)
	reader = subject("a reader, and writers behind it", false, func(there []one) bool { return len(there) > 0 })
	behind = subject("a writer, and a reader behind it", false, func(there []one) bool {
		return len(there) == 0 || !there[len(there)-1].writes
	})
	downgraded = subject("a downgraded reader, and writers behind it", true, always)

	// The same with batons.
	crowdedWriter     = inCrowd("writers in a crowd", true, false, always)
	crowdedDowngraded = inCrowd("a downgraded reader, and writers behind it, in a crowd", true, true, always)
)

// The requests of all kinds of contenders are among those of two: of a writer with a
// reader behind it, and of writers with batons that downgrade. The others meet a real
// server in the long form.
func TestScenarios(t *testing.T) {
	in := func(scenarios func(*testing.T, locktest.Subject), subjects ...locktest.Subject) {
		for _, s := range subjects {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel() // some wait for the end of sessions
				scenarios(t, s)
			})
		}
	}
	in(locktest.Scenarios, behind, crowdedDowngraded)
	in(locktest.ScenariosInBubbles, writer, reader, downgraded, crowdedWriter)
}

func TestFaults(t *testing.T) {
	// What meets the faults comes second: of these a reader, and a writer that is
	// downgraded.
	t.Run(behind.Name, func(t *testing.T) { locktest.Faults(t, behind) })
	t.Run(downgraded.Name, func(t *testing.T) { locktest.Faults(t, downgraded, downgrades...) })
	t.Run(crowdedDowngraded.Name, func(t *testing.T) { locktest.Faults(t, crowdedDowngraded, downgrades...) })
}

func TestNoOverlap(t *testing.T) {
	t.Parallel() // it mostly waits
	locktest.NoOverlap(t, downgraded)
}

func TestIsolatedLeader(t *testing.T) {
	locktest.IsolatedLeader(t, []ensemble.Isolation{ensemble.Reset}, writer, downgraded)
}

// A holder that writes and one that reads; in the long form with others behind them too.
func TestIsolatedPhases(t *testing.T) {
	subjects := []locktest.Subject{behind, downgraded}
	if harness.Stress {
		subjects = append(subjects, writer, reader)
	}
	for _, s := range subjects {
		t.Run(s.Name, func(t *testing.T) { locktest.IsolatedPhases(t, s) })
	}
}

func TestNoFalseLoss(t *testing.T) {
	if !harness.Stress {
		t.Skip("a matter of the session, which the mutex is tested for: make stress runs it")
	}
	locktest.NoFalseLoss(t, downgraded)
}

func TestLimits(t *testing.T) { locktest.Limits(t, writer) }

// downgrades are what can come between a downgrade and its answer, besides the
// faults that each frame of it meets: those are met where downgraded readers are
// the subject.
var downgrades = []locktest.Plot{
	{Name: "is released while it downgrades", Run: downgrading(func(w *locktest.World, c *locktest.Client, h *coord.Hold) {
		w.Must(h.Release(bg))
	})},
	{Name: "closes while it downgrades", Run: downgrading(func(w *locktest.World, c *locktest.Client, h *coord.Hold) {
		w.Must(c.Close())
	})},
	{Name: "has no time for its downgrade", Run: func(w *locktest.World, c *locktest.Client, other *coord.Hold) []*coord.Hold {
		w.Must(other.Release(bg))
		m := rwlock.New(c.Client, w.Dir)
		h := m.AcquireWrite(bg)
		if w.Outcome(h) == nil {
			ctx, cancel := context.WithCancel(bg)
			cancel()
			_ = m.Downgrade(ctx, h)
			if err := m.Downgrade(bg, h); err == nil && h.Err() == nil {
				beside := rwlock.New(c.Client, w.Dir).AcquireRead(bg)
				if w.Outcome(beside) == nil {
					w.Must(beside.Release(bg))
				}
			}
			w.Must(h.Release(bg))
		}
		return []*coord.Hold{h}
	}},
}

// downgrading is a plot in which meanwhile is done while a downgrade is under way.
func downgrading(meanwhile func(*locktest.World, *locktest.Client, *coord.Hold)) func(*locktest.World, *locktest.Client, *coord.Hold) []*coord.Hold {
	return func(w *locktest.World, c *locktest.Client, other *coord.Hold) []*coord.Hold {
		w.Must(other.Release(bg))
		m := rwlock.New(c.Client, w.Dir)
		h := m.AcquireWrite(bg)
		if w.Outcome(h) == nil {
			back := make(chan error, 1)
			go func() { back <- m.Downgrade(bg, h) }()
			time.Sleep(time.Microsecond) // of the bubble: the request is under way
			meanwhile(w, c, h)
			<-back
		}
		return []*coord.Hold{h}
	}
}
