package coord

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// The lease as it was before it was a value, to compare with.

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
	return min(time.Duration(t)/8, formerPatience(rounds))
}

// patience is how long to wait for a handshake when each server has been tried
// this often.
func formerPatience(rounds int) time.Duration { return time.Second << min(rounds, 5) }

// A lease is what a session knows of its own life.
type formerLease struct {
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
func (l *formerLease) greeted(asked moment, granted term) {
	l.term, l.heard, l.latest = granted, now(), asked
	if granted < l.proved && (l.cut.at.IsZero() || granted.lease()-asked.age() < l.cutTerm.lease()-l.cut.age()) {
		l.cut, l.cutTerm = asked, granted
	}
}

// until returns the moment up to which a hold is good even if nothing more is
// heard, zero if there has been no proof.
func (l *formerLease) until() time.Time {
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
func (l *formerLease) left() time.Duration {
	left := l.proved.lease() - l.proof.age()
	if !l.cut.at.IsZero() {
		left = min(left, l.cutTerm.lease()-l.cut.age())
	}
	return left
}

// answered notes the answer to r, which has come just now. If it is a proof, it
// counts from the writing of r, but if r was the first for long, only from T/3 after
// the one before: the leader need have heard nothing since that.
func (l *formerLease) answered(r formerRequest, proof bool) {
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
type formerStep uint8

const (
	fRest formerStep = iota
	fExpire
	fDisprove
	fHangUp
	fMove
	fProve
	fAsk
)

// next decides what to do, and when to look again at the latest.
func (p prospect) next() (formerStep, time.Duration) {
	t := p.term
	silence, end := t.silence(), t.lease()
	if p.large && !p.held {
		// The server hears nothing else meanwhile, and keeps the session all the
		// same if it has the whole in time.
		silence, end = time.Duration(t)*9/10, time.Duration(t)*9/10
	}
	switch {
	case p.silent >= end:
		return fExpire, 0
	case p.held && p.left <= 0:
		return fDisprove, 0
	}
	// Looking up from time to time notices that the machine has slept, for
	// timers go by the clock that stands still.
	wait := min(end-p.silent, t.heartbeat()/4)
	if p.held {
		wait = min(wait, p.left)
	}
	if !p.up {
		return fRest, wait
	}
	switch {
	case p.any && p.silent >= silence:
		return fHangUp, wait
	case p.skipped >= t.silence(): // that answer was lost
		return fHangUp, wait
	case p.lacksProof():
		return fMove, wait
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
			return fProve, wait
		}
		wait = min(wait, due)
	case !p.held && p.sought && !p.asking:
		due := t.heartbeat() - p.askAge
		if due <= 0 {
			return fAsk, wait
		}
		wait = min(wait, due)
	}
	return fRest, wait
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

type formerTap struct{ sent []formerRequest }

// A request is one that was written.
type formerRequest struct {
	xid     int32
	at      moment
	before  moment // when the newest request was written that had been answered by then
	size    int    // in bytes
	writes  bool   // it is a transaction
	skipped moment // when a later one was answered; zero if none has been
	watches any    // nil for other formerRequests
}

// A debt is what a connection owes answers for. Servers answer in order.
type debt struct {
	any     bool          // anything
	large   bool          // the answer to a request so large that it may still be on its way
	skipped time.Duration // for how long an answer has been owed though a later formerRequest has had its
	stuck   time.Duration // for how long a transaction has, while no answer came to what was before it
}

// debt returns what the connection owes, when no answer has come for silent.
func (t *formerTap) debt(silent time.Duration) debt {
	d := debt{any: len(t.sent) > 0}
	if d.any && !t.sent[0].skipped.at.IsZero() {
		d.skipped = t.sent[0].skipped.age()
	}
	for _, r := range t.sent {
		d.large = d.large || r.size > largeRequest
		if r.writes && d.stuck == 0 {
			d.stuck = r.at.age()
			if r.skipped.at.IsZero() {
				d.stuck = min(d.stuck, silent)
			}
		}
	}
	return d
}

// answer returns the request that an answer with this xid is to, and forgets it.
// Those before it have been skipped: servers answer in the order in which they
// were asked, but for a refusal that they give by themselves.
func (t *formerTap) answer(xid int32) formerRequest {
	for i, r := range t.sent {
		if r.xid != xid {
			continue
		}
		for j := range t.sent[:i] {
			if t.sent[j].skipped.at.IsZero() {
				t.sent[j].skipped = now()
			}
		}
		copy(t.sent[1:i+1], t.sent[:i])
		t.sent[0] = formerRequest{} // it may hold on to many paths
		t.sent = t.sent[1:]
		return r
	}
	return formerRequest{} // nobody asked
}

func (m moment) age() time.Duration {
	if m.at.IsZero() {
		return 1<<63 - 1
	}
	return time.Since(m.at) + max(0, asleep()-m.slept)
}

func (m moment) plus(d time.Duration) time.Time { return m.at.Add(d - max(0, asleep()-m.slept)) }

func (m moment) later(d time.Duration) moment { return moment{m.at.Add(d), m.slept} }

// A formerSession is what was around a lease.
type formerSession struct {
	id              int64
	created         term
	lease           formerLease
	proving, asking bool
	proveAt, askAt  moment
	isUp            bool
	tap, hung       *formerTap
	lacking         moment
	held, sought    bool
}

func (s *formerSession) prospect() prospect {
	p := prospect{
		term:     s.lease.term,
		left:     s.lease.left(),
		held:     s.held,
		changed:  s.lease.term != s.lease.proved,
		silent:   s.lease.heard.age(),
		unproven: s.lease.proof.age(),
		up:       s.isUp,
		took:     s.lease.took,
		proving:  s.proving,
		asking:   s.asking,
		proveAge: s.proveAt.age(),
		askAge:   s.askAt.age(),
	}
	if s.id == 0 {
		p.silent = 0 // there is no session yet that could end
	}
	if s.isUp {
		p.debt = s.tap.debt(p.silent)
	}
	p.sought, p.moved = s.sought, s.lease.proof == s.lacking
	p.up = p.up && s.tap != s.hung
	return p
}

func (s *formerSession) greeted(id int64, timeout term, asked moment) {
	if s.id == 0 {
		s.created = timeout
	}
	s.id = id
	s.lease.greeted(asked, min(timeout, s.created))
}

func (s *formerSession) proven() bool {
	return s.lease.proof.age() < min(s.lease.term, s.lease.proved).silence()
}

// The lease decides as it did when it read the clock itself: both go side by side
// through everything that can happen to a session, at random.
func TestLeaseDecidesAsBefore(t *testing.T) {
	const steps = 1_000_000
	var slept time.Duration
	defer func(f func() time.Duration) { readSlept = f }(readSlept)
	readSlept = func() time.Duration { return slept }
	counts := make(map[action]int)
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		var old *formerSession
		var l *lease
		var p pipeline
		var sit situation // held, sought and up
		var gaveUp bool
		var xid int32
		begin := func() {
			wish := time.Duration(1+r.IntN(40)) * time.Second
			old = &formerSession{lease: formerLease{term: term(wish)}}
			l, sit, gaveUp, p = &lease{timeout: sessionTimeout(wish)}, situation{}, false, nil
		}
		begin()
		for n := range steps {
			switch k := r.IntN(100); {
			case k < 40:
				d := time.Duration(l.timeout) / time.Duration([]int{3000, 1000, 300, 300, 200, 100, 24, 12, 12, 6, 3}[r.IntN(11)])
				time.Sleep(d/2 + time.Duration(r.Int64N(int64(d))))
			case k == 40 && r.IntN(10) == 0:
				slept += time.Duration(r.Int64N(int64(l.timeout)))
			case k < 44 && !old.isUp: // a handshake
				asked := now()
				time.Sleep(time.Duration(r.Int64N(int64(l.timeout) / 100)))
				timeout := l.opened
				if timeout == 0 || r.IntN(3) == 0 {
					timeout = sessionTimeout(1+r.IntN(40)) * sessionTimeout(time.Second)
				}
				old.tap, p = new(formerTap), nil
				old.greeted(1, term(timeout), asked)
				l.granted(now(), asked, timeout)
			case k < 50 && old.id != 0 && old.tap != nil && !old.isUp && old.tap != old.hung:
				old.isUp, old.proveAt, old.askAt = true, moment{}, moment{}
				sit.up, gaveUp = true, false
				l.resumed()
			case k == 50 && old.isUp && r.IntN(3) == 0:
				old.isUp, sit.up = false, false
				old.proving, old.asking = false, false
				l.renewal.pending, l.asking.pending = false, false
			case k < 65 && old.tap != nil: // a request
				xid++
				size, writes := 100, r.IntN(2) == 0
				if r.IntN(10) == 0 {
					size = 2 * largeRequest
				}
				old.tap.sent = append(old.tap.sent, formerRequest{xid: xid, at: now(), before: old.lease.latest, size: size, writes: writes})
				p = append(p, request{xid: xid, at: now(), acked: l.acked, size: size, writes: writes})
			case k < 85 && len(p) > 0 && (xid%1000 < 600 || l.opened%3 == 0 && !p[0].writes): // an answer
				i := 0
				if r.IntN(10) == 0 {
					i = r.IntN(len(p))
				}
				x, ok := p[i].xid, r.IntN(4) > 0
				if r.IntN(50) == 0 {
					x = -7 // which answers nothing
				}
				a, b := old.tap.answer(x), p.answered(now(), x)
				old.lease.answered(a, a.writes && ok)
				l.answered(now(), b, b.writes && ok)
			case k == 85:
				old.lease.heard = now()
				l.hears(now())
			case k < 88:
				sit.held = r.IntN(4) > 0 && l.remaining(now()) > 0
				sit.sought = sit.held || r.IntN(2) == 0
				old.held, old.sought = sit.held, sit.sought
			case k == 88:
				old.proving, l.renewal.pending = false, false
			case k == 89:
				old.asking, l.asking.pending = false, false
			}
			here := sit
			here.up = sit.up && !gaveUp
			here.backlog = backlog{}
			if sit.up {
				here.backlog = p.backlog(now(), l.silent(now()))
			}
			want, wantWait := old.prospect().next()
			do, wait := l.next(now(), here)
			if int(do) != int(want) || wait != wantWait {
				t.Fatalf("step %d: %d in %v, want %d in %v\n%+v\n%+v", n, do, wait, want, wantWait, l, old.prospect())
			}
			if a, b := l.remaining(now()), old.lease.left(); a != b {
				t.Fatalf("step %d: %v remain, want %v", n, a, b)
			}
			if a, b := l.until(now()), old.lease.until(); !a.Equal(b) {
				t.Fatalf("step %d: good until %v, want %v", n, a, b)
			}
			if a, b := l.fresh(now()), old.proven(); a != b {
				t.Fatalf("step %d: fresh %v, want %v", n, a, b)
			}
			if over := l.over(now(), here); (over != rest) != (do == endSilent || do == endUnrenewed) {
				t.Fatalf("step %d: over %v, and next is %d", n, over, do)
			}
			counts[do]++
			switch do {
			case endSilent, endUnrenewed:
				begin()
			case leaveSilent, leaveUnrenewed:
				old.hung, gaveUp = old.tap, true
				if do == leaveUnrenewed {
					old.lacking, l.left = old.lease.proof, l.renewed
				}
			case renew:
				old.proving, old.proveAt = true, now()
				l.renewal = attempt{true, now()}
			case askLeader:
				old.asking, old.askAt = true, now()
				l.asking = attempt{true, now()}
			}
		}
	})
	t.Logf("%v", counts)
	for do := rest; do <= askLeader; do++ {
		if counts[do] < steps/10000 {
			t.Errorf("action %d: only %d times", do, counts[do])
		}
	}
}
