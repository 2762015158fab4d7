package coordtest

import (
	"context"
	"testing"

	"github.com/zkcoord/zkcoord/coord"
)

// Client returns a client of the server that dials over a Link of its own. tb
// closes both in its cleanup. opts may be nil; its Dial and TLS are not used. Where it
// matters, to Isolate, servers are the addresses that the client knows. A client that
// cannot connect fails the test.
func (s *Server) Client(tb testing.TB, opts *coord.Options, servers ...string) *coord.Client {
	tb.Helper()
	l := s.Link()
	tb.Cleanup(l.Close)
	var o coord.Options
	if opts != nil {
		o = *opts
	}
	o.Dial, o.TLS = l.Dial, nil
	if len(servers) == 0 {
		servers = []string{"coordtest:2181"}
	}
	c, err := coord.Dial(context.Background(), servers, &o)
	if err != nil {
		tb.Fatalf("coordtest: %v", err)
	}
	s.links.Store(c, l)
	tb.Cleanup(func() {
		s.links.Delete(c)
		c.Close()
	})
	return c
}

// LinkOf returns the line that a client made by Client dials over; for any
// other client, nil.
func (s *Server) LinkOf(c *coord.Client) *Link {
	l, _ := s.links.Load(c)
	link, _ := l.(*Link)
	return link
}

// Cut resets the connections of c, which Client has made, and refuses new ones
// until heal: see [Link.Cut].
func (s *Server) Cut(c *coord.Client) (heal func()) { return s.link(c).Cut() }

// Stall silently holds back what travels between c, which Client has made, and
// the server in direction d, until heal: see [Link.Stall].
func (s *Server) Stall(c *coord.Client, d Direction) (heal func()) { return s.link(c).Stall(d) }

// LoseReply loses the next reply to c, which Client has made, together with its
// connection: the server has done what was asked, and c cannot know. Heartbeats, syncs
// and the checks by which a client that holds something renews its lease do not count.
// LoseReply takes the place of [Link.OnFrame]'s hook.
func (s *Server) LoseReply(c *coord.Client) {
	l := s.link(c)
	l.OnFrame(func(f Frame) Action {
		switch f.Op {
		case "connect", "ping", "sync", "check", "event":
			return Pass
		}
		if f.Dir == ToServer {
			return Pass
		}
		l.OnFrame(nil)
		return HangUp
	})
}

// link is LinkOf for callers that cannot do without one.
func (s *Server) link(c *coord.Client) *Link {
	l := s.LinkOf(c)
	if l == nil {
		s.fatal("coordtest: the client was not made by Server.Client")
		l = NewLink(nil) // without a connection to break
	}
	return l
}
