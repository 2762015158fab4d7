package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/members"
)

const (
	dir    = "/lock"                // where the contenders queue
	report = "/report"              // what the lock guards: a znode
	pace   = "/pace"                // a setting: the milliseconds from one piece of work to the next
	slow   = 400 * time.Millisecond // what it is without one
)

// A contender stands for one program of several. It has a session of its own,
// over a link of its own, which the tour can cut.
type contender struct {
	name   string
	link   *coordtest.Link
	client *coord.Client
	store  *store
	story  *story
	member *members.Membership
	pace   atomic.Int64 // a time.Duration, as set
	doomed atomic.Bool  // the tour means it to lose the lock
}

func (c *contender) say(what moment, format string, args ...any) {
	c.story.say(c.name, what, format, args...)
}

// run asks for the lock, works while it has it, and gives it up when ctx ends,
// whether it has it by then or still waits, or when the lock is lost.
func (c *contender) run(ctx context.Context) *coord.Hold {
	c.say(asks, "for the lock")
	hold := lock.New(c.client, dir, lock.Label(c.name)).Acquire(ctx)
	queue := lock.New(c.client, dir).Watch(ctx)
	paces := setting(c.client).Watch(ctx)
	state, changed := c.client.State()
	acquired, over := hold.Acquired(), hold.Done()
	var stop <-chan struct{} // nil, and so never ready, until we hold
	var behind string
	var working sync.WaitGroup
	for {
		select {
		case <-acquired:
			// Closed channels stay ready: look once. From here on it is Lost
			// that matters, and ctx is no longer the business of Acquire.
			acquired, over, stop = nil, nil, ctx.Done()
			c.story.acquired(c.name, hold.Token())
			working.Go(func() { c.work(hold.Context(ctx), hold) })
		case q := <-queue.Updates():
			was := behind
			behind = before(q.Contenders, c.name)
			if acquired != nil && behind != "" && behind != was {
				c.say(waits, "behind %s", behind)
			}
		case set := <-paces.Updates():
			now := time.Duration(set.Value) * time.Millisecond
			was := c.pace.Swap(int64(now))
			if acquired == nil && was != int64(now) {
				c.say(adjusts, "to a piece of work each %v, in the same select", now)
			}
		case <-changed:
			was := state
			state, changed = c.client.State()
			switch {
			case acquired != nil: // we hold nothing
			case state == coord.Suspended:
				c.say(suspended, "can rely on the lock for %d ms more", time.Until(hold.Until()).Milliseconds())
			case state == coord.Connected && was == coord.Suspended:
				c.say(connected, "and still has the lock")
			}
		case <-over: // and never held
			c.say(leaves, "%s", why(hold.Err()))
			return hold
		case <-stop: // first the work stops, then the lock goes
			working.Wait()
			c.say(releases, "the lock")
			if err := hold.Release(context.WithoutCancel(ctx)); err != nil {
				c.story.fail(err)
			}
			return hold
		case <-hold.Lost():
			c.say(lost, "%s", why(hold.Err()))
			working.Wait() // its context has ended
			return hold
		}
	}
}

// why returns the cause in err. What was done, and to what, the story has told before.
func why(err error) string {
	if e := new(coord.Error); errors.As(err, &e) {
		err = e.Err
	}
	return strings.TrimPrefix(err.Error(), "coord: ")
}

// setting returns the pace, which is slow until it is set.
func setting(c *coord.Client) *config.Value[int] {
	codec := config.JSON[int]()
	codec.Default = int(slow.Milliseconds())
	return config.New(c, pace, codec)
}

// before returns the label of the contender before name, or "".
func before(line []coord.Contender, name string) string {
	for i, who := range line {
		if who.Label == name && i > 0 {
			return line[i-1].Label
		}
	}
	return ""
}

// work is what the lock is for. It ends when ctx does.
func (c *contender) work(ctx context.Context, hold *coord.Hold) {
	for {
		if err := c.write(ctx, hold); err != nil {
			if ctx.Err() == nil && hold.Err() == nil {
				c.story.fail(fmt.Errorf("%s has the lock and cannot write: %w", c.name, err))
			}
			return
		}
		c.say(writes, "%s with guard, store with token %d", report, hold.Token())
		select {
		case <-time.After(time.Duration(c.pace.Load())):
		case <-ctx.Done():
			return
		}
	}
}

// write writes to both things that the lock guards.
func (c *contender) write(ctx context.Context, hold *coord.Hold) error {
	if err := c.writeReport(ctx, hold); err != nil {
		return err
	}
	return c.store.put(hold.Token(), c.name)
}

// writeReport writes to the report. The guard and the write are one transaction, which
// is refused if someone else may have the lock. So it does no harm to repeat it when an
// answer was lost.
func (c *contender) writeReport(ctx context.Context, hold *coord.Hold) error {
	for {
		_, err := c.client.Txn(ctx, hold.Guard(), coord.OpSet(report, []byte(c.name), -1))
		if !errors.Is(err, coord.ErrUnknown) || ctx.Err() != nil {
			return err
		}
	}
}

// A store stands for a system outside ZooKeeper, which no guard can reach. It
// remembers the greatest token that it has seen.
type store struct {
	mu       sync.Mutex
	greatest coord.Token
	text     string
}

var errStale = errors.New("stale token")

func (s *store) put(token coord.Token, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token < s.greatest {
		return fmt.Errorf("%w, %d after %d", errStale, token, s.greatest)
	}
	s.greatest, s.text = token, text
	return nil
}
