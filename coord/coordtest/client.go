package coordtest

import (
	"context"
	"testing"

	"github.com/zkcoord/zkcoord/coord"
)

// Client returns a client of the server that dials over a Link of its own. tb
// closes both in its cleanup. opts may be nil; its Dial and TLS are not used. A client
// that cannot connect fails the test.
func (s *Server) Client(tb testing.TB, opts *coord.Options) *coord.Client {
	tb.Helper()
	l := s.Link()
	tb.Cleanup(l.Close)
	var o coord.Options
	if opts != nil {
		o = *opts
	}
	o.Dial, o.TLS = l.Dial, nil
	c, err := coord.Dial(context.Background(), []string{"coordtest:2181"}, &o)
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
