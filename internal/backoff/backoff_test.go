package backoff

import (
	"testing"
	"testing/synctest"
	"time"
)

// Pauses double from Min to Max, and each is jittered by a half to either side.
func TestNext(t *testing.T) {
	b := Backoff{Min: 10 * time.Millisecond, Max: 50 * time.Millisecond}
	for round := range 2 {
		for i, want := range []time.Duration{10, 20, 40, 50, 50} {
			want *= time.Millisecond
			if d := b.Next(); d < want/2 || d >= want*3/2 {
				t.Errorf("round %d: pause %d is %v, want about %v", round, i, d, want)
			}
		}
		b.Reset()
	}
}

// Of many pauses of one length some are in each third of what is allowed, so clients that
// have met are soon apart.
func TestJitterSpreads(t *testing.T) {
	const d = time.Second
	var thirds [3]int
	for range 1000 {
		thirds[(Jitter(d)-d/2)*3/d]++
	}
	for i, n := range thirds {
		if n < 200 {
			t.Errorf("%d of 1000 pauses are in third %d", n, i)
		}
	}
}

// Wait ends early when one of its channels is closed, and says so.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := make(chan struct{})
		close(closed)
		b := Backoff{Min: time.Second, Max: time.Second}
		for _, tt := range []struct {
			stop, orElse <-chan struct{}
			early        bool
		}{{nil, nil, false}, {closed, nil, true}, {nil, closed, true}} {
			began := time.Now()
			whole := b.Wait(tt.stop, tt.orElse)
			if took := time.Since(began); whole == tt.early || (took == 0) != tt.early {
				t.Errorf("%v, %v: %v after %v", tt.stop, tt.orElse, whole, took)
			}
		}
	})
}
