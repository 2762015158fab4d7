package main

import (
	"context"
	"fmt"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/lock/leader"
	"github.com/zkcoord/zkcoord/lock/semaphore"
)

const (
	service = "/service" // where candidates queue
	slots   = "/slots"   // where permits are had
	permits = 2
)

// campaign makes c a candidate until ctx ends, and publishes its address while it leads.
func (c *contender) campaign(ctx context.Context) {
	c.say(asks, "to lead the service")
	background := context.WithoutCancel(ctx)
	k := leader.New(c.client, service, leader.Label(c.name)).Keep(background, []byte(c.address()))
	for {
		select {
		case now := <-k.Updates():
			if now.Leads {
				c.say(leads, "token %d", now.Token)
			}
		case <-ctx.Done():
			c.say(resigns, "%s", context.Cause(ctx))
			if err := k.Resign(background); err != nil {
				c.story.fail(err)
			}
			return
		case <-k.Done():
			c.story.fail(k.Err())
			return
		}
	}
}

// address is where c serves while it leads.
func (c *contender) address() string { return c.name + ":8080" }

// find tells where the leader is, whenever that changes, until ctx ends.
func (o *onlooker) find(ctx context.Context, e *leader.Election) {
	views := e.Watch(ctx)
	for v := range views.All() {
		if v.Has && v.Value != nil { // not before it has said where it is
			o.mu.Lock()
			o.leader = string(v.Value)
			o.changed()
			o.mu.Unlock()
			o.story.say(o.name, finds, "the service at %s, token %d", v.Value, v.Leader.Token)
		}
	}
	if ctx.Err() == nil {
		o.story.fail(views.Err())
	}
}

// slot asks for one of the permits, and gives it back when ctx ends.
func (c *contender) slot(ctx context.Context) *coord.Hold {
	c.say(asks, "for one of %d permits", permits)
	hold := semaphore.New(c.client, slots, permits, semaphore.Label(c.name)).Acquire(ctx)
	select {
	case <-hold.Acquired():
		c.story.admit(c.name, hold.Token())
	case <-hold.Done():
		c.say(leaves, "%s", why(hold.Err()))
		return hold
	}
	select {
	case <-ctx.Done():
		c.story.dismiss(c.name)
		if err := hold.Release(context.WithoutCancel(ctx)); err != nil {
			c.story.fail(err)
		}
	case <-hold.Lost():
		c.say(lost, "%s", why(hold.Err()))
	}
	return hold
}

// admit notes that who has a permit, and checks that there are not too many.
func (s *story) admit(who string, token coord.Token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.admitted++; s.admitted > permits {
		s.failed(fmt.Errorf("%s has a permit, with which there are %d", who, s.admitted))
	}
	s.add(note{who: who, what: permitted, text: fmt.Sprintf("token %d, %d of %d in use", token, s.admitted, permits)})
}

// dismiss notes that who is about to give its permit back.
func (s *story) dismiss(who string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admitted--
	s.add(note{who: who, what: releases, text: "the permit"})
}
