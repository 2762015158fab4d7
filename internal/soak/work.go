package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/lock/leader"
	"github.com/zkcoord/zkcoord/lock/semaphore"
	"github.com/zkcoord/zkcoord/members"
	"github.com/zkcoord/zkcoord/members/barrier"
	"github.com/zkcoord/zkcoord/rwlock"
)

const (
	// patience is how long a piece of work waits for others.
	patience = 10 * time.Second
	// pause is between two pieces of work of one goroutine.
	pause = 20 * time.Millisecond
	// permits is how many the semaphore has.
	permits = 3
	// treeKeys is how many keys the tree has, and nothings how many paths are watched at
	// which there is never anything.
	treeKeys, nothings = 20, 5
)

func key(i int) string { return fmt.Sprint("key-", i) }

// A job is a kind of work.
type job struct {
	name string
	do   func(ctx context.Context, j jobber) error
}

// A jobber is what does a job: a goroutine of a client.
type jobber struct {
	c    *coord.Client
	r    *rig
	i    int // which of the clients
	name string
}

// work does one job after the other until ctx ends.
func (s *station) work(ctx context.Context, r *rig, name string) {
	j := jobber{s.client(), r, slices.Index(r.stations, s), name}
	for ctx.Err() == nil {
		r.gate.RLock()
		x := jobs[rand.IntN(len(jobs))]
		within, cancel := context.WithTimeout(ctx, patience)
		r.note(x.name, x.do(within, j))
		cancel()
		r.gate.RUnlock()
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// jobs are all kinds of work. Each leaves nothing behind.
var jobs = []job{
	{"lock", func(ctx context.Context, j jobber) error { return lock.New(j.c, "/lock").Do(ctx, j.guarded) }},
	{"unqueued", func(ctx context.Context, j jobber) error {
		return lock.NewUnqueued(j.c, "/unqueued").Do(ctx, j.guarded)
	}},
	{"semaphore", func(ctx context.Context, j jobber) error {
		return semaphore.New(j.c, "/semaphore", permits).Do(ctx, j.guarded)
	}},
	{"several locks", func(ctx context.Context, j jobber) error {
		return j.held(ctx, lock.All(ctx, lock.New(j.c, "/several/b"), lock.New(j.c, "/several/a")))
	}},
	{"read", func(ctx context.Context, j jobber) error { return rwlock.New(j.c, "/rwlock").DoRead(ctx, j.guarded) }},
	{"write", func(ctx context.Context, j jobber) error {
		m := rwlock.New(j.c, "/rwlock")
		return m.DoWrite(ctx, func(ctx context.Context, h *coord.Hold) error {
			if err := j.guarded(ctx, h); err != nil {
				return err
			}
			return m.Downgrade(ctx, h)
		})
	}},
	{"try", func(ctx context.Context, j jobber) error {
		return j.held(ctx, lock.New(j.c, "/try-"+j.name).TryAcquire(ctx))
	}},
	{"give up", func(ctx context.Context, j jobber) error {
		soon, cancel := context.WithTimeout(ctx, rand.N(10*time.Millisecond))
		defer cancel()
		h := lock.New(j.c, "/lock").Acquire(soon)
		_ = h.Wait()
		return h.Release(ctx)
	}},
	{"campaign", func(ctx context.Context, j jobber) error {
		return j.held(ctx, leader.New(j.c, "/terms").Campaign(ctx, []byte(j.name)))
	}},
	{"join", func(ctx context.Context, j jobber) error {
		return j.held(ctx, members.New(j.c, "/group").Join(ctx, members.Member{ID: j.name}))
	}},
	{"enter together", func(ctx context.Context, j jobber) error { return j.together(ctx, 3) }},
	{"gate", func(ctx context.Context, j jobber) error {
		g := barrier.NewGate(j.c, "/gate-"+j.name)
		if err := g.Close(ctx); err != nil {
			return err
		}
		time.AfterFunc(5*time.Millisecond, func() { _ = g.Open(ctx) }) // or below
		if err := g.Wait(ctx); err != nil {
			return err
		}
		return g.Open(ctx)
	}},
	{"modify", func(ctx context.Context, j jobber) error {
		_, err := config.New(j.c, "/config", config.Text()).Modify(ctx, func(string) (string, error) { return j.name, nil })
		return err
	}},
	{"publish", func(ctx context.Context, j jobber) error {
		_, err := config.NewTree(j.c, "/tree", config.Text()).Publish(ctx, map[string]string{"last": j.name, key(rand.IntN(treeKeys)): j.name}, nil)
		return err
	}},
	{"add", func(ctx context.Context, j jobber) error {
		_, err := config.NewCounter(j.c, "/counter").Add(ctx, 1)
		return err
	}},
	{"watch for a while", func(ctx context.Context, j jobber) error {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel() // which ends the streams
		_, err := first(ctx, j.c.Watch(ctx, fmt.Sprint("/nothing-", rand.IntN(nothings)), event.Kind(1+rand.IntN(2))))
		if err == nil {
			_, err = first(ctx, members.New(j.c, "/group").Watch(ctx))
		}
		if err == nil {
			_, err = first(ctx, lock.New(j.c, "/lock").Watch(ctx))
		}
		return err
	}},
	{"create and delete", func(ctx context.Context, j jobber) error {
		name, err := j.c.Create(ctx, "/plain-", make([]byte, 1000), coord.Ephemeral|coord.Sequential)
		if err != nil {
			return err
		}
		return j.c.Delete(ctx, name, -1)
	}},
}

// guarded is done while h is held: it adds to a counter on condition of its guard.
func (j jobber) guarded(ctx context.Context, h *coord.Hold) error {
	_, err := config.NewCounter(j.c, "/guarded").Add(ctx, 1, h.Guard())
	return err
}

// held waits for h, does something, and releases it.
func (j jobber) held(ctx context.Context, h *coord.Hold) error {
	err := h.Wait()
	if err == nil {
		err = j.guarded(h.Context(ctx), h)
	}
	if left := h.Release(ctx); err == nil {
		err = left
	}
	return err
}

// together enters and leaves a barrier with n clients, this and those after it.
func (j jobber) together(ctx context.Context, n int) error {
	path := "/barrier-" + j.name
	errs := make(chan error, n)
	var wg sync.WaitGroup
	for i := range n {
		c := j.c
		if i > 0 {
			c = j.r.station(j.i + i).client()
		}
		wg.Go(func() {
			h := barrier.New(c, path, n).Enter(ctx, fmt.Sprint(i))
			err := h.Wait()
			if left := h.Release(ctx); err == nil {
				err = left
			}
			errs <- err
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// first returns the first value of a stream.
func first[T any](ctx context.Context, s *event.Stream[T]) (v T, err error) {
	select {
	case v = <-s.Updates():
		return v, nil
	case <-s.Done():
		return v, s.Err()
	case <-ctx.Done():
		return v, context.Cause(ctx)
	}
}
