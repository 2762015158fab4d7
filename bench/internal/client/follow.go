package client

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// fanout: N subscribers of one client follow one znode, which changes again as soon as
// all have heard of it.
func fanout(p *process) {
	writer := p.dial()
	path := p.path("followed")
	check(writer.put(path, []byte("0")))
	s := p.dial().(follower)
	base := p.measured("base")
	all := newAudience(p.N)
	begun := time.Now()
	for range p.N {
		heard := -1
		s.follow(path, func(data []byte) {
			change, err := strconv.Atoi(string(data))
			check(err)
			if change > heard {
				heard = change
				all.heard(change)
			}
		})
	}
	all.wait(0)
	p.result["subscribe_s"] = time.Since(begun).Seconds()
	p.grown(base, p.measured("waiting"))
	p.changes("change", all, func(change int) { check(writer.put(path, []byte(strconv.Itoa(change)))) })
}

// changes makes one change after the other, each as soon as all have heard of the one
// before, and times that.
func (p *process) changes(name string, all *audience, change func(i int)) {
	var took []time.Duration
	begun := p.begin()
	for i := 1; time.Since(begun) < p.Measure; i++ {
		t := time.Now()
		change(i)
		all.wait(i)
		took = append(took, time.Since(t))
	}
	p.end(begun)
	p.result["ops"] = float64(len(took))
	p.quantiles(name, took)
}

// An audience is waited for until all in it have heard of a change, or of a later one.
type audience struct {
	mu     sync.Mutex
	size   int
	change int           // the one waited for
	n      int           // so many have heard of it
	full   chan struct{} // of size one
}

func newAudience(size int) *audience { return &audience{size: size, full: make(chan struct{}, 1)} }

// heard says that one has heard of the change.
func (a *audience) heard(change int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if change != a.change {
		return // the last one, told again
	}
	if a.n++; a.n == a.size {
		a.full <- struct{}{}
	}
}

// wait waits until all have heard of the change, which is the one after that of the
// last call, and prepares for the next.
func (a *audience) wait(change int) {
	select {
	case <-a.full:
	case <-time.After(patience):
		check(fmt.Errorf("not all have heard of change %d after %v", change, patience))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.change, a.n = change+1, 0
}

// settings: one client follows N settings, and at each tick the next of them changes.
func settings(p *process) {
	writer := p.dial()
	path := func(i int) string { return p.path("settings", fmt.Sprintf("setting%d", i)) }
	each(p.N, func(i int) { check(writer.put(path(i), []byte("0"))) })
	start := time.Now()
	var (
		known atomic.Int64
		mu    sync.Mutex
		took  []time.Duration
	)
	got := func(data []byte) {
		set, err := strconv.ParseInt(string(data), 10, 64)
		check(err)
		if set == 0 {
			known.Add(1)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		took = append(took, time.Since(start)-time.Duration(set))
	}
	s := p.dial()
	follow := s.(follower).follow
	if own, ok := s.(settingsFollower); ok {
		follow = own.followSetting
	}
	base := p.measured("base")
	for i := range p.N {
		follow(path(i), got)
	}
	eventually("all settings are known", func() bool { return known.Load() >= int64(p.N) })
	p.grown(base, p.measured("waiting"))
	tick := time.NewTicker(time.Second / time.Duration(p.Rate))
	defer tick.Stop()
	begun := p.begin()
	sets := 0
	for ; time.Since(begun) < p.Measure; sets++ {
		<-tick.C
		check(writer.put(path(sets%p.N), []byte(strconv.FormatInt(int64(time.Since(start)), 10))))
	}
	p.rest()
	p.end(begun)
	mu.Lock()
	defer mu.Unlock()
	p.result["ops"] = float64(sets)
	p.result["missed"] = float64(sets - len(took))
	p.quantiles("change", took)
}
