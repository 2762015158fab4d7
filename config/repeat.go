package config

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/zkcoord/zkcoord/coord"
)

// repeat calls f with a session that is connected, [again] and again if need be, and
// returns what f does, or why there is no session.
func repeat(ctx context.Context, c *coord.Client, f func(*coord.Session) error) error {
	var pause backoff
	for {
		s, err := c.Await(ctx)
		if err != nil {
			return err
		}
		if err = f(s); !again(s, err) {
			return err
		}
		pause.wait(ctx, s)
	}
}

// again reports whether it makes sense to look again after err, with which requests
// in session s have ended: nothing was changed, because something is not as it was
// found, or because s is over. Whether there will be another session, and time to
// look, [coord.Client.Await] says.
func again(s *coord.Session, err error) bool {
	if err == nil || errors.Is(err, ErrUnknown) || coord.Refused(err) {
		return false
	}
	return err == errStale || s.Err() != nil
}

// A backoff is a pause that grows each time.
type backoff struct{ last time.Duration }

const (
	minPause = time.Millisecond
	maxPause = 100 * time.Millisecond
)

// wait waits for about twice as long as the last time, jittered so that those who
// have met do not meet again. It ends sooner if ctx or s does.
func (b *backoff) wait(ctx context.Context, s *coord.Session) {
	b.last = min(max(2*b.last, minPause), maxPause)
	timer := time.NewTimer(b.last/2 + rand.N(b.last))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-s.Done():
	}
}
