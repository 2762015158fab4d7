package coord_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// transactions are the ops that no server answers without a majority of them.
var transactions = []string{"create", "delete", "setData", "multi", "check"}

// passLeader are the ops that no follower answers by itself.
var passLeader = append([]string{"connect", "sync"}, transactions...)

// A ledger follows a line from outside and tells when the newest transaction was
// written that has been answered: the moment from which a lease counts.
type ledger struct {
	mu       sync.Mutex
	others   map[string][]time.Time
	answered time.Time
}

func keepLedger(l *coordtest.Link) *ledger {
	g := &ledger{others: make(map[string][]time.Time)}
	l.OnFrame(func(f coordtest.Frame) coordtest.Action {
		g.mu.Lock()
		defer g.mu.Unlock()
		if f.Op == "connect" && f.Dir == coordtest.ToServer {
			clear(g.others) // what was asked on an earlier connection has no answer
		}
		key := f.Op + f.Path
		switch {
		case f.Dir == coordtest.ToServer:
			g.others[key] = append(g.others[key], time.Now())
		case len(g.others[key]) > 0 && slices.Contains(transactions, f.Op):
			if at := g.others[key][0]; at.After(g.answered) {
				g.answered = at
			}
			g.others[key] = g.others[key][1:]
		}
		return coordtest.Pass
	})
	return g
}

func (g *ledger) last() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.answered
}

// ends waits until the session ends here, and until it ends at the server, and
// returns when.
func ends(w *world, c *coord.Client) (here, there time.Time) {
	s := c.Kit().Session()
	select {
	case <-s.Done():
		here = time.Now()
	case <-time.After(never):
		w.Fatal("the session never ends")
	}
	if err := s.Err(); !errors.Is(err, coord.ErrExpired) || errors.Is(err, coord.ErrClosed) {
		w.Errorf("session ended with %v, want ErrExpired", err)
	}
	for len(w.Fake.Sessions()) > 0 && w.Fake.Sessions()[0] == s.ID() {
		time.Sleep(10 * time.Millisecond)
	}
	return here, time.Now()
}

// R2, R21, R85: with the line silent in either direction or both, at whatever
// moment that begins, the session is over here no later than 0.64 T after the
// newest answered transaction was written, and always before the server ends it;
// though watch events may keep arriving.
func TestSessionIsOverHereBeforeThere(t *testing.T) {
	for _, timeout := range []time.Duration{4, 6, 10, 40} {
		timeout *= time.Second
		for _, dir := range []coordtest.Direction{coordtest.Both, coordtest.ToServer, coordtest.ToClient} {
			for _, events := range []bool{false, true} {
				t.Run(fmt.Sprintf("T=%v, direction %d, events %v", timeout, dir, events), func(t *testing.T) {
					phases := harness.Times(10, 50)
					if timeout != 4*time.Second { // the same in larger numbers
						phases = harness.Times(3, 10)
					}
					for i := range phases {
						bubble(t, func(w *world) {
							l := w.line()
							g := keepLedger(l)
							c := w.client(l, coord.Options{SessionTimeout: timeout})
							other := w.client(w.line(), coord.Options{SessionTimeout: 40 * time.Second})
							create(t, other, "/busy", "", 0)
							if events {
								go chatterOn(other, c, timeout)
							}
							h := take(c, "/h", nil)
							must(t, h.Wait())
							time.Sleep(timeout + timeout*time.Duration(i)/time.Duration(6*phases))
							l.Stall(dir)
							promised := make(chan time.Time, 1)
							go func() {
								<-h.Lost()
								promised <- h.Until()
							}()
							here, there := ends(w, c)
							other.Close()
							age := here.Sub(g.last())
							if lease := timeout * 64 / 100; age > lease || age < lease-timeout/100 {
								t.Errorf("phase %d: over %v after the newest answered transaction was written, want %v", i, age, lease)
							}
							if !here.Before(there) {
								t.Errorf("phase %d: over here at %v, there at %v", i, here, there)
							}
							if until := <-promised; until.Before(here) || until.Sub(here) > time.Millisecond {
								t.Errorf("phase %d: lost at %v, promised until %v", i, here, until)
							}
						})
					}
				})
			}
		}
	}
}

// chatterOn makes c receive a watch event every timeout/10, each armed by a request
// that was made while requests still got through, until other is closed.
func chatterOn(other, c *coord.Client, timeout time.Duration) {
	const paths = 30
	conn := c.Conn()
	for i := range paths {
		conn.ExistsW(fmt.Sprintf("/busy/%d", i))
	}
	for i := range paths {
		select {
		case <-other.Expired():
			return
		case <-time.After(timeout / 10):
		}
		if _, err := other.Conn().Create(fmt.Sprintf("/busy/%d", i), nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
			return
		}
	}
}

// Until moves on with every answer: with heartbeats each T/6 a hold is never good
// for less than 0.47 T, less the round trip, and never for more than 0.64 T.
func TestUntilMovesOn(t *testing.T) {
	bubble(t, func(w *world) {
		const timeout = 6 * time.Second
		l := w.line()
		g := keepLedger(l)
		c := w.client(l, coord.Options{SessionTimeout: timeout})
		h := c.Kit().NewHold(bg, "hold", "/h", func(k *coord.Keeper) error {
			time.Sleep(time.Second)
			must(t, c.Kit().Session().Renew(bg, "/h"))
			must(t, k.Acquired(c.Kit().Session(), "/h", 1))
			select {
			case <-k.Released():
			case <-c.Kit().Session().Done(): // the test has failed
			}
			return coord.ErrReleased
		})
		if !h.Until().IsZero() {
			t.Errorf("Until = %v before it is acquired", h.Until())
		}
		must(t, h.Wait())
		for i := range 1000 {
			if i%10 == 0 { // a slow line: the answer comes later, and counts from the question
				heal := l.Stall(coordtest.ToClient)
				time.AfterFunc(130*time.Millisecond, heal)
			}
			time.Sleep(17 * time.Millisecond)
			synctest.Wait()
			if want := g.last().Add(timeout * 64 / 100); !h.Until().Equal(want) {
				t.Fatalf("Until is in %v, want %v", time.Until(h.Until()), time.Until(want))
			}
			if left := time.Until(h.Until()); left < timeout*44/100 || left > timeout*64/100 {
				t.Fatalf("good for %v", left)
			}
		}
		must(t, h.Release(bg))
	})
}

// R86: what is shorter than the lease costs nothing: neither stalls nor resets,
// at any phase.
func TestBlipsCostNothing(t *testing.T) {
	for _, timeout := range []time.Duration{4 * time.Second, 10 * time.Second} {
		phases := harness.Times(10, 40)
		for i := range phases {
			bubble(t, func(w *world) {
				l := w.line()
				c := w.client(l, coord.Options{SessionTimeout: timeout})
				create(t, c, "/mine", "", coord.Ephemeral)
				expired, id := c.Expired(), c.Kit().Session().ID()
				for _, dir := range []coordtest.Direction{coordtest.Both, coordtest.ToServer, coordtest.ToClient} {
					time.Sleep(timeout * time.Duration(i) / time.Duration(phases*6))
					heal := l.Stall(dir)
					time.Sleep(timeout / 3)
					heal()
					w.Await(c, coord.Connected)
					time.Sleep(timeout / 6)
					l.Reset()
					time.Sleep(timeout / 6)
					heal = l.Cut()
					time.Sleep(timeout / 4)
					heal()
					time.Sleep(timeout)
				}
				if isClosed(expired) || c.Kit().Session().ID() != id {
					t.Errorf("T=%v, phase %d: the session is lost", timeout, i)
				}
				if state, _ := c.State(); state != coord.Connected || !strings.Contains(w.Tree(), "/mine") {
					t.Errorf("T=%v, phase %d: %v; tree\n%s", timeout, i, state, w.Tree())
				}
			})
		}
	}
}

// A server that falls silent is left for another within the lease, at any phase,
// so a hold survives; streams go on there.
func TestSilentServerIsLeftForAnother(t *testing.T) {
	for _, timeout := range []time.Duration{4 * time.Second, 6 * time.Second, 40 * time.Second} {
		for _, dir := range []coordtest.Direction{coordtest.Both, coordtest.ToServer, coordtest.ToClient} {
			for i := range 20 {
				bubble(t, func(w *world) {
					two := newPair(w)
					c, err := coord.Dial(bg, []string{"one", "two"}, &coord.Options{Dial: two.dial, SessionTimeout: timeout})
					must(t, err)
					defer c.Close()
					create(t, c, "/mine", "0", coord.Ephemeral)
					expired, id := c.Expired(), c.Kit().Session().ID()
					s := c.Watch(bg, "/mine", event.Data)
					time.Sleep(timeout + timeout*time.Duration(i)/(6*20))
					first := two.present()
					first.Stall(dir)
					time.Sleep(timeout)
					if isClosed(expired) || c.Kit().Session().ID() != id || two.present() == first {
						t.Fatalf("T=%v, direction %d, phase %d: session lost: %v", timeout, dir, i, isClosed(expired))
					}
					set(t, c, "/mine", "1")
					for string((<-s.Updates()).Data) != "1" {
					}
				})
			}
		}
	}
}

// A pair is two lines to one server, as to two members of an ensemble.
type pair struct {
	lines map[string]*coordtest.Link
	mu    sync.Mutex
	last  *coordtest.Link
}

func newPair(w *world) *pair {
	return &pair{lines: map[string]*coordtest.Link{"one:2181": w.line(), "two:2181": w.line()}}
}

func (p *pair) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := p.lines[addr].Dial(ctx, network, addr)
	if err == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.last = p.lines[addr]
	}
	return conn, err
}

func (p *pair) present() *coordtest.Link {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}
