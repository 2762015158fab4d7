package backoff

import (
	"math/rand/v2"
	"time"
)

// A Backoff is a pause that doubles from Min to Max. It is jittered, between half
// of its length and one and a half, so that clients that have met do not meet
// again. One goroutine owns it.
type Backoff struct {
	Min, Max time.Duration // Min must be positive
	next     time.Duration
}

// Next returns how long the next pause is.
func (b *Backoff) Next() time.Duration {
	d := min(max(b.next, b.Min), b.Max)
	b.next = 2 * d
	return Jitter(d)
}

// Jitter returns a random duration between half of d and one and a half of it.
func Jitter(d time.Duration) time.Duration { return d/2 + time.Duration(Random(int64(d))) }

// Random returns a random number that is not negative and less than n, which must be
// positive. A simulation replaces it before there are clients.
var Random = rand.Int64N

// Reset makes the next pause the shortest.
func (b *Backoff) Reset() { b.next = 0 }

// Wait waits for the next pause, and reports whether it has lasted to its end. It
// ends early when one of the two channels, which may be nil, is closed.
func (b *Backoff) Wait(stop, orElse <-chan struct{}) bool {
	timer := time.NewTimer(b.Next())
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-stop:
	case <-orElse:
	}
	return false
}
