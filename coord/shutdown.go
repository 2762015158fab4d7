package coord

import (
	"context"
	"time"
)

// shutdown ends what is left of a session that is over, in at most two seconds. If
// closeSession is set and there is a connection, it asks the ensemble to end the session,
// too. It leaves no goroutine of the library behind for long: see [tappedConn.Write] for
// what could block one forever.
func (s *Session) shutdown(closeSession bool) {
	limit, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	s.c.mu.Lock()
	connected, wire, answered := s.gate.open, s.wire, s.gate.drained
	s.c.mu.Unlock()
	politely := closeSession && connected
	if politely {
		// The library gives the ensemble a second to answer. But for room in its queue it
		// waits twice as long. There may be none if the program uses Client.Conn and the
		// server takes no more bytes. So let what is under way finish first.
		patience, cancel := context.WithTimeout(limit, 900*time.Millisecond)
		defer cancel()
		politely = finished(patience, answered) && wire.flushed(patience)
	}
	if !politely {
		// The library's Close asks for the end of the session in any case, and waits a
		// second for an answer, unless the library is about to dial. So drop the
		// connection, and wait until it is.
		s.abort()
		finished(limit, s.draining)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		s.conn.Close()
		s.abort()
		for range s.connDone { // it is closed when the library's last goroutine ends
		}
	}()
	if !finished(limit, gone) {
		s.abort()
	}
	if wire != nil {
		wire.lost() // if its Close did not end the library's read, nobody else says so
	}
	<-answered
}

// finished waits until done is closed, and reports whether it was before ctx ended.
func finished(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}
