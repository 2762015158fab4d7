package coord

import "time"

// A lease is what a session knows of its own life: for how long what is held in it is
// good, and what there is to do about that. It is a value that reads no clock and
// takes no step: the session tells it what happens, and asks for the next action.
type lease struct {
	// timeout is what the last handshake has granted; before the first, what to ask for.
	timeout sessionTimeout
	// opened is what the first handshake has granted; zero before that.
	opened sessionTimeout
	// heard is when the newest bytes came that answer something.
	heard moment
	// acked is when the newest request was written that has been answered.
	acked moment

	// renewed is from when the newest transaction counts that was carried out, and
	// renewedUnder the timeout that was in force then. It took so long from the writing
	// of that transaction to its answer.
	renewed      moment
	renewedUnder sessionTimeout
	took         time.Duration

	// A server that resumes a session may grant another timeout than the one before.
	// A longer one counts from the next renewal on. A shorter one counts from the
	// handshake on: of those since the last renewal cut is when the one was written that
	// ends first, the zero moment if none was shorter, and cutUnder what it granted.
	cut      moment
	cutUnder sessionTimeout

	// renewal and asking are the requests that the lease itself has asked for.
	renewal, asking attempt
	// left is what renewed was when a server was last left for want of a renewal.
	left moment
}

// An attempt is a request of the lease's own.
type attempt struct {
	// pending says that it has been made, and is not over.
	pending bool
	// began is when it was last made on the present connection; zero if it was not.
	began moment
}

// granted notes the answer to a handshake that was written at asked. It renews
// nothing: a leader that has lost the others resumes sessions, and a server opens
// local ones, alone. A longer timeout than the one with which the session was opened
// is not relied on, for a leader that is elected later does not know of it.
func (l *lease) granted(now, asked moment, timeout sessionTimeout) {
	if l.opened == 0 {
		l.opened = timeout
	}
	l.timeout, l.heard, l.acked = min(timeout, l.opened), now, asked
	if l.timeout < l.renewedUnder && (l.cut.never() || l.timeout.lease()-now.since(asked) < l.cutUnder.lease()-now.since(l.cut)) {
		l.cut, l.cutUnder = asked, l.timeout
	}
}

// hears notes that bytes have come of what has not come as a whole.
func (l *lease) hears(now moment) {
	if l.opened != 0 {
		l.heard = now
	}
}

// resumed notes that another server serves the session. It can be asked at once.
func (l *lease) resumed() { l.renewal.began, l.asking.began = moment{}, moment{} }

// answered notes the answer to r. If a quorum has carried r out, that renews the lease
// from when r was written; but if r was the first request for long, only from T/3
// after the one before, for the leader need not have heard anything since.
func (l *lease) answered(now moment, r request, quorum bool) {
	l.heard = now
	if r.at.after(l.acked) {
		l.acked = r.at
	}
	from := r.at
	if limit := r.acked.add(l.timeout.silence()); from.after(limit) {
		from = limit
	}
	if quorum && from.after(l.renewed) {
		l.renewed, l.renewedUnder, l.took = from, l.timeout, now.since(r.at)
		l.cut = moment{}
	}
}

// remaining returns for how long a hold is good even if nothing more is heard. It is
// negative before the first renewal, and once the lease has run out.
func (l *lease) remaining(now moment) time.Duration {
	d := l.renewedUnder.lease() - now.since(l.renewed)
	if !l.cut.never() {
		d = min(d, l.cutUnder.lease()-now.since(l.cut))
	}
	return d
}

// until returns the moment up to which a hold is good even if nothing more is heard.
// It is zero before the first renewal.
func (l *lease) until(now moment) time.Time {
	if l.renewed.never() {
		return time.Time{}
	}
	return now.at.Add(l.remaining(now))
}

// fresh reports whether the lease was renewed lately, so that something may be granted on
// it: what is granted is good for about another third of the timeout at least.
func (l *lease) fresh(now moment) bool {
	return now.since(l.renewed) < min(l.timeout, l.renewedUnder).silence()
}

// A situation is what matters to a lease, and is not its own.
type situation struct {
	// held says that something is held in the session, and sought that something is
	// held or being acquired.
	held, sought bool
	// up says that there is a connection which has not been given up.
	up bool
	// backlog is that of the connection.
	backlog
}

// An action is what to do about a session.
type action uint8

const (
	// rest: there is nothing to do yet.
	rest action = iota
	// endSilent: end the session. Nothing has been heard for so long that the ensemble
	// may end it.
	endSilent
	// endUnrenewed: end the session. What is held in it is not certain any longer.
	endUnrenewed
	// leaveSilent: try another server. This one does not answer.
	leaveSilent
	// leaveUnrenewed: try another server. This one answers, but carries no transaction
	// out, as one that has lost the others.
	leaveUnrenewed
	// renew: make a transaction that changes nothing.
	renew
	// askLeader: make a request that only a server with a leader answers.
	askLeader
)

// silent returns for how long nothing has been heard. A session that has not been
// established is not silent.
func (l *lease) silent(now moment) time.Duration {
	if l.opened == 0 {
		return 0
	}
	return now.since(l.heard)
}

// limits returns after which time of silence the server is left, and the session is
// over.
func (l *lease) limits(s situation) (leave, end time.Duration) {
	if s.large && !s.held {
		// The server hears nothing else meanwhile, and keeps the session all the
		// same if it has the whole in time.
		end = time.Duration(l.timeout) * 9 / 10
		return end, end
	}
	return l.timeout.silence(), l.timeout.lease()
}

// over returns how the session has to end, if it has to: endSilent, endUnrenewed, or
// else rest. A session in which nothing is held need not be renewed.
func (l *lease) over(now moment, s situation) action {
	_, end := l.limits(s)
	switch {
	case l.silent(now) >= end:
		return endSilent
	case s.held && l.remaining(now) <= 0:
		return endUnrenewed
	}
	return rest
}

// next returns what to do now, and when to ask again at the latest.
//
// A session ends before the ensemble may end it, or give what is held to somebody else.
// A server is left early enough for another to be reached before that. And renewals are
// made often enough for none of this to happen while all is well.
func (l *lease) next(now moment, s situation) (action, time.Duration) {
	if end := l.over(now, s); end != rest {
		return end, 0
	}
	silent, unrenewed := l.silent(now), now.since(l.renewed)
	silence, heartbeat := l.timeout.silence(), l.timeout.heartbeat()
	leave, end := l.limits(s)
	// To look up from time to time is to notice that the machine has slept: timers go
	// by the clock that stands still.
	wait := min(end-silent, heartbeat/4)
	if s.held {
		wait = min(wait, l.remaining(now))
	}
	if !s.up {
		return rest, wait
	}
	switch {
	case s.any && silent >= leave:
		return leaveSilent, wait
	case s.overtaken >= silence:
		return leaveSilent, wait // the answer was lost, and the server will not repeat it
	case s.held && l.left != l.renewed && unrenewed >= silence && s.stuck >= l.patience():
		// This server has lost the others, perhaps. It is left once: if none renews the
		// lease it is the ensemble that is slow, and to leave is to give up the answer
		// that is on its way.
		return leaveUnrenewed, wait
	}
	for _, due := range []time.Duration{leave - silent, silence - s.overtaken, silence - unrenewed, l.patience() - s.stuck} {
		if due > 0 {
			wait = min(wait, due)
		}
	}
	switch {
	case s.held && !l.renewal.pending:
		due := heartbeat - unrenewed
		if l.timeout != l.renewedUnder {
			due = 0 // the lease is shorter than it could be, or about to be
		}
		due = max(due, heartbeat/2-now.since(l.renewal.began)) // one that fails is not repeated at once
		if due <= 0 {
			return renew, wait
		}
		wait = min(wait, due)
	case !s.held && s.sought && !l.asking.pending:
		// This renews nothing. But a server that has lost its leader does not answer
		// it, nor heartbeats behind it, and is left for its silence.
		due := heartbeat - now.since(l.asking.began)
		if due <= 0 {
			return askLeader, wait
		}
		wait = min(wait, due)
	}
	return rest, wait
}

// patience is how long to wait for a renewal before another server is tried: longer
// than the last one took.
func (l *lease) patience() time.Duration {
	return min(max(l.timeout.heartbeat(), 2*l.took), time.Duration(l.timeout)*3/10)
}
