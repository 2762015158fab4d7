package sim

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/history"
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/lock/leader"
	"github.com/zkcoord/zkcoord/lock/semaphore"
	"github.com/zkcoord/zkcoord/members"
	"github.com/zkcoord/zkcoord/members/barrier"
	"github.com/zkcoord/zkcoord/rwlock"
)

// This file has the operations that hold something.

func (a *actor) lock() {
	m := lock.New(a.Client, a.path())
	acquire := m.Acquire
	if plant := a.w.plant.Lock; plant != nil {
		acquire = func(ctx context.Context) *coord.Hold { return plant(ctx, a.Client, a.path()) }
	}
	x := &stake{recipe: history.Lock, paths: []string{a.path()}, writes: true}
	if a.param("DUR", 1) != "" {
		x.wait = a.dur(0)
		a.hold(a.dur(1), x, acquire)
		return
	}
	a.hold(a.dur(0), x, acquire)
}

func (a *actor) tryLock() {
	x := &stake{recipe: history.Lock, paths: []string{a.path()}, writes: true, refusals: []error{coord.ErrLocked}}
	a.hold(a.dur(0), x, lock.New(a.Client, a.path()).TryAcquire)
}

func (a *actor) all() {
	one, two := a.param("PATH", 0), a.param("PATH", 1)
	x := &stake{recipe: history.Lock, paths: []string{one, two}, writes: true}
	a.hold(a.dur(0), x, func(ctx context.Context) *coord.Hold {
		return lock.All(ctx, lock.New(a.Client, one), lock.New(a.Client, two))
	})
}

func (a *actor) claim() {
	x := &stake{recipe: history.Unqueued, paths: []string{a.path()}, writes: true}
	a.hold(a.dur(0), x, lock.NewUnqueued(a.Client, a.path()).Acquire)
}

func (a *actor) read() {
	x := &stake{recipe: history.RWLock, f: history.Reading, paths: []string{a.path()}}
	a.hold(a.dur(0), x, rwlock.New(a.Client, a.path()).AcquireRead)
}

func (a *actor) writeLock() {
	x := &stake{recipe: history.RWLock, f: history.Writing, paths: []string{a.path()}, writes: true}
	a.hold(a.dur(0), x, rwlock.New(a.Client, a.path()).AcquireWrite)
}

func (a *actor) downgrade() {
	m := rwlock.New(a.Client, a.path())
	x := &stake{recipe: history.RWLock, f: history.Writing, paths: []string{a.path()}, writes: true}
	op := a.op + a.n + 1
	x.halfway = func(h *coord.Hold) {
		a.record(history.Event{Kind: history.Downgrade, Recipe: x.recipe, Path: a.path(), Op: op})
		a.expect(m.Downgrade(a.ctx, h))
	}
	a.hold(a.dur(0), x, m.AcquireWrite)
}

func (a *actor) campaign() {
	e := leader.New(a.Client, a.path(), leader.Label(a.id()))
	x := &stake{recipe: history.Leader, paths: []string{a.path()}, writes: true}
	x.halfway = func(h *coord.Hold) {
		ctx, cancel := context.WithTimeout(a.ctx, patience)
		defer cancel()
		a.expect(e.Publish(ctx, h, []byte(a.id())), context.DeadlineExceeded)
	}
	a.hold(a.dur(0), x, func(ctx context.Context) *coord.Hold { return e.Campaign(ctx, []byte("at first")) })
}

// candidate stands for one term after the other.
func (a *actor) candidate() {
	e := leader.New(a.Client, a.path(), leader.Label(a.id()))
	k := e.Keep(a.ctx, []byte("at first"))
	until := time.NewTimer(a.dur(0))
	defer until.Stop()
	var known *coord.Hold
	var lost <-chan struct{}
	x := &stake{recipe: history.Leader, paths: []string{a.path()}}
	first := int64(0)
	end := func() {
		if lost != nil {
			a.still()
			a.each(x, first, history.Event{Kind: history.Lost, Err: known.Err().Error()}, known.Token())
			lost = nil
		}
	}
	for going := true; going; {
		select {
		case s := <-k.Updates():
			a.still()
			if s.Hold == nil || s.Hold == known || s.Hold.Token() == 0 {
				continue
			}
			end()
			known, lost, first = s.Hold, s.Hold.Lost(), a.next()
			a.each(x, first, history.Event{Kind: history.Ask})
			a.each(x, first, history.Event{Kind: history.Acquired}, known.Token())
			a.aside(func() {
				ctx, cancel := context.WithTimeout(a.ctx, patience)
				defer cancel()
				a.expect(k.Publish(ctx, []byte(a.id())), context.DeadlineExceeded, coord.ErrReleased)
			})
		case <-lost:
			end()
		case <-k.Done():
			a.expect(k.Err())
			going = false
		case <-until.C:
			going = false
		case <-a.w.over:
			going = false
		}
	}
	a.still()
	if lost != nil {
		select {
		case <-lost:
			end()
		default:
			a.each(x, first, history.Event{Kind: history.Release}, known.Token())
		}
	}
	released := history.Event{Kind: history.Released}
	err := k.Resign(a.ctx)
	if err != nil {
		released.Err = err.Error()
		a.expect(err)
		a.litter(err)
	}
	if lost != nil {
		a.each(x, first, released)
	}
}

// aside runs a part of the operation beside the rest.
func (a *actor) aside(f func()) { a.w.ops.Go(f) }

// permits is how many a semaphore has before it is resized.
const permits = 3

// permit asks with the number of permits that is in force, unless that changes meanwhile.
func (a *actor) permit() {
	ctx, cancel := context.WithTimeout(a.ctx, patience)
	defer cancel()
	now, err := semaphore.New(a.Client, a.path(), permits).Contenders(ctx)
	if err != nil {
		a.expect(err, context.DeadlineExceeded)
		return
	}
	asked := time.Now()
	x := &stake{recipe: history.Semaphore, paths: []string{a.path()}, n: permits, refusals: []error{semaphore.ErrPermits}}
	x.inForce = func() int { return a.w.most(a.path(), asked) }
	a.hold(a.dur(0), x, semaphore.New(a.Client, a.path(), cmp.Or(now.Permits, permits)).Acquire)
}

// resize changes the number of permits.
func (a *actor) resize() {
	s := semaphore.New(a.Client, a.path(), permits)
	ctx, cancel := context.WithTimeout(a.ctx, patience)
	defer cancel()
	a.w.resized(a.path(), a.number(), false)
	err := s.Resize(ctx, a.number())
	a.expect(err, coord.ErrUnknown, context.DeadlineExceeded)
	if err == nil {
		a.w.resized(a.path(), a.number(), true)
	}
}

// A size is how many permits a semaphore has from a moment on.
type size struct {
	from time.Time
	n    int
}

// resized notes that a semaphore has n permits from now on, for certain or perhaps.
func (w *world) resized(path string, n int, certain bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sizes[path] == nil {
		w.sizes[path] = []size{{n: permits}}
	}
	if all := w.sizes[path]; certain || n > all[len(all)-1].n {
		w.sizes[path] = append(all, size{time.Now(), n})
	}
}

// most returns the greatest number of permits that a semaphore may have had since a moment.
func (w *world) most(path string, since time.Time) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := permits
	for i, s := range slices.Backward(w.sizes[path]) {
		if n = max(n, s.n); i == 0 || s.from.Before(since) {
			break
		}
	}
	return n
}

// boss is an ID that many want.
const boss = "boss"

func (a *actor) join() {
	x := &stake{recipe: history.Members, paths: []string{a.path() + "/" + boss}, writes: true, refusals: []error{members.ErrTaken}}
	a.hold(a.dur(0), x, func(ctx context.Context) *coord.Hold {
		return members.New(a.Client, a.path()).Join(ctx, members.Member{ID: boss, Data: []byte(a.id())})
	})
}

// member is in a group under an ID of its own.
func (a *actor) member() {
	ms := members.New(a.Client, a.path()).Keep(a.ctx, members.Member{ID: a.id(), Data: []byte("at first")})
	select {
	case <-ms.Joined():
		ctx, cancel := context.WithTimeout(a.ctx, patience)
		a.expect(ms.SetData(ctx, []byte("later")), context.DeadlineExceeded)
		cancel()
	case <-ms.Done():
	case <-a.w.over:
	}
	a.sleep(a.dur(0), ms.Done())
	if err := ms.Err(); err != nil {
		a.expect(err)
	}
	err := ms.Leave(a.ctx)
	a.expect(err)
	a.litter(err)
}

// crowd is how many a barrier lets in.
const crowd = 3

func (a *actor) enter() {
	b := barrier.New(a.Client, a.path(), crowd)
	x := &stake{recipe: history.Barrier, paths: []string{a.path()}, n: crowd, wait: a.dur(0)}
	a.hold(a.dur(1), x, func(ctx context.Context) *coord.Hold { return b.Enter(ctx, a.id()) })
}

func (a *actor) openGate()  { a.gate((*barrier.Gate).Open) }
func (a *actor) closeGate() { a.gate((*barrier.Gate).Close) }

func (a *actor) gate(f func(*barrier.Gate, context.Context) error) {
	ctx, cancel := context.WithTimeout(a.ctx, patience)
	defer cancel()
	a.expect(f(barrier.NewGate(a.Client, a.path()), ctx), context.DeadlineExceeded)
}

// pass waits in front of a gate. In the end all gates are opened.
func (a *actor) pass() {
	err := barrier.NewGate(a.Client, a.path()).Wait(a.ctx)
	if errors.Is(err, coord.ErrNoAuth) {
		return
	}
	a.expect(err)
}
