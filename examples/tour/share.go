package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/rwlock"
)

const index = "/index" // where readers and writers queue

// An access is how a contender asks for the shared lock: to write, until it is told to
// go on as a reader; or, if downgrade is nil, to read.
type access struct{ downgrade chan struct{} }

func (a access) writes() bool { return a.downgrade != nil }

func (a access) String() string {
	if a.writes() {
		return "to write the index"
	}
	return "to read the index"
}

// share asks for the shared lock, and gives it up when ctx ends.
func (c *contender) share(ctx context.Context, a access) *coord.Hold {
	c.say(asks, "%v", a)
	shared := rwlock.New(c.client, index, rwlock.Label(c.name))
	var hold *coord.Hold
	if a.writes() {
		hold = shared.AcquireWrite(ctx)
	} else {
		hold = shared.AcquireRead(ctx)
	}
	queue := shared.Watch(ctx)
	acquired, over := hold.Acquired(), hold.Done()
	var downgrade, stop <-chan struct{}
	var behind string
	for {
		select {
		case <-acquired:
			acquired, over, downgrade, stop = nil, nil, a.downgrade, ctx.Done()
			c.story.enter(c.name, a.writes(), hold.Token())
		case q := <-queue.Updates():
			was := behind
			behind = blocker(q.Contenders, c.name)
			if acquired != nil && behind != "" && behind != was {
				c.say(waits, "behind %s", behind)
			}
		case <-downgrade: // closed: look once
			downgrade = nil
			c.story.downgrade(c.name) // others may read before the answer is here
			// It takes an answer of the ensemble, or the end of ctx or of the lock.
			if err := shared.Downgrade(ctx, hold); err != nil && ctx.Err() == nil {
				c.story.fail(err)
			}
		case <-over: // and never held
			c.say(leaves, "%s", why(hold.Err()))
			return hold
		case <-stop:
			c.story.leave(c.name)
			if err := hold.Release(context.WithoutCancel(ctx)); err != nil {
				c.story.fail(err)
			}
			return hold
		case <-hold.Lost():
			c.say(lost, "%s", why(hold.Err()))
			return hold
		}
	}
}

// blocker returns the label of the contender for which name waits, or "".
func blocker(line []coord.Contender, name string) string {
	for i, who := range line {
		if who.Label != name {
			continue
		}
		for i--; i >= 0; i-- {
			if !who.Reads || !line[i].Reads {
				return line[i].Label
			}
		}
	}
	return ""
}

// enter notes that who has the shared lock, and checks it: a writer is alone, and
// has a greater token than all before.
func (s *story) enter(who string, writes bool, token coord.Token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what, text := reading, fmt.Sprintf("token %d", token)
	if writes {
		what = writing
		if token <= s.greatest {
			s.failed(fmt.Errorf("token %d of %s, who writes, comes after %d", token, who, s.greatest))
		}
	}
	var others []string
	for _, in := range s.inside {
		others = append(others, in.who)
		if writes || in.writes {
			s.failed(fmt.Errorf("%s and %s have the shared lock at the same time, and not both to read", in.who, who))
		}
	}
	if len(others) > 0 {
		text += ", together with " + strings.Join(others, " and ")
	}
	s.inside = append(s.inside, guest{who, writes})
	s.greatest = max(s.greatest, token)
	s.add(note{who: who, what: what, text: text})
}

// downgrade notes that who goes on as a reader.
func (s *story) downgrade(who string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.inside {
		if s.inside[i].who == who {
			s.inside[i].writes = false
		}
	}
	s.add(note{who: who, what: downgrades, text: "and keeps place and token"})
}

// leave notes that who is about to release the shared lock.
func (s *story) leave(who string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, in := range s.inside {
		if in.who == who {
			s.inside = append(s.inside[:i], s.inside[i+1:]...)
			break
		}
	}
	s.add(note{who: who, what: releases, text: "the index"})
}

// A guest is a holder of the shared lock.
type guest struct {
	who    string
	writes bool
}
