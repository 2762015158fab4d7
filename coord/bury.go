package coord

import (
	"context"
	"time"
)

// bury waits for what is left of a session that is over, two seconds at the most
// and for as long as functions given to Call take. If goodbye is set and the
// connection stands, it tells the ensemble first.
//
// No goroutine of the library stays behind that it does not end soon: see
// [tap.Write] for what could make one stand still.
func (s *Session) bury(goodbye bool) {
	answered := make(chan struct{})
	go func() {
		s.calls.Wait()
		close(answered)
	}()
	limit, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	s.mu.Lock()
	goodbye, tap := goodbye && s.isUp, s.tap
	s.mu.Unlock()
	if goodbye {
		// The library gives the ensemble a second for an answer. But for room in
		// its queue it waits twice as long, and there may be none if the program
		// asks for something on the connection, and that takes no more bytes.
		patience, cancel := context.WithTimeout(limit, 900*time.Millisecond)
		defer cancel()
		goodbye = finished(patience, answered) && tap.flushed(patience)
	}
	if !goodbye {
		// The library takes its leave in any case, and waits a second for an
		// answer, unless it is then about to dial. Nor must some kinds of request
		// be with it while it closes, lest their answers come at that moment.
		s.hangUp()
		finished(limit, s.idle)
		finished(limit, answered)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		s.conn.Close()
		s.hangUp()
		for range s.over {
		}
	}()
	if !finished(limit, gone) {
		s.hangUp()
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
