package main

import (
	"context"
	"log"
	"time"

	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/ensemble"
)

// A fault is what breaks, and for how long.
type fault struct {
	name  string
	lasts time.Duration
	begin func(r *rig, n int) (heal func())
}

// faults come one after the other, again and again.
var faults = []fault{
	{"kill a follower", 2 * time.Second, func(r *rig, _ int) func() { return kill(r.follower()) }},
	{"cut a client off for a moment", time.Second, func(r *rig, n int) func() { return r.station(n).link.Cut() }},
	{"kill the leader", 2 * time.Second, func(r *rig, _ int) func() { return kill(r.ensemble.Leader()) }},
	{"cut a client off until its session expires", timeout + 2*time.Second, func(r *rig, n int) func() { return r.station(n).link.Cut() }},
	{"freeze a follower", 3 * time.Second, func(r *rig, _ int) func() { return freeze(r.follower()) }},
	{"silence to a client until its session expires", timeout + 2*time.Second, func(r *rig, n int) func() {
		return r.station(n).link.Stall(coordtest.Both)
	}},
	{"freeze the leader", 3 * time.Second, func(r *rig, _ int) func() { return freeze(r.ensemble.Leader()) }},
	{"reset all connections", 0, func(r *rig, _ int) func() {
		for _, s := range r.stations {
			s.link.Cut()()
		}
		return func() {}
	}},
}

func kill(n *ensemble.Node) (heal func()) {
	if n == nil {
		return func() {}
	}
	n.Kill()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := n.Restart(ctx); err != nil {
			log.Print(err)
		}
	}
}

func freeze(n *ensemble.Node) (heal func()) {
	if n == nil {
		return func() {}
	}
	n.Freeze()
	return n.Thaw
}

// follower returns one, nil if there is none now.
func (r *rig) follower() *ensemble.Node {
	for _, n := range r.ensemble.Followers() {
		return n
	}
	return nil
}
