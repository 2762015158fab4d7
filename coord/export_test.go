package coord

// StandStill makes it look as if the program had stood still for the whole of
// the session's lease, and no timer had fired yet.
func (s *Session) StandStill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lease.heard.at = s.lease.heard.at.Add(-s.lease.term.lease())
	s.lease.proof.at = s.lease.proof.at.Add(-s.lease.term.lease())
}
