package interop

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/rwlock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(ensemble.Main(m)) }

// patience is how long a test waits for something that must happen.
const patience = time.Minute

// A contest is one lock, contenders of ours and of another client, and a referee
// that is told by each when it has the lock and before it gives it up. So two that
// are inside together both had it.
type contest struct {
	testing.TB
	node   *ensemble.Node
	server string // its address
	dir    string
	rounds int             // how often everybody must enter
	ctx    context.Context // ends when somebody has failed
	fail   context.CancelFunc

	foreign *process // killed when somebody has failed

	playing sync.WaitGroup
	mu      sync.Mutex
	all     []*contender
	inside  map[*contender]bool // whether it writes
	last    string              // the side of the contender that came last
	passed  map[string]int      // how often the lock went from one side to another, by the former
	most    int                 // the most that have read together
}

// A contender asks for the lock again as soon as it has had it, until everybody
// has had it often enough.
type contender struct {
	side, what string
	entries    int
}

func newContest(t *testing.T) *contest {
	x := &contest{
		TB:     t,
		node:   ensemble.Shared(t).Node(0),
		dir:    fmt.Sprintf("/interop-%d", time.Now().UnixNano()),
		rounds: 25,
		inside: make(map[*contender]bool),
		passed: make(map[string]int),
	}
	x.server = x.node.Addr()
	if harness.Stress {
		x.rounds = 2000
	}
	x.ctx, x.fail = context.WithCancel(context.Background())
	t.Cleanup(x.fail)
	return x
}

// client returns a new client of ours. Its session survives a busy machine.
func (x *contest) client() *coord.Client {
	x.Helper()
	ctx, cancel := context.WithTimeout(x.ctx, patience)
	defer cancel()
	c, err := coord.Dial(ctx, []string{x.server}, &coord.Options{SessionTimeout: 40 * time.Second})
	if err != nil {
		x.Fatal(err)
	}
	x.Cleanup(func() { c.Close() })
	return c
}

func (x *contest) join(side, what string) *contender {
	x.mu.Lock()
	defer x.mu.Unlock()
	c := &contender{side: side, what: what}
	x.all = append(x.all, c)
	return c
}

// enter is called when c has the lock.
func (x *contest) enter(c *contender, writes bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for other, wrote := range x.inside {
		if writes || wrote {
			x.Errorf("%s %s beside %s %s", c.side, c.what, other.side, other.what)
		}
	}
	x.inside[c] = writes
	if !writes {
		x.most = max(x.most, len(x.inside))
	}
	if x.last != "" && x.last != c.side {
		x.passed[x.last]++
	}
	x.last = c.side
	c.entries++
}

// downgrade is called before c, which wrote, lets others read beside it.
func (x *contest) downgrade(c *contender) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.inside[c] = false
}

// leave is called before c gives the lock up, and says whether to come again.
func (x *contest) leave(c *contender) (again bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.inside, c)
	for _, c := range x.all {
		again = again || c.entries < x.rounds
	}
	return again && x.ctx.Err() == nil
}

// failed ends the contest. What fails for that reason is not told.
func (x *contest) failed(format string, args ...any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ctx.Err() == nil {
		x.Errorf(format, args...)
		x.fail()
		if x.foreign != nil {
			x.foreign.kill()
		}
	}
}

// ours adds a contender of this module. If downgrade is not nil, it is done with
// the hold, which writes, every other time.
func (x *contest) ours(what string, writes bool, c *coord.Client, acquire func(context.Context) *coord.Hold, downgrade func(context.Context, *coord.Hold) error) {
	p := x.join("ours", what)
	work := func() {
		if _, _, err := c.Conn().Exists("/"); err != nil { // takes a moment
			x.failed("%s: %v", what, err)
		}
	}
	x.playing.Go(func() {
		for again := true; again; {
			if p.entries%4 == 3 { // at times it gives up before, wherever it is in the queue
				brief, giveUp := context.WithCancel(x.ctx)
				h := acquire(brief)
				giveUp()
				if err := h.Release(x.ctx); err != nil {
					x.failed("%s gives up: %v", what, err)
				}
			}
			h := acquire(x.ctx)
			if err := h.Wait(); err != nil {
				x.failed("%s: %v", what, err)
				return
			}
			x.enter(p, writes)
			work()
			if downgrade != nil && p.entries%2 == 1 {
				x.downgrade(p) // others may read before the answer is here
				if err := downgrade(x.ctx, h); err != nil {
					x.failed("%s: %v", what, err)
				}
				work()
			}
			again = x.leave(p)
			if err := h.Release(x.ctx); err != nil {
				x.failed("%s: %v", what, err)
			}
		}
	})
}

// mutexes adds three contenders of ours.
func (x *contest) mutexes() {
	x.Helper()
	for range 3 {
		c := x.client()
		x.ours("Mutex", true, c, lock.New(c, x.dir).Acquire, nil)
	}
}

// readersAndWriters adds two readers of ours and a writer that downgrades at times.
func (x *contest) readersAndWriters() {
	x.Helper()
	for range 2 {
		c := x.client()
		x.ours("reader", false, c, rwlock.New(c, x.dir).AcquireRead, nil)
	}
	c := x.client()
	m := rwlock.New(c, x.dir)
	x.ours("writer", true, c, m.AcquireWrite, m.Downgrade)
}

// theirs adds contenders of another client, one for each of whats.
func (x *contest) theirs(p *process, whats ...string) {
	x.foreign = p
	for i, what := range whats {
		peer, c := p.peers[i], x.join(p.client, what)
		peer.say(what, x.dir)
		x.playing.Go(func() {
			for {
				line, err := peer.hear()
				switch {
				case err != nil:
					x.failed("%s of %s: %v", what, p.client, err)
					return
				case line == "enter write", line == "enter read":
					x.enter(c, line == "enter write")
				case line == "leave" && x.leave(c):
					peer.say("again")
				case line == "leave":
					peer.say("stop")
				case line == "done":
					return
				default:
					x.failed("%s of %s says %q", what, p.client, line)
					return
				}
			}
		})
	}
}

// finish waits until everybody has had the lock often enough and has left.
func (x *contest) finish() {
	x.Helper()
	bound := patience
	if harness.Stress {
		bound *= 10
	}
	began := time.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		x.playing.Wait()
	}()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		x.failed("not everybody has had the lock %d times after %v", x.rounds, bound)
		<-done
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	var entries []string
	for _, c := range x.all {
		entries = append(entries, fmt.Sprintf("%s %s %d", c.side, c.what, c.entries))
	}
	if x.passed["ours"] == 0 && !x.Failed() {
		x.Error("the lock never went from ours to the other client")
	}
	x.Logf("entries in %.1f s: %s; to the other side: %v; at most %d read together",
		time.Since(began).Seconds(), strings.Join(entries, ", "), x.passed, x.most)
}
