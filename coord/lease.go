package coord

import "time"

// A lease says for how long what is held in a session can be relied on, and what to do to
// keep it so. It is a value that reads no clock and makes no request: the session tells it
// what happens, and asks it for the next action. How long is long enough is argued at
// [sessionTimeout].
type lease struct {
	// timeout is what the last handshake granted; before the first, what to ask for.
	timeout sessionTimeout
	// opened is what the first handshake granted; zero before that.
	opened sessionTimeout
	// heard is when the newest bytes came that answer something.
	heard moment
	// acked is when the newest request was written of those that have been answered. The
	// server has heard from the client since then.
	acked moment

	// renewed is the moment from which the newest transaction counts that was carried
	// out, renewedUnder the timeout in force then, and took the time from the writing of
	// that transaction to its answer.
	renewed      moment
	renewedUnder sessionTimeout
	took         time.Duration

	// A server that resumes a session may grant another timeout than the one before. A
	// longer one counts from the next renewal on. A shorter one counts from its handshake
	// on. Of the handshakes since the last renewal that granted less, cut is when the one
	// was written whose lease ends first, and cutUnder is what that one granted. Without
	// any, cut is the zero moment.
	cut      moment
	cutUnder sessionTimeout

	// renewal and asking are the requests that the lease itself has asked for: by renew,
	// and by askLeader.
	renewal, asking attempt
	// leftAt is what renewed was when a server was last left because it renewed nothing.
	// So each renewal that fails to come makes the client leave one server and not more.
	leftAt moment
}

// An attempt is a request that the lease has asked for.
type attempt struct {
	// pending says that it has been made and is not over.
	pending bool
	// began is when it was last made on the present connection; zero if it was not.
	began moment
}

// granted notes the answer to a handshake that was written at asked. It renews nothing: a
// leader that has lost the others still resumes sessions, and a server opens local
// sessions by itself. A timeout longer than the one with which the session was opened is
// not relied on, because a leader that is elected later does not know of it.
func (l *lease) granted(now, asked moment, timeout sessionTimeout) {
	if l.opened == 0 {
		l.opened = timeout
	}
	l.timeout, l.heard, l.acked = min(timeout, l.opened), now, asked
	if l.timeout < l.renewedUnder && (l.cut.never() || l.timeout.lease()-now.since(asked) < l.cutUnder.lease()-now.since(l.cut)) {
		l.cut, l.cutUnder = asked, l.timeout
	}
}

// hears notes that bytes have come or gone, of something that is not complete yet.
func (l *lease) hears(now moment) {
	if l.opened != 0 {
		l.heard = now
	}
}

// resumed notes that another server serves the session. What the lease has asked for on
// the connection before need not have arrived, so it can be asked for again at once.
func (l *lease) resumed() { l.renewal.began, l.asking.began = moment{}, moment{} }

// answered notes the answer to r. If a quorum has carried r out, that renews the lease,
// from when r was written. But if the client was silent before r, the lease is renewed
// only from T/3 after the request before: the leader need not have heard anything since.
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

// remaining returns for how long a hold can be relied on even if nothing more is heard.
// It is negative before the first renewal, and once the lease has run out.
func (l *lease) remaining(now moment) time.Duration {
	d := l.renewedUnder.lease() - now.since(l.renewed)
	if !l.cut.never() {
		d = min(d, l.cutUnder.lease()-now.since(l.cut))
	}
	return d
}

// until returns the time until which a hold can be relied on even if nothing more is
// heard. It is zero before the first renewal.
func (l *lease) until(now moment) time.Time {
	if l.renewed.never() {
		return time.Time{}
	}
	return now.at.Add(l.remaining(now))
}

// fresh reports whether the lease was renewed so lately that a hold may be granted. One
// that is granted then can be relied on for about a third of the timeout, at least.
func (l *lease) fresh(now moment) bool {
	return now.since(l.renewed) < min(l.timeout, l.renewedUnder).silence()
}

// A situation is what a lease has to know, besides its own state, to decide.
type situation struct {
	// held says that something is held in the session, and acquiring that something is
	// held or being acquired.
	held, acquiring bool
	// up says that there is a connection, and keepLease has not left it.
	up bool
	// quiet is for how long nothing has been written to the connection.
	quiet time.Duration
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
	// endUnrenewed: end the session. What is held in it can no longer be relied on.
	endUnrenewed
	// leaveSilent: try another server. This one does not answer.
	leaveSilent
	// leaveUnrenewed: try another server. This one answers, but no transaction is carried
	// out: it may have lost contact with the others.
	leaveUnrenewed
	// renew: make a transaction that changes nothing.
	renew
	// askLeader: make a request that only a server with a leader answers.
	askLeader
	// beat: send a heartbeat.
	beat
)

// silent returns for how long nothing has been heard. A session that has not been
// established is not silent.
func (l *lease) silent(now moment) time.Duration {
	if l.opened == 0 {
		return 0
	}
	return now.since(l.heard)
}

// limits returns how long a silence makes the client leave the server, and how long a
// silence ends the session.
func (l *lease) limits(s situation) (leave, end time.Duration) {
	if s.large && !s.held {
		// While a large request is on its way, the server hears nothing else. It keeps
		// the session if it has all of the request in time.
		end = time.Duration(l.timeout) * 9 / 10
		return end, end
	}
	return l.timeout.silence(), l.timeout.lease()
}

// ending returns how the session has to end, endSilent or endUnrenewed, or rest if it need
// not. A session in which nothing is held need not be renewed.
func (l *lease) ending(now moment, s situation) action {
	_, end := l.limits(s)
	switch {
	case l.silent(now) >= end:
		return endSilent
	case s.held && l.remaining(now) <= 0:
		return endUnrenewed
	}
	return rest
}

// next returns what to do now, and after what time to ask again at the latest.
//
// A session ends before the ensemble may end it, or give what is held in it to somebody
// else. A server is left early enough for another to be reached before that. Renewals are
// made often enough that none of this happens while all is well.
func (l *lease) next(now moment, s situation) (action, time.Duration) {
	if end := l.ending(now, s); end != rest {
		return end, 0
	}
	silent, unrenewed := l.silent(now), now.since(l.renewed)
	silence, heartbeat := l.timeout.silence(), l.timeout.heartbeat()
	leave, end := l.limits(s)
	// Timers go by the clock that stands still while the machine sleeps. So the session
	// looks at the time often, to notice soon that the machine has slept.
	wait := min(end-silent, heartbeat/4)
	if s.held {
		wait = min(wait, l.remaining(now))
	}
	if !s.up {
		return rest, wait
	}
	switch {
	case s.unanswered && silent >= leave:
		return leaveSilent, wait
	case s.overtaken >= silence:
		return leaveSilent, wait // the answer was lost, and the server will not repeat it
	case s.held && l.leftAt != l.renewed && unrenewed >= silence && s.stuck >= l.patience():
		// This server may have lost contact with the others. It is left once: if the next
		// one renews nothing either, it is the ensemble that is slow, and to leave again
		// would be to give up the answer that is on its way.
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
			due = 0 // the timeout has changed since, and under the new one the lease is longer
		}
		due = max(due, heartbeat/2-now.since(l.renewal.began)) // one that fails is not repeated at once
		if due <= 0 {
			return renew, wait
		}
		wait = min(wait, due)
	case !s.held && s.acquiring && !l.asking.pending:
		// This renews nothing. But a server that has lost its leader does not answer it,
		// nor the heartbeats behind it, and so is left for its silence. Nothing would be
		// acquired there.
		due := heartbeat - now.since(l.asking.began)
		if due <= 0 {
			return askLeader, wait
		}
		wait = min(wait, due)
	}
	// Every request is a heartbeat.
	due := heartbeat - s.quiet
	if due <= 0 {
		return beat, wait
	}
	return rest, min(wait, due)
}

// patience is how long to wait for a renewal before another server is tried: longer than
// the last one took, and not so long that there is no time left for another server.
func (l *lease) patience() time.Duration {
	return min(max(l.timeout.heartbeat(), 2*l.took), time.Duration(l.timeout)*3/10)
}
