package coord

import (
	"sync/atomic"
	"time"
)

// A moment is a point in time. The time between two of them includes the time that the
// machine has slept: Go's monotonic clock stands still in a sleep, but the ensemble's
// clocks do not. The wall clock alone would not do, because it can be set.
type moment struct {
	at    time.Time     // zero: never
	slept time.Duration // how long the machine had slept; see asleep
}

// now returns the present moment. Functions that decide something are given it, and do not
// read the clock: so they can be tested, and see one moment throughout.
func now() moment { return moment{time.Now(), asleep()} }

// since returns how much later m is than o. Since the zero moment it has been longer
// than any timeout.
func (m moment) since(o moment) time.Duration {
	if o.never() {
		return 1<<63 - 1
	}
	return m.at.Sub(o.at) + max(0, m.slept-o.slept)
}

// never reports whether m is the zero moment.
func (m moment) never() bool { return m.at.IsZero() }

// add returns the moment d after m.
func (m moment) add(d time.Duration) moment { return moment{m.at.Add(d), m.slept} }

func (m moment) after(o moment) bool { return m.at.After(o.at) }

// asleep returns how long the machine has slept since some fixed point in time. Readings
// that differ by less than a sleep takes count as equal: two clocks are not read at the
// same instant, and that must not look like a sleep.
func asleep() time.Duration {
	now, last := readSlept(), time.Duration(lastSlept.Load())
	if now-last < noSleep && last-now < noSleep {
		return last
	}
	lastSlept.Store(int64(now))
	return now
}

// noSleep is less than any sleep takes, and more than readings of the clocks lie apart.
const noSleep = 10 * time.Millisecond

// lastSlept is the last reading that differed from the one before.
var lastSlept atomic.Int64

// readSlept is a variable for tests.
var readSlept = slept
