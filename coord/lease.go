package coord

import "time"

// A term is a session timeout T, and what follows from it.
//
// It is the leader that ends sessions. A server answers heartbeats and reads by
// itself, for up to syncLimit ticks after it has lost the others; a leader that
// has lost them answers syncs, too, and resumes sessions, while the others elect
// anew and the new leader ends the sessions that it does not hear of. So the proof
// that a session lives is the answer to a transaction: it has been carried out by
// a majority, which at that moment had no other leader.
//
// A transaction is no proof from the moment of its request on: followers report
// whom they have heard when the leader asks, each half tick, and the request has
// overtaken no report. As the client is heard at least each T/6 and T is at least
// two ticks, the newest report before the request was at most T/3 older. What is
// left of T for certain is 2T/3. If the client has been silent before, because the
// program stood still, all that is certain is T from the last time that it was
// heard: see [lease.answered]. A leader that is elected later gives every
// session all of the T with which it was opened.
type term time.Duration

// lease is how long a hold is good after its last proof was asked for: 2T/3, less
// a twenty-fifth of that for clocks that do not run alike.
func (t term) lease() time.Duration { return time.Duration(t) * 16 / 25 }

// heartbeat is how often the server is asked for a sign of life, and how old a
// proof is before the next one is asked for.
func (t term) heartbeat() time.Duration { return time.Duration(t) / 6 }

// silence is how long to wait for an answer before another server is tried: late
// enough for one heartbeat to have been missed, and soon enough to reach another
// server within the lease.
func (t term) silence() time.Duration { return time.Duration(t) / 3 }

// greeting is how long one server may take from the first attempt to dial it
// until it has resumed the session. After the silence of one there is time within
// the lease for two more that do not answer.
//
// It is no more than a second, growing with the rounds in which no server has
// answered. A server whose answer is lost may have resumed the session with a
// shorter timeout, if somebody has changed its configuration, and the client
// learns of that from the next answer only.
func (t term) greeting(rounds int) time.Duration {
	return min(time.Duration(t)/8, patience(rounds))
}

// patience is how long to wait for a handshake when each server has been tried
// this often.
func patience(rounds int) time.Duration { return time.Second << min(rounds, 5) }

// A lease is what a session knows of its own life.
type lease struct {
	term   term          // the timeout that the last handshake has granted; before the first, the wish
	heard  moment        // when the newest bytes came that answer something
	latest moment        // when the newest request was written that has been answered
	proof  moment        // when the newest transaction was written that has been answered, or earlier
	proved term          // the timeout then
	took   time.Duration // from the writing of that transaction to its answer
	// A server that resumes a session may grant another timeout than the one
	// before. It holds for what is held from the next proof on; but if it is
	// shorter, perhaps from the handshake on: of those since the last proof this
	// is the one that ends first, the zero moment if none was shorter.
	cut     moment // when it was written
	cutTerm term
}

// greeted notes the answer, which has come just now, to a handshake written at asked.
func (l *lease) greeted(asked moment, granted term) {
	l.term, l.heard, l.latest = granted, now(), asked
	if granted < l.proved && (l.cut.at.IsZero() || granted.lease()-asked.age() < l.cutTerm.lease()-l.cut.age()) {
		l.cut, l.cutTerm = asked, granted
	}
}

// until returns the moment up to which a hold is good even if nothing more is
// heard, zero if there has been no proof.
func (l *lease) until() time.Time {
	if l.proof.at.IsZero() {
		return time.Time{}
	}
	end := l.proof.plus(l.proved.lease())
	if !l.cut.at.IsZero() {
		if sooner := l.cut.plus(l.cutTerm.lease()); sooner.Before(end) {
			return sooner
		}
	}
	return end
}

// left returns for how long a hold is good even if nothing more is heard.
func (l *lease) left() time.Duration {
	left := l.proved.lease() - l.proof.age()
	if !l.cut.at.IsZero() {
		left = min(left, l.cutTerm.lease()-l.cut.age())
	}
	return left
}

// answered notes the answer to r, which has come just now. If it is a proof, it
// counts from the writing of r, but if r was the first for long, only from T/3 after
// the one before: the leader need have heard nothing since that.
func (l *lease) answered(r request, proof bool) {
	l.heard = now()
	if r.at.after(l.latest) {
		l.latest = r.at
	}
	from := r.at
	if limit := r.before.later(l.term.silence()); from.after(limit) {
		from = limit
	}
	if proof && from.after(l.proof) {
		l.proof, l.proved, l.took = from, l.term, r.at.age()
		l.cut = moment{}
	}
}

// A prospect is what there is to decide by about the life of a session: ages, and
// how matters stand.
type prospect struct {
	term     term
	left     time.Duration // of the lease of what is held
	changed  bool          // the timeout is not that of the newest proof
	held     bool          // something is held
	sought   bool          // or asked for
	silent   time.Duration // since bytes came that answer something
	unproven time.Duration // since the newest proof was asked for
	took     time.Duration // from the asking to the answer of that

	up      bool // there is a connection, and it has not been given up
	debt         // what has been written on it and not answered
	moved   bool // for want of a proof another server has been tried, and there has been none since
	proving bool // a proof is being asked for
	asking  bool // the leader is being asked for a sign of life

	proveAge time.Duration // since a proof was last asked for
	askAge   time.Duration // since the leader was last asked for a sign of life
}

// A step is what to do about a session.
type step uint8

const (
	rest     step = iota
	expire        // the session is over: nothing has answered
	disprove      // the session is over: nothing has proved that it lives
	hangUp        // try another server: this one does not answer
	move          // try another server: this one gives no proof
	prove         // ask for a proof
	ask           // ask whether the server has a leader
)

// next decides what to do, and when to look again at the latest.
func (p prospect) next() (step, time.Duration) {
	t := p.term
	silence, end := t.silence(), t.lease()
	if p.large && !p.held {
		// The server hears nothing else meanwhile, and keeps the session all the
		// same if it has the whole in time.
		silence, end = time.Duration(t)*9/10, time.Duration(t)*9/10
	}
	switch {
	case p.silent >= end:
		return expire, 0
	case p.held && p.left <= 0:
		return disprove, 0
	}
	// Looking up from time to time notices that the machine has slept, for
	// timers go by the clock that stands still.
	wait := min(end-p.silent, t.heartbeat()/4)
	if p.held {
		wait = min(wait, p.left)
	}
	if !p.up {
		return rest, wait
	}
	switch {
	case p.any && p.silent >= silence:
		return hangUp, wait
	case p.skipped >= t.silence(): // that answer was lost
		return hangUp, wait
	case p.lacksProof():
		return move, wait
	}
	for _, due := range []time.Duration{silence - p.silent, t.silence() - p.skipped, t.silence() - p.unproven, p.patience() - p.stuck} {
		if due > 0 {
			wait = min(wait, due)
		}
	}
	switch {
	case p.held && !p.proving:
		due := t.heartbeat() - p.unproven
		if p.changed {
			due = 0
		}
		due = max(due, t.heartbeat()/2-p.proveAge)
		if due <= 0 {
			return prove, wait
		}
		wait = min(wait, due)
	case !p.held && p.sought && !p.asking:
		due := t.heartbeat() - p.askAge
		if due <= 0 {
			return ask, wait
		}
		wait = min(wait, due)
	}
	return rest, wait
}

// lacksProof reports whether to try another server because this one, perhaps, has
// lost the others. That is done once: if no server gives a proof it is the ensemble
// that is slow, and who leaves gives up the answer that is on its way.
func (p prospect) lacksProof() bool {
	return p.held && !p.moved && p.unproven >= p.term.silence() && p.stuck >= p.patience()
}

// patience is how long to wait for a proof before another server is tried: longer
// than the last one took.
func (p prospect) patience() time.Duration {
	return min(max(p.term.heartbeat(), 2*p.took), time.Duration(p.term)*3/10)
}
