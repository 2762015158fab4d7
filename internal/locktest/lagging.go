package locktest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
)

const (
	oneAddr = "one:2181"
	twoAddr = "two:2181"
)

// Lagging lets contenders work with servers that lag, for less and for more time than
// their sessions can do without an answer, in bubbles: one knows no other server, one goes
// from server to server, and one is with those that are current. No two hold, tokens
// increase, and once the servers have caught up everyone gets the lock. (R2, R21.)
func Lagging(t *testing.T, s Subject) {
	lags := []time.Duration{T / 8, T, 3 * T}
	if harness.Stress {
		lags = append(lags, T/4, T/2, 2*T/3, 2*T, 10*T)
	}
	for _, lag := range lags {
		for _, x := range meantimes {
			t.Run(fmt.Sprintf("for %v, %s", lag, x.name), func(t *testing.T) {
				for i := range harness.Times(1, 8) {
					phase := T / 8 * time.Duration(i)
					InBubble(t, s, func(w *World) { w.lagging(lag, phase, x.do) })
				}
			})
		}
	}
}

// A meantime is something that happens while servers lag.
type meantime struct {
	name string
	do   func(w *World, clients []*Client) (end func())
}

var meantimes = []meantime{
	{"nothing else", func(*World, []*Client) func() { return func() {} }},
	{"an election", func(w *World, _ []*Client) func() { return w.Fake.Leaderless() }},
	{"an isolated leader", func(w *World, _ []*Client) func() { return w.Fake.Isolate(leaderAddr) }},
	{"sessions expired", func(w *World, clients []*Client) func() {
		for _, c := range clients {
			w.Fake.Expire(c.Kit().Session().ID())
		}
		return func() {}
	}},
	{"connections lost", func(w *World, clients []*Client) func() {
		for _, c := range clients {
			c.Link.Reset()
		}
		return func() {}
	}},
}

// lagging has two servers lag, for lag in each of some rounds that begin at phase.
func (w *World) lagging(lag, phase time.Duration, meanwhile func(*World, []*Client) func()) {
	clients := []*Client{
		w.Dial([]string{oneAddr}, &coord.Options{SessionTimeout: T}),
		w.Dial([]string{oneAddr, twoAddr, othersAddr}, &coord.Options{SessionTimeout: T}),
		w.Dial([]string{leaderAddr, othersAddr}, &coord.Options{SessionTimeout: T}),
	}
	x := &exclusion{w: w}
	over := make(chan struct{})
	var wg sync.WaitGroup
	for _, c := range clients {
		wg.Go(func() {
			for !isOver(over) {
				x.turn(c)
			}
		})
	}
	time.Sleep(phase)
	for range 3 {
		one := w.Fake.Lag(oneAddr)
		time.Sleep(lag / 4)
		two := w.Fake.Lag(twoAddr)
		clients[1].Link.Reset()
		time.Sleep(lag / 4)
		end := meanwhile(w, clients)
		time.Sleep(lag / 4)
		one()
		end()
		clients[1].Link.Reset()
		time.Sleep(lag / 4)
		two()
		time.Sleep(T / 4)
	}
	close(over)
	for _, c := range clients {
		c.Link.Reset()
	}
	wg.Wait()
	if x.granted < 3 {
		w.Errorf("%d grants while servers lagged: this shows nothing", x.granted)
	}
	for _, c := range clients {
		for granted := x.granted; x.granted == granted; {
			x.turn(c)
		}
	}
	w.NothingLeft()
}

func isOver(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// An exclusion checks that of its holders each comes after the one before, in time and by
// token.
type exclusion struct {
	w *World

	mu      sync.Mutex
	granted int
	inside  map[*coord.Hold]struct{} // granted, and not yet released
	last    coord.Token
}

// turn has c acquire the lock, hold it for a while and release it, if it gets it.
func (x *exclusion) turn(c *Client) {
	h := x.w.Acquire(bg, c.Client, x.w.Dir)
	if x.w.aside().Outcome(h) != nil {
		<-h.Done()
		time.Sleep(T / 20)
		return
	}
	x.enter(h)
	select {
	case <-h.Lost():
	case <-time.After(T / 10):
	}
	x.leave(h)
	_ = h.Release(bg) // it may be lost
	<-h.Done()
}

func (x *exclusion) enter(h *coord.Hold) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for other := range x.inside {
		if other.Err() == nil {
			x.w.Errorf("token %d is granted while the holder of %d has not been told", h.Token(), other.Token())
		}
	}
	if h.Token() <= x.last {
		x.w.Errorf("token %d after %d", h.Token(), x.last)
	}
	if x.inside == nil {
		x.inside = make(map[*coord.Hold]struct{})
	}
	x.inside[h] = struct{}{}
	x.granted++
	x.last = max(x.last, h.Token())
}

func (x *exclusion) leave(h *coord.Hold) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.inside, h)
}
