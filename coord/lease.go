package coord

import "time"

// A term is what a session's negotiated timeout T makes of the time since a
// request was written that has been answered.
//
// It is the leader that ends sessions. A follower answers heartbeats and reads by
// itself, for up to syncLimit ticks after it has lost its leader, so such answers
// are no proof that the session lives; see [Session.prove]. An answer that has
// passed the leader is, but not from the moment of the request on: followers
// report whom they have heard when the leader asks, each half tick, and the
// request has overtaken no report. As the client is heard at least each T/6 and T
// is at least two ticks, the newest report before the request was at most T/3
// older. What is left of T for certain is 2T/3.
type term time.Duration

// lease is how long a hold is good without an answer: 2T/3, less a twenty-fifth
// of that for clocks that do not run alike.
func (t term) lease() time.Duration { return time.Duration(t) * 16 / 25 }

// heartbeat is how often the server is asked for a sign of life and, while it
// matters, the leader.
func (t term) heartbeat() time.Duration { return time.Duration(t) / 6 }

// silence is how long to wait for an answer before trying another server: late
// enough for one heartbeat to have been missed, and soon enough to reach another
// server within the lease.
func (t term) silence() time.Duration { return time.Duration(t) / 3 }

// greeting is how long one server may take from the first attempt to dial it
// until it has resumed the session. After the silence of one there is time within
// the lease for two more that do not answer.
func (t term) greeting() time.Duration { return time.Duration(t) / 8 }

// since is the time that has passed since t. Of the monotonic clock, which
// stands still while the machine sleeps, and the wall clock, which somebody may
// set, it believes the one that says more: the ensemble's clock did not stand
// still.
func since(t time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}
