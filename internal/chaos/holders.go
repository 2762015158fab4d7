package chaos

import (
	"context"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/history"
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/lock/semaphore"
	"github.com/zkcoord/zkcoord/members/barrier"
	"github.com/zkcoord/zkcoord/rwlock"
)

// stay does nothing for longer than a session timeout, now and then: a holder that writes
// hears of what has become of it, one that does not must be told.
func (a *actor) stay(ctx context.Context) {
	if a.rng.IntN(4) == 0 && !a.quiet() {
		T := int(a.Timeout.Milliseconds())
		a.pause(ctx, T, 2*T)
	}
}

// toil writes a few times while h is held.
func (a *actor) toil(h *holding) {
	ctx := h.Context(context.Background())
	for n := range 1 + a.rng.IntN(3) {
		if n == 1 {
			a.stay(ctx)
		}
		for i := range h.events {
			h.write(i)
		}
		a.pause(ctx, 20, 200)
	}
}

// lock holds one of the mutexes.
func (a *actor) lock() bool {
	path := lockPaths[a.rng.IntN(len(lockPaths))]
	m := lock.New(a.session, path, lock.Label(a.name))
	acquire := m.Acquire
	if a.rng.IntN(5) == 0 {
		acquire = m.TryAcquire
	}
	return a.hold(acquire, a.toil, a.event(history.Lock, path))
}

// unqueue holds the lock.Unqueued.
func (a *actor) unqueue() bool {
	return a.hold(lock.NewUnqueued(a.session, unqueuedPath).Acquire, a.toil, a.event(history.Unqueued, unqueuedPath))
}

// share reads, writes, or writes and then only reads.
func (a *actor) share() bool {
	m := rwlock.New(a.session, sharedPath)
	e := a.event(history.RWLock, sharedPath)
	if a.rng.IntN(3) > 0 {
		e.F = history.Reading
		return a.hold(m.AcquireRead, func(h *holding) {
			ctx := h.Context(context.Background())
			a.stay(ctx)
			a.pause(ctx, 50, 500)
		}, e)
	}
	e.F = history.Writing
	return a.hold(m.AcquireWrite, func(h *holding) {
		a.toil(h)
		if a.rng.IntN(2) == 0 {
			return
		}
		h.downgrade()
		ctx, cancel := context.WithTimeout(h.Context(context.Background()), a.Timeout)
		defer cancel()
		_ = m.Downgrade(ctx, h.Hold) // if that fails, h is good for reading, or over
		a.pause(ctx, 20, 200)
	}, e)
}

// downgrade records that h is good for reading only, if it is still held.
func (h *holding) downgrade() {
	at := h.a.now()
	if h.Err() != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.over {
		e := h.events[0]
		e.At = at
		h.a.note(e, history.Downgrade, nil)
	}
}

// permit holds a permit of the semaphore.
func (a *actor) permit() bool {
	e := a.event(history.Semaphore, semaphorePath)
	e.N = permits
	return a.hold(semaphore.New(a.session, semaphorePath, permits).Acquire, func(h *holding) {
		ctx := h.Context(context.Background())
		a.stay(ctx)
		a.pause(ctx, 50, 800)
	}, e)
}

// pair holds two of the mutexes, in any order.
func (a *actor) pair() bool {
	first, second := a.event(history.Lock, ""), a.event(history.Lock, "")
	second.Proc = alias(a.name)
	some := a.rng.Perm(len(pairPaths))
	first.Path, second.Path = pairPaths[some[0]], pairPaths[some[1]]
	return a.hold(func(ctx context.Context) *coord.Hold {
		return lock.All(ctx, lock.New(a.session, first.Path), lock.New(a.session, second.Path))
	}, a.toil, first, second)
}

// meet goes through the barrier.
func (a *actor) meet() bool {
	e := a.event(history.Barrier, barrierPath)
	e.N = parties
	return a.hold(func(ctx context.Context) *coord.Hold {
		return barrier.New(a.session, barrierPath, parties).Enter(ctx, memberID(a.ID))
	}, func(h *holding) { a.pause(h.Context(context.Background()), 20, 200) }, e)
}

// sleep holds the mutex of the sleepers for longer than others do, so that the process
// can be stopped meanwhile. When it wakes it writes at once, before it looks at whether
// it has lost the mutex.
func (a *actor) sleep() bool {
	return a.hold(lock.New(a.session, wakePath).Acquire, func(h *holding) {
		last := time.Now()
		end := last.Add(3 * a.Timeout / 8)
		h.write(0)
		for {
			time.Sleep(5 * time.Millisecond)
			now := time.Now()
			if now.Sub(last) > a.Timeout/2 {
				h.fenced(0)
				for h.guarded(0) == history.Unknown { // as one that wants to know
					a.pause(context.Background(), 20, 20)
				}
				return
			}
			if now.After(end) || a.working.Err() != nil {
				return
			}
			last = now
		}
	}, a.event(history.Lock, wakePath))
}
