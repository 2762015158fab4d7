package locktest

import (
	"fmt"
	"maps"
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
	lags := []time.Duration{T / 2, 3 * T}
	if harness.Stress {
		lags = append(lags, T/8, T/4, 2*T/3, T, 2*T, 10*T)
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
	do   func(x *exclusion, clients []*Client) (end func())
}

var meantimes = []meantime{
	{"nothing else", func(*exclusion, []*Client) func() { return func() {} }},
	{"an election", func(x *exclusion, _ []*Client) func() { return x.w.Fake.Leaderless() }},
	{"an isolated leader", func(x *exclusion, _ []*Client) func() { return x.w.Fake.Isolate(leaderAddr) }},
	{"sessions ended by hand", func(x *exclusion, clients []*Client) func() {
		for _, c := range clients {
			x.end(c.Kit().Session().ID())
		}
		return func() {}
	}},
	{"connections lost", func(_ *exclusion, clients []*Client) func() {
		for _, c := range clients {
			c.Link.Reset()
		}
		return func() {}
	}},
}

// lagging has two servers lag, for lag in each of some rounds that begin at phase.
func (w *World) lagging(lag, phase time.Duration, meanwhile func(*exclusion, []*Client) func()) {
	clients := []*Client{
		w.Dial([]string{oneAddr}, &coord.Options{SessionTimeout: T}),
		w.Dial([]string{oneAddr, twoAddr, othersAddr}, &coord.Options{SessionTimeout: T}),
		w.Dial([]string{leaderAddr, othersAddr}, &coord.Options{SessionTimeout: T}),
	}
	x := &exclusion{w: w, inside: make(map[*coord.Hold]coord.SessionID)}
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
		end := meanwhile(x, clients)
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
	w.Logf("%d granted while servers lagged, %d lost", x.granted, x.lost)
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
	lost    int
	last    coord.Token // the greatest
	wrote   coord.Token // of the last that is not held beside others
	// The sessions of those who hold and have not yet begun to release. Of one that is
	// ended by hand the next holder may hear before the one whose it is: then only the
	// tokens tell them apart.
	inside map[*coord.Hold]coord.SessionID
}

// end ends a session by hand.
func (x *exclusion) end(session coord.SessionID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	maps.DeleteFunc(x.inside, func(_ *coord.Hold, of coord.SessionID) bool { return of == session })
	x.w.Fake.Expire(session)
}

// turn has c acquire the lock, hold it for a while, now and then for as long as a session
// can do without an answer, and release it, if it gets it.
func (x *exclusion) turn(c *Client) {
	h := x.w.Acquire(bg, c.Client, x.w.Dir)
	if x.w.aside().Outcome(h) != nil {
		<-h.Done()
		time.Sleep(T / 20)
		return
	}
	select {
	case <-h.Lost():
	case <-time.After(x.enter(h, c.Kit().Session().ID())):
	}
	x.leave(h)
	_ = h.Release(bg) // it may be lost
	<-h.Done()
}

// enter checks that h may be granted, and returns for how long to hold it.
func (x *exclusion) enter(h *coord.Hold, session coord.SessionID) time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	reads := func(h *coord.Hold) bool { return x.w.Reads != nil && x.w.Reads(h) }
	for other := range x.inside {
		if beside := reads(h) && reads(other); !beside && other.Err() == nil {
			x.w.Errorf("token %d is granted while the holder of %d has not been told", h.Token(), other.Token())
		}
	}
	before := x.wrote
	if !reads(h) {
		before = x.last
		x.wrote = h.Token()
	}
	if h.Token() <= before {
		x.w.Errorf("token %d after %d", h.Token(), before)
	}
	x.last = max(x.last, h.Token())
	x.inside[h] = session
	x.granted++
	if x.granted%3 == 0 {
		return T
	}
	return T / 10
}

func (x *exclusion) leave(h *coord.Hold) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.inside, h)
	if h.Err() != nil {
		x.lost++
	}
}
