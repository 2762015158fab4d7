package history

import (
	"math"
	"time"
)

// A Moment is a place in a history. Of events at the same time the index tells which was
// first.
type Moment struct {
	At time.Duration
	I  int // of the event
}

// Before reports whether m is before n.
func (m Moment) Before(n Moment) bool { return m.At < n.At || m.At == n.At && m.I < n.I }

// Forever is after every event.
var Forever = Moment{math.MaxInt64, math.MaxInt}

// A Hold is what a process held, and what is certain of when.
type Hold struct {
	Event         // of Acquired, with what Ask said
	Asked  Moment // before this it did not hold
	From   Moment // from this on it held
	Shared Moment // from this on it did not exclude readers: of a writer that was not downgraded it is Told
	Until  Moment // to this it held
	Told   Moment // Until, or later if Excuse has made that earlier: from this on it knew better
	Left   Moment // it has left the ensemble by this; Forever if that is not known
	Ended  Kind   // Release, Lost or Died; "" if the history ends first
	Excuse string // the fault of which the holder could not know in time

	end int // index of the event that ended it, -1 if there is none
}

// writes reports whether h excluded readers when it was acquired.
func (h *Hold) writes() bool { return h.Recipe != RWLock || h.F != Reading }

// A wait is from Ask to the end of what was asked for.
type wait struct {
	ask      Event
	asked    Moment
	hold     *Hold  // nil until acquired
	released bool   // before it was acquired
	over     Moment // when it was lost, given up or released, or its process died; else Forever
}

// open reports whether w may wait or hold when the history ends.
func (w *wait) open() bool { return w.over == Forever }

// certain reports whether h held at any time for certain. One of which the holder heard too late
// may have been over by then, and before those that acquired earlier.
func (h *Hold) certain() bool { return h.From.Before(h.Until) }

// An Operation is from Call to the answer, or to Forever if that is Unknown.
type Operation struct {
	Event            // of Call; of Modify, Value and Was are those of the answer
	Called, Returned Moment
	Outcome          Kind   // OK, Refused or Unknown
	Result           string // the Value of OK
	Answered         bool   // OK, Refused or Unknown was recorded
	Aged             bool   // what it read may be old, because of a fault: see Stale

	err string // of the answer
	end int    // index of the answer, -1 if there is none
}

// Holds returns the holds of a history, which must be in the order of time, by Acquired.
func Holds(events []Event, opts ...Option) []*Hold {
	return newTimeline(events, newOptions(opts)).holds
}

// Operations returns the operations of a history, which must be in the order of time, by Call.
// Those that were not answered are Unknown.
func Operations(events []Event, opts ...Option) []*Operation {
	return newTimeline(events, newOptions(opts)).ops
}
