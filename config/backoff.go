package config

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/zkcoord/zkcoord/coord"
)

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
