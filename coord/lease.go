package coord

import "time"

// A term is what a session's negotiated timeout T makes of the time since the
// newest answered request was written.
//
// Not the whole of T is ours: a follower reports to the leader, twice a tick,
// whom it has heard; if it dies before it reports the last request, the leader
// counts from the one before. Requests are at most T/3 apart, so what is left
// for certain is 2T/3.
type term time.Duration

// lease is how long a hold is good without an answer: 2T/3, less a twenty-fifth
// of that for clocks that do not run alike.
func (t term) lease() time.Duration { return time.Duration(t) * 16 / 25 }

// heartbeat is how often the server is asked for a sign of life.
func (t term) heartbeat() time.Duration { return time.Duration(t) / 6 }

// silence is how long to wait for an answer before trying another server: late
// enough for one heartbeat to have been missed, and soon enough to reach another
// server within the lease.
func (t term) silence() time.Duration { return time.Duration(t) / 3 }

// greeting is how long one server may take from the first attempt to dial it
// until it has resumed the session, if others shall have a chance as well.
func (t term) greeting() time.Duration { return time.Duration(t) / 6 }

// since is the time that has passed since t. Of the monotonic clock, which
// stands still while the machine sleeps, and the wall clock, which somebody may
// set, it believes the one that says more: the ensemble's clock did not stand
// still.
func since(t time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}
