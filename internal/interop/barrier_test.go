package interop

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/members/barrier"
)

// doubleBarrier: members of Curator's DistributedDoubleBarrier and of ours are let in when
// all are in, whoever opens the round, and none has left before all leave, whoever is the
// lowest.
func (x *contest) doubleBarrier(p *process) {
	c := x.client()
	n := len(p.peers) + 1
	b := barrier.New(c, x.dir, n)
	// Curator's IDs begin with a hexadecimal digit.
	for _, id := range []string{"!", "z"} {
		for _, last := range []bool{false, true} {
			var h *coord.Hold
			in := 0
			if !last {
				h, in = b.Enter(x.ctx, id), 1
				x.inBarrier(c, in)
			}
			for _, peer := range p.peers {
				peer.say("barrier", x.dir, n)
				in++
				x.inBarrier(c, in)
			}
			if last {
				h = b.Enter(x.ctx, id)
			}
			x.held(h)
			for _, peer := range p.peers {
				x.hears(peer, "enter")
			}
			// Ours leaves first, then theirs, one after the other.
			ctx, cancel := context.WithCancel(x.ctx)
			cancel()
			_ = h.Release(ctx)
			for i, peer := range p.peers {
				select {
				case <-h.Done():
					x.Errorf("%s has left before peer %d", id, i)
				default:
				}
				peer.say("leave")
			}
			for _, peer := range p.peers {
				x.hears(peer, "leave")
				x.hears(peer, "done")
			}
			x.release(h)
			x.inBarrier(c, 0)
		}
	}
}

// inBarrier waits until n are in the barrier.
func (x *contest) inBarrier(c *coord.Client, n int) {
	x.Helper()
	x.eventually(fmt.Sprintf("%d are in the barrier", n), func() bool {
		names, _, _ := c.Children(x.ctx, x.dir)
		names = slices.DeleteFunc(names, func(name string) bool { return name == "ready" })
		return len(names) == n
	})
}

// TestKazooBarrier: members of kazoo's DoubleBarrier and of ours are let in when all are
// in, whoever opens the round. Kazoo's remove ready when they begin to leave. So ours does
// not wait for them. Its Barrier and our Gate are the same.
func TestKazooBarrier(t *testing.T) {
	k := needKazoo(t)
	p := launch(t, "kazoo", []string{k.python, "testdata/contenders.py"}, 2)
	p.run(t, "DoubleBarrier", func(x *contest) {
		c := x.client()
		for range 2 {
			h := barrier.New(c, x.dir, 3).Enter(x.ctx, "ours")
			x.inBarrier(c, 1)
			for i, peer := range p.peers {
				peer.say("barrier", x.dir, 3)
				x.inBarrier(c, 2+i)
			}
			x.held(h)
			for _, peer := range p.peers {
				x.hears(peer, "enter")
			}
			for _, peer := range p.peers {
				peer.say("leave")
			}
			x.release(h)
			for _, peer := range p.peers {
				x.hears(peer, "leave")
				x.hears(peer, "done")
			}
		}
	})
	p.run(t, "Barrier", func(x *contest) { x.gate(p) })
}
