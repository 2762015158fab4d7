package client

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// queue: N contenders of one client queue for a lock that another client holds, and
// then take their turns.
func queue(p *process) {
	path := p.path("lock")
	gate := p.dial()
	gateLock := gate.mutex(path)
	check(gateLock.lock())
	s, m := p.metered()
	base := p.measured("base")
	begun := time.Now()
	c := p.crowd(s, m, path)
	p.queued(gate, path, p.N+1)
	p.result["queue_s"] = m.answered().Sub(begun).Seconds()
	p.grown(base, p.measured("waiting"))
	wait := c.drain()
	t := p.begin()
	check(gateLock.unlock())
	wait()
	p.end(t)
	p.result["ops"] = float64(p.N)
	p.result["drain_s"] = p.result["secs"]
	p.result["lost"] = float64(c.lost())
	closeAll(s, gate)
}

// turns are contenders that each wait on a goroutine of their own.
type turns struct {
	waiting sync.WaitGroup
	failed  atomic.Int64
}

func (t *turns) take(l locker) {
	t.waiting.Go(func() {
		if l.lock() != nil || l.unlock() != nil {
			t.failed.Add(1)
		}
	})
}

func (t *turns) drain() (wait func()) { return t.waiting.Wait }

func (t *turns) lost() int { return int(t.failed.Load()) }

// crowd has N contenders of s queue for the lock at path.
func (p *process) crowd(s session, m *meter, path string) crowd {
	m.clear()
	c := s.(crowd)
	for range p.N {
		c.enter(path)
	}
	return c
}

// followed is the number of znodes that are followed while a connection is reset.
const followed = 1000

// recovery: N contenders wait, and some znodes are followed, when the connection is
// reset. It is over with the last answer before all is at rest. Then each znode is
// changed, and each change must be seen.
func recovery(p *process) {
	path := p.path("lock")
	gate := p.dial()
	check(gate.mutex(path).lock())
	s, m := p.metered()
	c := p.crowd(s, m, path)
	p.queued(gate, path, p.N+1)
	var known, changed atomic.Int64
	each(followed, func(i int) {
		path := p.path(fmt.Sprintf("followed%d", i))
		check(gate.put(path, []byte("old")))
		var once sync.Once
		s.(follower).follow(path, func(data []byte) {
			if string(data) == "new" {
				once.Do(func() { changed.Add(1) })
			} else {
				known.Add(1)
			}
		})
	})
	eventually("all are followed", func() bool { return known.Load() >= followed })
	p.rest()
	m.clear()
	begun := p.begin()
	m.reset()
	m.answered()
	p.rest()
	repaired := m.answered()
	p.end(begun)
	m.mu.Lock()
	p.result["sent"], p.result["received"] = float64(m.sent), float64(m.received)
	m.mu.Unlock()
	p.result["ops"] = 1
	p.result["secs"] = repaired.Sub(begun).Seconds()
	p.result["lost"] = float64(c.lost())
	each(followed, func(i int) { check(gate.put(p.path(fmt.Sprintf("followed%d", i)), []byte("new"))) })
	for deadline := time.Now().Add(10 * time.Second); changed.Load() < followed && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	p.result["missed"] = float64(followed - changed.Load())
	closeAll(s, gate)
}
