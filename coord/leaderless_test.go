package coord_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// passed is a frame, and when it passed a line.
type passed struct {
	coordtest.Frame
	at time.Time
}

// An orphan is a line to a server that loses its leader: it goes on to answer
// heartbeats and reads, and nothing else.
type orphan struct {
	mu       sync.Mutex
	orphaned bool
	frames   []passed
}

func orphanage(l *coordtest.Link) *orphan {
	o := new(orphan)
	l.OnFrame(func(f coordtest.Frame) coordtest.Action {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.orphaned && f.Dir == coordtest.ToClient && slices.Contains(passLeader, f.Op) {
			return coordtest.Drop
		}
		o.frames = append(o.frames, passed{f, time.Now()})
		return coordtest.Pass
	})
	return o
}

func (o *orphan) lose() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.orphaned = true
}

// passed returns when frames of op passed in direction d.
func (o *orphan) passed(d coordtest.Direction, op string) []time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	var at []time.Time
	for _, p := range o.frames {
		if p.Dir == d && p.Op == op {
			at = append(at, p.at)
		}
	}
	return at
}

// renewed returns when the newest request was written of those whose answers have
// passed the leader and reached the client.
func (o *orphan) renewed() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	var newest time.Time
	asked := map[string][]time.Time{}
	for _, p := range o.frames {
		key := p.Op + p.Path
		switch {
		case !slices.Contains(passLeader, p.Op):
		case p.Dir == coordtest.ToServer:
			asked[key] = append(asked[key], p.at)
		default:
			newest = asked[key][0]
			asked[key] = asked[key][1:]
		}
	}
	return newest
}

// A server without a leader answers heartbeats and reads for a while, and renews
// nothing. While something is held it is left for another at T/3.
func TestServerWithoutLeaderIsLeft(t *testing.T) {
	for _, timeout := range []time.Duration{4 * time.Second, 10 * time.Second, 40 * time.Second} {
		for i := range 20 {
			bubble(t, func(w *world) {
				two := newPair(w)
				c, err := coord.Dial(bg, []string{"one", "two"}, &coord.Options{Dial: two.dial, SessionTimeout: timeout})
				must(t, err)
				defer c.Close()
				first := two.present()
				var second *coordtest.Link
				for _, l := range two.lines {
					if l != first {
						second = l
					}
				}
				o, other := orphanage(first), orphanage(second)
				h := take(c, "/lock", nil)
				must(t, h.Wait())
				time.Sleep(timeout + timeout*time.Duration(i)/(6*20))
				o.lose()
				for range 50 { // reads are answered all the while
					c.Conn().Exists("/")
					time.Sleep(timeout / 50)
				}
				moved := other.passed(coordtest.ToServer, "connect")
				if len(moved) != 1 {
					t.Fatalf("T=%v, phase %d: %d connections to the other server", timeout, i, len(moved))
				}
				if age := moved[0].Sub(o.renewed()); age < timeout/3-time.Microsecond || age > timeout/3+timeout/100 {
					t.Errorf("T=%v, phase %d: left %v after the last word from the leader", timeout, i, age)
				}
				if n := len(o.passed(coordtest.ToClient, "exists")); n < 10 {
					t.Errorf("T=%v, phase %d: %d reads answered", timeout, i, n)
				}
				time.Sleep(3 * timeout)
				if isClosed(h.Lost()) || h.Err() != nil {
					t.Errorf("T=%v, phase %d: %v", timeout, i, h.Err())
				}
				must(t, h.Release(bg))
			})
		}
	}
}

// If all servers are without a leader, what is held is lost when the lease runs
// out that began with its last word, though heartbeats are answered meanwhile.
func TestNoLeaderAnywhere(t *testing.T) {
	for _, timeout := range []time.Duration{4 * time.Second, 10 * time.Second} {
		for i := range 20 {
			bubble(t, func(w *world) {
				l := w.line()
				o := orphanage(l)
				c := w.client(l, coord.Options{SessionTimeout: timeout})
				h := take(c, "/lock", nil)
				must(t, h.Wait())
				time.Sleep(timeout + timeout*time.Duration(i)/(6*20))
				o.lose()
				lost := time.Now()
				<-h.Lost()
				age, lease := time.Since(o.renewed()), timeout*64/100
				if age > lease || age < lease-timeout/100 {
					t.Errorf("T=%v, phase %d: lost %v after the last word from the leader, want %v", timeout, i, age, lease)
				}
				if pings := o.passed(coordtest.ToClient, "ping"); !pings[len(pings)-1].After(lost) {
					t.Errorf("T=%v, phase %d: no heartbeat was answered", timeout, i)
				}
				if !errors.Is(h.Err(), coord.ErrExpired) {
					t.Errorf("T=%v, phase %d: %v", timeout, i, h.Err())
				}
			})
		}
	}
}
