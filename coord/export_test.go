package coord

import "context"

// StandStill makes it look as if the program had stood still for the whole of
// the session's lease, and no timer had fired yet.
func (s *Session) StandStill() {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.lease.heard = s.lease.heard.add(-s.lease.timeout.lease())
	s.lease.renewed = s.lease.renewed.add(-s.lease.timeout.lease())
}

// MakeDir makes sure that the full path is there, as InDir does.
func (s *Session) MakeDir(ctx context.Context, path string) error {
	return s.makeDir(ctx, path, Container)
}

// EnsembleList returns the servers that the ensemble has named.
func (c *Client) EnsembleList() []string {
	c.servers.source.mu.Lock()
	defer c.servers.source.mu.Unlock()
	return c.servers.source.ensemble
}
