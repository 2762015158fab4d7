package harness

import (
	"context"
	"slices"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/ensemble"
)

// Leader returns the real server that leads, once one does.
func (w *World) Leader() *ensemble.Node {
	w.Helper()
	var n *ensemble.Node
	w.eventually("a leader", 20*time.Millisecond, func() bool { n = w.Real.Leader(); return n != nil })
	return n
}

// Follower returns a real server that follows, once one does.
func (w *World) Follower() *ensemble.Node {
	w.Helper()
	var all []*ensemble.Node
	w.eventually("a follower", 20*time.Millisecond, func() bool { all = w.Real.Followers(); return len(all) > 0 })
	return all[0]
}

// Elsewhere returns the addresses of all real servers but n.
func (w *World) Elsewhere(n *ensemble.Node) (addrs []string) {
	for _, other := range w.Real.Nodes() {
		if other != n {
			addrs = append(addrs, other.Addr())
		}
	}
	return addrs
}

// Home returns the real server that c is connected to.
func (w *World) Home(c *Client) *ensemble.Node {
	w.Helper()
	all := w.Real.Nodes()
	i := slices.IndexFunc(all, func(n *ensemble.Node) bool { return n.Addr() == c.Conn().Server() })
	if i < 0 {
		w.Fatalf("connected to %s, which is none of ours", c.Conn().Server())
	}
	return all[i]
}

// MoveTo has c go from server to server until it is connected to the one at addr.
func (w *World) MoveTo(c *Client, addr string) {
	w.Helper()
	for {
		w.Await(c.Client, coord.Connected) // or there might be nothing to reset
		at := c.Conn().Server()
		if at == addr {
			return
		}
		c.Link.Reset()
		w.Eventually("another server", func() bool { return c.Conn().Server() != at })
	}
}

// Restart starts n, which was killed, and waits until all servers serve.
func (w *World) Restart(n *ensemble.Node) {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	w.Must(n.Restart(ctx))
	w.Must(w.Real.WaitServing(ctx))
}

// Isolate cuts n off from the other real servers, and not from its clients.
func (w *World) Isolate(n *ensemble.Node, how ensemble.Isolation) (heal func()) {
	w.Helper()
	heal, err := w.Real.Isolate(n, how)
	w.Must(err)
	return heal
}
