package coord

import "time"

// A sessionTimeout is for how long the ensemble keeps a session, T, and what follows
// from it.
//
// It is the leader that ends sessions. A server answers heartbeats and reads on its
// own, for up to syncLimit ticks after it has lost the others. A leader that has lost
// them answers syncs too, and resumes sessions, while the others elect a new leader,
// which ends the sessions that it does not hear of. So only the answer to a
// transaction proves that a session lives: a majority has carried it out, and at that
// moment had no other leader.
//
// The proof does not count from the moment of the request. Followers report the
// sessions that they have heard from every half tick, and the request does not
// overtake those reports. As the client is heard at least every T/6, and T is at
// least two ticks, the newest report before the request was at most T/3 older. So
// 2T/3 are left for certain. If the client was silent before, because the program
// stood still, only T from the moment when it was last heard is certain: see
// [lease.answered]. A leader that is elected later gives every session all of the T
// with which it was opened.
type sessionTimeout time.Duration

// lease is for how long a hold is good after its last renewal was written: 2T/3, less
// a twenty-fifth of that for clocks that run at different speeds.
func (t sessionTimeout) lease() time.Duration { return time.Duration(t) * 16 / 25 }

// heartbeat is how often the server is asked for a sign of life, and how old a
// renewal is before the next one is due.
func (t sessionTimeout) heartbeat() time.Duration { return time.Duration(t) / 6 }

// silence is how long to wait for an answer before another server is tried: late
// enough for one heartbeat to have been missed, and soon enough to reach another
// server within the lease.
func (t sessionTimeout) silence() time.Duration { return time.Duration(t) / 3 }

// handshake is how long one server may take from the first attempt to dial it until
// it has resumed the session. After the silence of one there is time within the lease
// for two more that do not answer.
//
// It is at most a second, growing with the rounds in which no server has answered. A
// server whose answer is lost may have resumed the session with a shorter timeout, if
// its configuration was changed, and the client learns of that only from the next
// answer.
func (t sessionTimeout) handshake(rounds int) time.Duration {
	return min(time.Duration(t)/8, patience(rounds))
}

// patience is how long to wait for a handshake when each server has been tried
// this often.
func patience(rounds int) time.Duration { return time.Second << min(rounds, 5) }
