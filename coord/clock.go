package coord

import (
	"sync/atomic"
	"time"
)

// A moment is a point in time from which the time counts that the machine has slept.
// While it sleeps Go's monotonic clock stands still, and the ensemble's clocks do not.
// The wall clock alone would not do, because it can be set.
type moment struct {
	at    time.Time     // zero: never
	slept time.Duration // by then, see asleep
}

// now returns the present moment. What decides is given it, and does not ask.
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

// asleep returns how long the machine has slept since some fixed point in time.
// Readings that differ by less than a sleep could take are one.
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

// lastSlept is the last reading that was taken for another than the one before.
var lastSlept atomic.Int64

// readSlept is a variable for tests.
var readSlept = slept
