package coord

import (
	"context"
	"time"
)

// shutdown waits for what is left of a session that is over: at most two seconds, and
// for as long as functions given to Call take. If closeSession is set and there is a
// connection, it tells the ensemble first.
//
// It leaves no goroutine of the library behind for long: see [tappedConn.Write] for
// what could make one stand still.
func (s *Session) shutdown(closeSession bool) {
	limit, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	s.c.mu.Lock()
	connected, wire, answered := s.gate.open, s.wire, s.gate.drained
	s.c.mu.Unlock()
	politely := closeSession && connected
	if politely {
		// The library gives the ensemble a second to answer. But for room in its
		// queue it waits twice as long. There may be none if the program makes
		// requests on the connection and the server takes no more bytes.
		patience, cancel := context.WithTimeout(limit, 900*time.Millisecond)
		defer cancel()
		politely = finished(patience, answered) && wire.flushed(patience)
	}
	if !politely {
		// The library asks for the session's end in any case, and waits a second
		// for an answer, unless it is about to dial at that moment. And some kinds
		// of request must not be with it while it closes: if the answer comes at
		// that moment, the caller reads what the library's loop is writing.
		s.abort()
		finished(limit, s.draining)
		finished(limit, answered)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		s.conn.Close()
		s.abort()
		for range s.connDone {
		}
	}()
	if !finished(limit, gone) {
		s.abort()
	}
	<-answered // from now on the library fails all that is asked of it
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
