package client

import (
	"context"
	"sync"
	"time"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/members"
	"github.com/zkcoord/zkcoord/rwlock"
)

var bg = context.Background()

// A coordinator is a session of this module.
type coordinator struct {
	c     *coord.Client
	holds []*coord.Hold // those of its crowd
}

func dialCoord(addr string, timeout time.Duration, m *meter) (session, error) {
	ctx, cancel := context.WithTimeout(bg, patience)
	defer cancel()
	c, err := coord.Dial(ctx, []string{addr}, &coord.Options{SessionTimeout: timeout, Dial: m.dial})
	return &coordinator{c: c}, err
}

func (s *coordinator) close() { _ = s.c.Close() }

func (s *coordinator) contenders(path string) (int, error) {
	stat, _, err := s.c.Exists(bg, path)
	return int(stat.NumChildren), err
}

func (s *coordinator) put(path string, data []byte) error { return conn{s.c.Conn()}.put(path, data) }

// A held acquires and waits, and releases and waits, as the locks of the others do.
type held struct {
	acquire func(context.Context) *coord.Hold
	hold    *coord.Hold
}

func (l *held) lock() error {
	l.hold = l.acquire(bg)
	return l.hold.Wait()
}

func (l *held) unlock() error { return l.hold.Release(bg) }

func (s *coordinator) mutex(path string) locker { return &held{acquire: lock.New(s.c, path).Acquire} }

func (s *coordinator) reader(path string) locker {
	return &held{acquire: rwlock.New(s.c, path).AcquireRead}
}

func (s *coordinator) writer(path string) locker {
	return &held{acquire: rwlock.New(s.c, path).AcquireWrite}
}

func (s *coordinator) enter(path string) { s.holds = append(s.holds, lock.New(s.c, path).Acquire(bg)) }

func (s *coordinator) drain() (wait func()) {
	var draining sync.WaitGroup
	for _, h := range s.holds {
		draining.Go(func() {
			check(h.Wait())
			check(h.Release(bg))
		})
	}
	return draining.Wait
}

func (s *coordinator) lost() (n int) {
	for _, h := range s.holds {
		if coord.IsLost(h.Err()) {
			n++
		}
	}
	return n
}

func (s *coordinator) follow(path string, got func([]byte)) {
	each := s.c.Watch(bg, path, event.Data)
	go func() {
		for snap := range each.All() {
			got(snap.Data)
		}
	}()
}

func (s *coordinator) followSetting(path string, got func([]byte)) {
	each := config.New(s.c, path, config.Text()).Watch(bg)
	go func() {
		for u := range each.All() {
			got([]byte(u.Value))
		}
	}()
}

func (s *coordinator) followGroup(dir string, got func(int)) {
	views := members.New(s.c, dir).Watch(bg)
	go func() {
		for v := range views.All() {
			got(len(v.Members))
		}
	}()
}

func (s *coordinator) followTree(dir, key string, got func(int, string)) {
	states := config.NewTree(s.c, dir, config.Text()).Watch(bg)
	go func() {
		for v := range states.All() {
			got(len(v.Keys), v.Keys[key].Value)
		}
	}()
}
