package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/lock/leader"
	"github.com/zkcoord/zkcoord/lock/semaphore"
	"github.com/zkcoord/zkcoord/members"
	"github.com/zkcoord/zkcoord/rwlock"
)

// A rig is the clients with their work.
type rig struct {
	ensemble *ensemble.Ensemble // nil if the servers are something else
	servers  []string
	stations []*station
	gate     sync.RWMutex // held for reading by each piece of work

	mu     sync.Mutex
	counts map[string]*count // by kind of work
}

// A count says how often work was done, and how often it was not: because its ctx ended, or
// something was lost.
type count struct{ done, not int }

// A station is one client, with goroutines that work with it and streams that follow.
type station struct {
	name string
	link *coordtest.Link
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu sync.Mutex
	c  *coord.Client
}

// workers is how many goroutines work with a client.
const workers = 2

func newRig(ctx context.Context, servers []string, clients int, link func() *coordtest.Link) (*rig, error) {
	r := &rig{servers: servers, counts: make(map[string]*count)}
	for i := range clients {
		s := &station{name: fmt.Sprint("client-", i), link: link()}
		r.stations = append(r.stations, s)
		if err := s.dial(ctx, r); err != nil {
			r.close()
			return nil, err
		}
	}
	return r, nil
}

// begin makes all follow and work.
func (r *rig) begin(ctx context.Context) {
	for _, s := range r.stations { // work concerns several clients
		s.begin(ctx, r)
	}
}

// station returns one, another for each n.
func (r *rig) station(n int) *station { return r.stations[n%len(r.stations)] }

// dial gives s a client.
func (s *station) dial(ctx context.Context, r *rig) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c, err := coord.Dial(ctx, r.servers, &coord.Options{SessionTimeout: timeout, Chroot: "/soak", Dial: s.link.Dial})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.c = c
	return nil
}

// begin makes s follow and work.
func (s *station) begin(ctx context.Context, r *rig) {
	ctx, s.stop = context.WithCancel(ctx)
	s.follow(ctx)
	for i := range workers {
		s.wg.Go(func() { s.work(ctx, r, fmt.Sprint(s.name, "-", i)) })
	}
}

// close ends what begin began, and the client.
func (s *station) close() {
	if s.stop != nil {
		s.stop()
		s.wg.Wait()
	}
	if c := s.client(); c != nil {
		_ = c.Close()
	}
}

func (s *station) client() *coord.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.c
}

// follow has streams on everything, and a member and a candidate for as long as ctx lasts.
func (s *station) follow(ctx context.Context) {
	c := s.client()
	drain(s, c.Watch(ctx, "/config", event.Data))
	drain(s, c.Watch(ctx, "/group", event.Children))
	drain(s, config.New(c, "/config", config.Text()).Watch(ctx))
	drain(s, config.NewTree(c, "/tree", config.Text()).Watch(ctx))
	drain(s, config.NewCounter(c, "/counter").Watch(ctx))
	drain(s, lock.New(c, "/lock").Watch(ctx))
	drain(s, lock.NewUnqueued(c, "/unqueued").Watch(ctx))
	drain(s, rwlock.New(c, "/rwlock").Watch(ctx))
	drain(s, semaphore.New(c, "/semaphore", permits).Watch(ctx))
	drain(s, leader.New(c, "/leader").Watch(ctx))
	drain(s, members.New(c, "/group").Watch(ctx))
	me := members.New(c, "/group").Keep(ctx, members.Member{ID: s.name, Data: []byte("here")})
	candidate := leader.New(c, "/leader").Keep(ctx, []byte(s.name))
	s.wg.Go(func() {
		<-ctx.Done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		_ = candidate.Resign(ctx) // if not, they go with the session
		_ = me.Leave(ctx)
	})
}

// drain receives from a stream until that ends.
func drain[T any](s *station, stream *event.Stream[T]) {
	s.wg.Go(func() {
		for range stream.All() {
		}
	})
}

// renew has one client closed and another in its place.
func (r *rig) renew(ctx context.Context, n int) {
	s := r.station(5 * n)
	s.close()
	for ctx.Err() == nil {
		err := s.dial(ctx, r)
		if err == nil {
			s.begin(ctx, r)
			return
		}
		log.Print(err)
	}
}

// settle waits, for a while at most, until all servers serve, all clients are connected, and
// what goes by itself has gone.
func (r *rig) settle(ctx context.Context, patience time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := r.ensemble.WaitServing(ctx); err != nil {
		log.Print(err)
	}
	for _, s := range r.stations {
		for {
			state, changed := s.client().State()
			if state == coord.Connected {
				break
			}
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				log.Printf("%s is %v", s.name, state)
			}
			break
		}
	}
	<-ctx.Done() // sessions expire, containers are removed
}

// close ends it all.
func (r *rig) close() {
	var wg sync.WaitGroup
	for _, s := range r.stations {
		wg.Go(func() {
			s.close()
			s.link.Close()
		})
	}
	wg.Wait()
}

// note counts a piece of work.
func (r *rig) note(kind string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.counts[kind]
	if n == nil {
		n = new(count)
		r.counts[kind] = n
	}
	if err == nil {
		n.done++
		return
	}
	n.not++
	if !expected(err) {
		log.Printf("%s: %v", kind, err)
	}
}

// expected reports whether err is what faults, and ctxs that end, bring about.
func expected(err error) bool {
	return coord.IsLost(err) || slices.ContainsFunc([]error{context.DeadlineExceeded, context.Canceled, coord.ErrUnknown,
		coord.ErrLocked, coord.ErrClosed, coord.ErrNotHeld, coord.ErrReleased, coord.ErrNoNode, members.ErrTaken}, func(target error) bool { return errors.Is(err, target) })
}

// forget begins to count anew.
func (r *rig) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.counts)
}

// idle returns the kinds of work that have not succeeded since forget was called.
func (r *rig) idle() (kinds []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, j := range jobs {
		if n := r.counts[j.name]; n == nil || n.done == 0 {
			kinds = append(kinds, j.name)
		}
	}
	return kinds
}

// report writes how often each kind of work was done in the last quarter.
func (r *rig) report(w io.Writer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(w, "\n%-20s %10s %10s\n", "work, last quarter", "done", "not done")
	for _, kind := range slices.Sorted(maps.Keys(r.counts)) {
		fmt.Fprintf(w, "%-20s %10d %10d\n", kind, r.counts[kind].done, r.counts[kind].not)
	}
}
