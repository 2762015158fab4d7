package rwlock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/locktest"
	"github.com/zkcoord/zkcoord/rwlock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(locktest.Main(m)) }

var bg = context.Background()

// A crowd is all who contend in one test, by directory. It makes readers and
// writers of them such that no two can hold together, which is what the scenarios
// of locktest ask for.
type crowd struct {
	// writes says what the next is, if reads and writers are those who are there.
	writes func(there []one) bool

	mu    sync.Mutex
	there map[string][]one
}

type one struct {
	h      *coord.Hold
	m      *rwlock.RWMutex
	writes bool
}

func (x *crowd) acquire(ctx context.Context, c *coord.Client, dir string, try bool) *coord.Hold {
	x.mu.Lock()
	defer x.mu.Unlock()
	var there []one
	for _, o := range x.there[dir] {
		if o.h.Err() == nil {
			there = append(there, o)
		}
	}
	o := one{m: rwlock.New(c, dir), writes: x.writes(there)}
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
	x.there[dir] = append(there, o)
	return o.h
}

// downgrade makes a reader of a holder.
func (x *crowd) downgrade(h *coord.Hold) error {
	x.mu.Lock()
	var m *rwlock.RWMutex
	for _, there := range x.there {
		for _, o := range there {
			if o.h == h {
				m = o.m
			}
		}
	}
	x.mu.Unlock()
	if m == nil {
		return h.Err()
	}
	return m.Downgrade(bg, h)
}

// subjects are the kinds of holders and waiters, made anew for each test.
func subjects() []locktest.Subject {
	subject := func(name string, writes func(there []one) bool) (locktest.Subject, *crowd) {
		x := &crowd{writes: writes, there: make(map[string][]one)}
		return locktest.Subject{
			Name: name,
			Acquire: func(ctx context.Context, c *coord.Client, dir string) *coord.Hold {
				return x.acquire(ctx, c, dir, false)
			},
			Try: func(ctx context.Context, c *coord.Client, dir string) *coord.Hold {
				return x.acquire(ctx, c, dir, true)
			},
		}, x
	}
	always := func([]one) bool { return true }
	writer, _ := subject("writers", always)
	reader, _ := subject("a reader, and writers behind it", func(there []one) bool { return len(there) > 0 })
	behind, _ := subject("a writer, and a reader behind it", func(there []one) bool {
		return len(there) == 0 || !there[len(there)-1].writes
	})
	downgraded, x := subject("a downgraded reader, and writers behind it", always)
	downgraded.Then = x.downgrade
	return []locktest.Subject{writer, reader, behind, downgraded}
}

const (
	writer     = 0
	behind     = 2
	downgraded = 3
)

func TestScenarios(t *testing.T) {
	for _, s := range subjects() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel() // some wait for the end of sessions
			locktest.Scenarios(t, s)
		})
	}
}

func TestFaults(t *testing.T) {
	// What meets the faults comes second: of these a reader, and a writer that is
	// downgraded.
	all := subjects()
	t.Run(all[behind].Name, func(t *testing.T) { locktest.Faults(t, all[behind]) })
	t.Run(all[downgraded].Name, func(t *testing.T) { locktest.Faults(t, all[downgraded], downgrades...) })
}

func TestNoOverlap(t *testing.T) { locktest.NoOverlap(t, subjects()[downgraded]) }

func TestIsolatedLeader(t *testing.T) {
	all := subjects()
	locktest.IsolatedLeader(t, []ensemble.Isolation{ensemble.Reset}, all[writer], all[downgraded])
}

func TestIsolatedPhases(t *testing.T) {
	for _, s := range subjects() {
		t.Run(s.Name, func(t *testing.T) { locktest.IsolatedPhases(t, s) })
	}
}

func TestNoFalseLoss(t *testing.T) {
	if !locktest.Stress {
		t.Skip("a matter of the session, which the mutex is tested for: make stress runs it")
	}
	locktest.NoFalseLoss(t, subjects()[downgraded])
}

func TestLimits(t *testing.T) {
	s := subjects()[writer]
	if !locktest.Stress {
		s.Cycles = 2500
	}
	locktest.Limits(t, s)
}

// downgrades are what can come between a downgrade and its answer, besides the
// faults that each frame of it meets: those are met where downgraded readers are
// the subject.
var downgrades = []locktest.Plot{
	{Name: "is released while it downgrades", Run: downgrading(func(w *locktest.World, c *locktest.Client, h *coord.Hold) {
		must(w, h.Release(bg))
	})},
	{Name: "closes while it downgrades", Run: downgrading(func(w *locktest.World, c *locktest.Client, h *coord.Hold) {
		must(w, c.Close())
	})},
	{Name: "has no time for its downgrade", Run: func(w *locktest.World, c *locktest.Client, other *coord.Hold) []*coord.Hold {
		must(w, other.Release(bg))
		m := rwlock.New(c.Client, w.Dir)
		h := m.AcquireWrite(bg)
		if w.Settled(h) == nil {
			ctx, cancel := context.WithCancel(bg)
			cancel()
			_ = m.Downgrade(ctx, h)
			if err := m.Downgrade(bg, h); err == nil && h.Err() == nil {
				beside := rwlock.New(c.Client, w.Dir).AcquireRead(bg)
				if w.Settled(beside) == nil {
					must(w, beside.Release(bg))
				}
			}
			must(w, h.Release(bg))
		}
		return []*coord.Hold{h}
	}},
}

// downgrading is a plot in which meanwhile is done while a downgrade is under way.
func downgrading(meanwhile func(*locktest.World, *locktest.Client, *coord.Hold)) func(*locktest.World, *locktest.Client, *coord.Hold) []*coord.Hold {
	return func(w *locktest.World, c *locktest.Client, other *coord.Hold) []*coord.Hold {
		must(w, other.Release(bg))
		m := rwlock.New(c.Client, w.Dir)
		h := m.AcquireWrite(bg)
		if w.Settled(h) == nil {
			back := make(chan error, 1)
			go func() { back <- m.Downgrade(bg, h) }()
			time.Sleep(time.Microsecond) // of the bubble: the request is under way
			meanwhile(w, c, h)
			<-back
		}
		return []*coord.Hold{h}
	}
}

// must ends the test if there is an error.
func must(w *locktest.World, err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}
