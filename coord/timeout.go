package coord

import "time"

// A sessionTimeout is the time T for which the ensemble keeps a session that it does not
// hear from. What follows from it for the client is argued here.
//
// Only the leader ends sessions. A server answers heartbeats and reads on its own, even
// for up to syncLimit ticks after it has lost contact with the others. A leader that has
// lost contact answers syncs, too, and resumes sessions, while the others elect a new
// leader, which ends the sessions that it does not hear of. So only the answer to a
// transaction shows that a session is alive: a majority has carried the transaction out,
// and had no other leader at that moment.
//
// That does not make T count from the moment of the request. Followers report the
// sessions that they have heard from every half tick, and the request does not overtake
// those reports. As the client is heard at least every T/6, and T is at least two ticks,
// the newest report before the request was at most T/3 older. So 2T/3 are certain from the
// moment of the request. If the client was silent before, because the program stood still,
// only T from the moment when it was last heard is certain: see [lease.answered]. A leader
// that is elected later gives every session all of the T with which it was opened.
type sessionTimeout time.Duration

// lease is for how long a hold can be relied on after the writing of its last renewal:
// 2T/3, less a twenty-fifth of that, since clocks run at different speeds.
func (t sessionTimeout) lease() time.Duration { return time.Duration(t) * 16 / 25 }

// heartbeat is for how long nothing is sent before a heartbeat is, and after what time a
// renewal is followed by the next one.
func (t sessionTimeout) heartbeat() time.Duration { return time.Duration(t) / 6 }

// silence is how long to wait for an answer before another server is tried: long enough
// for one heartbeat to have been missed, and short enough to reach another server within
// the lease.
func (t sessionTimeout) silence() time.Duration { return time.Duration(t) / 3 }

// handshake is how long a server may take from the moment it is dialed until it has resumed
// the session. After the silence of one server there is time within the lease for two more
// that do not answer.
//
// It is at most a second in the first round, and twice as much in each further one in
// which no server has answered. It is short because a server whose answer is lost may have
// resumed the session with a shorter timeout, if it is configured differently: the client
// learns of that only from the next answer.
func (t sessionTimeout) handshake(rounds int) time.Duration {
	return min(time.Duration(t)/8, patience(rounds))
}

// patience is how long to wait for a handshake when every server has been tried in vain
// this many times.
func patience(rounds int) time.Duration { return time.Second << min(rounds, 5) }
