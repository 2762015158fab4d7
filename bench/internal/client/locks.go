package client

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// The phases of a load that goes on while it is measured. What is recorded lies wholly
// between begin and end.
const (
	warming int32 = iota
	measuring
	measured
	stopping
)

type phase struct{ atomic.Int32 }

// cycles acquires and releases l, again and again with a pause in between, until it is
// to stop. It records how long the acquisition took, and that with the release.
func (now *phase) cycles(l locker, pause time.Duration, record func(acquired, all time.Duration)) {
	for {
		began := now.Load()
		if began == stopping {
			return
		}
		t := time.Now()
		check(l.lock())
		acquired := time.Since(t)
		check(l.unlock())
		if all := time.Since(t); began == measuring && now.Load() == measuring {
			record(acquired, all)
		}
		time.Sleep(pause)
	}
}

// steady brackets the load that is under way, and ends it.
func (p *process) steady(now *phase) {
	time.Sleep(p.Warm)
	begun := p.begin()
	now.Store(measuring)
	time.Sleep(p.Measure)
	now.Store(measured)
	p.end(begun)
	now.Store(stopping)
	p.result["steady"] = 1
}

// cycle: each client acquires and releases a lock of its own, again and again.
func cycle(p *process) {
	all := p.sessions(p.N)
	took := make([][]time.Duration, p.N)
	acquired := make([][]time.Duration, p.N)
	var now phase
	var cycling sync.WaitGroup
	for i, s := range all {
		mutex := s.mutex
		if own, ok := s.(uncontender); ok {
			mutex = own.uncontended
		}
		l := mutex(p.path(fmt.Sprintf("lock%d", i)))
		cycling.Go(func() {
			now.cycles(l, 0, func(got, all time.Duration) {
				acquired[i] = append(acquired[i], got)
				took[i] = append(took[i], all)
			})
		})
	}
	p.steady(&now)
	cycling.Wait()
	cycles := concat(took)
	p.result["ops"] = float64(len(cycles))
	p.quantiles("acquire", concat(acquired))
	p.quantiles("cycle", cycles)
	closeAll(all...)
}

// handover: one more client holds the lock until all contend for it. Then each
// releases it as soon as it has it, and contends again. A hand-over is timed from just
// before the release is called to the next acquisition's return.
func handover(p *process) {
	path := p.path("lock")
	gate := p.dial()
	gateLock := gate.mutex(path)
	check(gateLock.lock())
	base := p.measured("base")
	all := p.sessions(p.N)
	p.measured("sessions")
	var (
		now      phase
		released atomic.Int64 // when, since start
		mu       sync.Mutex   // guards hands; the lock orders us anyway
		hands    []time.Duration
		running  sync.WaitGroup
		start    = time.Now()
	)
	for _, s := range all {
		l := s.mutex(path)
		running.Go(func() {
			for now.Load() != stopping {
				check(l.lock())
				hand := time.Since(start) - time.Duration(released.Load())
				if now.Load() == measuring {
					mu.Lock()
					hands = append(hands, hand)
					mu.Unlock()
				}
				released.Store(int64(time.Since(start)))
				check(l.unlock())
			}
		})
	}
	p.queued(gate, path, p.N+1)
	p.grown(base, p.measured("waiting"))
	released.Store(int64(time.Since(start)))
	check(gateLock.unlock())
	p.steady(&now)
	running.Wait()
	p.result["ops"] = float64(len(hands))
	p.quantiles("hand", hands)
	closeAll(append(all, gate)...)
}

// queued waits until n stand in the queue at path, and have found out what they wait for.
func (p *process) queued(s session, path string, n int) {
	eventually(fmt.Sprintf("%d in the queue", n), func() bool {
		have, err := s.contenders(path)
		check(err)
		return have >= n
	})
	p.rest()
}

// shared: N clients take the lock for reading, again and again, and one takes it for
// writing, and pauses in between.
func shared(p *process) {
	all := p.sessions(p.N + 1)
	path := p.path("lock")
	took := make([][]time.Duration, len(all))
	var now phase
	var running sync.WaitGroup
	for i, s := range all {
		l, pause := s.(sharer).reader(path), time.Duration(0)
		if i == p.N {
			l, pause = s.(sharer).writer(path), p.Pause
		}
		running.Go(func() {
			now.cycles(l, pause, func(got, _ time.Duration) { took[i] = append(took[i], got) })
		})
	}
	p.steady(&now)
	running.Wait()
	reads, writes := concat(took[:p.N]), took[p.N]
	p.result["ops"] = float64(len(reads) + len(writes))
	p.result["writes"] = float64(len(writes)) / p.result["secs"]
	p.quantiles("read", reads)
	p.quantiles("write", writes)
	closeAll(all...)
}

// lease: N clients hold some locks each and do nothing. What is done is that a session
// lives for a second.
func lease(p *process) {
	all := p.sessions(p.N)
	each(p.N, func(i int) {
		for k := range p.Keys {
			check(all[i].mutex(p.path(fmt.Sprintf("lock%d-%d", i, k))).lock())
		}
	})
	p.steady(new(phase))
	p.result["ops"] = float64(p.N) * p.result["secs"]
	closeAll(all...)
}

func concat(parts [][]time.Duration) []time.Duration {
	var all []time.Duration
	for _, part := range parts {
		all = append(all, part...)
	}
	return all
}
