package coordtest

import (
	"slices"
	"time"
)

// Ordered makes s execute what arrives at one instant in a fixed order, for scripts whose
// every run is to be the same: by the Links of the connections, as these were made, then by
// the connections of a Link, and then as it arrived. Without, the order is that in which
// the goroutines of the connections get to it.
//
// For that s waits until time has gone on by a nanosecond. In a bubble it does so when
// nothing else can happen. Outside of one Ordered is of no use.
//
// What is left to chance is what happens within a client between two answers.
func (s *Server) Ordered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ordered = true
}

// An arrival is what a connection has brought.
type arrival struct {
	conn *conn
	do   func()
}

// arrive runs f, which a connection has brought, in its turn. It is called with s.mu
// held, and so is f.
func (s *Server) arrive(c *conn, f func()) {
	if !s.ordered {
		s.do(f)
		return
	}
	if len(s.arrived) == 0 {
		s.since = s.now()
		s.wake()
	}
	s.arrived = append(s.arrived, arrival{c, f})
}

// execute runs what has arrived before now.
func (s *Server) execute(now time.Duration) {
	if len(s.arrived) == 0 || now == s.since {
		return
	}
	arrived := s.arrived
	s.arrived = nil
	slices.SortStableFunc(arrived, func(a, b arrival) int { return compareConns(a.conn, b.conn) })
	for _, a := range arrived {
		s.do(a.do)
	}
}
