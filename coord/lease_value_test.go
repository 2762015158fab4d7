package coord

import (
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// What a session timeout is divided into must fit: a heartbeat may be missed
// before the server is given up, another server has its chance within the lease,
// and the lease ends before 2T/3, the earliest moment at which an ensemble may
// end the session.
func TestSessionTimeout(t *testing.T) {
	for _, T := range []time.Duration{minTimeout, 4 * time.Second, 10 * time.Second, 40 * time.Second, maxTimeout} {
		c := sessionTimeout(T)
		if c.lease() > T*2/3*97/100 || c.lease() < T*6/10 {
			t.Errorf("T=%v: lease %v", T, c.lease())
		}
		if c.silence() < 2*c.heartbeat()-time.Nanosecond || c.silence()+2*c.handshake(0) >= c.lease() {
			t.Errorf("T=%v: heartbeat %v, silence %v, handshake %v, lease %v", T, c.heartbeat(), c.silence(), c.handshake(0), c.lease())
		}
	}
}

// What is decided about a session's life, for a timeout of 24 s: heartbeats each 4 s,
// silence 8 s, lease 15.36 s.
func TestNext(t *testing.T) {
	const s = time.Second
	start := moment{at: time.Now()}
	now := start.add(time.Hour)
	ago := func(d time.Duration) moment { return now.add(-d) }
	type state struct {
		*lease
		*situation
	}
	for _, x := range []struct {
		what   string
		change func(x state)
		want   action
		wait   time.Duration // at most
	}{
		{"all is well", func(x state) {}, rest, s},
		{"no answer for the lease", func(x state) { x.heard = ago(15360 * time.Millisecond) }, endSilent, 0},
		{"no answer for nearly the lease", func(x state) { x.heard, x.up = ago(15*s), false }, rest, 360 * time.Millisecond},
		{"not established", func(x state) { x.heard, x.opened, x.held, x.up = moment{}, 0, false, false }, rest, s},
		{"a large request on its way, nothing held", func(x state) { x.heard, x.unanswered, x.large, x.held = ago(21*s), true, true, false }, rest, 600 * time.Millisecond},
		{"a large request that takes too long", func(x state) { x.heard, x.unanswered, x.large, x.held = ago(22*s), true, true, false }, endSilent, 0},
		{"a large request on its way, and something held", func(x state) { x.heard, x.unanswered, x.large = ago(8*s), true, true }, leaveSilent, s},
		{"the lease is over", func(x state) { x.renewed = ago(15360 * time.Millisecond) }, endUnrenewed, 0},
		{"the lease is over, of nothing", func(x state) { x.renewed, x.held = ago(15360*time.Millisecond), false }, rest, s},
		{"the lease is nearly over", func(x state) { x.renewed, x.renewal.pending, x.leftAt = ago(15355*time.Millisecond), true, x.renewed }, rest, 5 * time.Millisecond},
		{"silence, and something owed", func(x state) { x.heard, x.unanswered = ago(8*s), true }, leaveSilent, s},
		{"silence, and nothing owed", func(x state) { x.heard = ago(8 * s) }, rest, s},
		{"silence without a connection", func(x state) { x.heard, x.unanswered, x.up = ago(8*s), true, false }, rest, s},
		{"an answer overtaken just now", func(x state) { x.unanswered, x.overtaken = true, 10*time.Millisecond }, rest, s},
		{"an answer overtaken long ago", func(x state) { x.unanswered, x.overtaken = true, 8*s }, leaveSilent, s},
		{"a renewal is due", func(x state) { x.renewed, x.renewal.began = ago(4*s), ago(10*s) }, renew, s},
		{"a renewal is due, and on its way", func(x state) { x.renewed, x.renewal.pending = ago(4*s), true }, rest, s},
		{"a renewal is due, and one has just failed", func(x state) { x.renewed = ago(4 * s) }, rest, s},
		{"a renewal is nearly due", func(x state) { x.renewed, x.renewal.began = ago(3900*time.Millisecond), ago(10*s) }, rest, 100 * time.Millisecond},
		{"another timeout since the last renewal", func(x state) { x.renewedUnder, x.renewal.began = sessionTimeout(30*s), ago(10*s) }, renew, s},
		{"another server since the last renewal", func(x state) { x.renewed = ago(4 * s); x.resumed() }, renew, s},
		{"nothing is renewed", func(x state) { x.renewed, x.stuck, x.renewal.pending, x.unanswered = ago(8*s), 4*s, true, true }, leaveUnrenewed, s},
		{"nothing is renewed, and the last took long", func(x state) {
			x.renewed, x.stuck, x.renewal.pending, x.took, x.unanswered = ago(8*s), 4*s, true, 3*s, true
		}, rest, s},
		{"nothing is renewed by the second server", func(x state) {
			x.renewed, x.stuck, x.renewal.pending, x.unanswered = ago(12*s), 6*s, true, true
			x.leftAt = x.renewed
		}, rest, s},
		{"a write of the program takes long, the lease is fresh", func(x state) { x.stuck, x.unanswered = 6*s, true }, rest, s},
		{"being acquired", func(x state) { x.held, x.asking.began = false, ago(4*s) }, askLeader, s},
		{"being acquired, and asked", func(x state) { x.held, x.asking = false, attempt{true, ago(4 * s)} }, rest, s},
		{"nothing sent", func(x state) { x.quiet = 4 * s }, beat, s},
		{"nothing sent for a while", func(x state) { x.quiet = 3900 * time.Millisecond }, rest, 100 * time.Millisecond},
		{"nothing sent, and a renewal is due", func(x state) { x.quiet, x.renewed, x.renewal.began = 4*s, ago(4*s), ago(4*s) }, renew, s},
		{"nothing sent, and a renewal is on its way", func(x state) { x.quiet, x.renewed, x.renewal.pending = 4*s, ago(7*s), true }, beat, s},
		{"nothing sent, and being acquired", func(x state) { x.quiet, x.held, x.asking.began = 4*s, false, ago(4*s) }, askLeader, s},
		{"nothing sent, neither held nor being acquired", func(x state) { x.quiet, x.held, x.acquiring = 4*s, false, false }, beat, s},
		{"nothing sent for want of a connection", func(x state) { x.quiet, x.up = 4*s, false }, rest, s},
		{"neither held nor being acquired", func(x state) { x.held, x.acquiring, x.asking.began, x.renewed = false, false, ago(1000*s), ago(1000*s) }, rest, s},
	} {
		// All is well, and something is held.
		l := lease{
			timeout: sessionTimeout(24 * s), opened: sessionTimeout(24 * s), heard: now,
			renewed: ago(s), renewedUnder: sessionTimeout(24 * s),
			renewal: attempt{began: ago(s)}, asking: attempt{began: ago(s)},
		}
		sit := situation{held: true, acquiring: true, up: true}
		x.change(state{&l, &sit})
		do, wait := l.next(now, sit)
		if do != x.want || wait > x.wait || do == rest && wait <= 0 {
			t.Errorf("%s: action %d, wait %v; want action %d, wait up to %v", x.what, do, wait, x.want, x.wait)
		}
	}
}

// A transaction renews the lease as of its writing. After the client was silent it
// counts for less: the leader may have heard nothing since.
func TestRenewedAfterSilence(t *testing.T) {
	const T = 12 * time.Second
	now := moment{at: time.Now()}
	var l lease
	l.granted(now, now, sessionTimeout(T))
	write := func() request { return request{at: now, acked: l.acked, writes: true} }
	for _, x := range []struct {
		silent, from time.Duration // since the request before; from when the renewal counts
	}{
		{0, 0}, {T / 6, 0}, {T / 3, 0}, {T / 2, T/3 - T/2}, {T, T/3 - T},
	} {
		l.answered(now, write(), true)
		now = now.add(x.silent)
		l.answered(now, write(), true)
		if got, want := l.remaining(now), x.from+T*16/25; got != want && x.silent < T {
			t.Errorf("silent for %v: good for %v, want %v", x.silent, got, want)
		}
		if got := l.remaining(now); x.silent >= T && got > T/3 {
			t.Errorf("silent for %v: good for %v", x.silent, got)
		}
	}
}

// A machine that has slept has used up its lease for as long.
func TestLeaseWhileTheMachineSleeps(t *testing.T) {
	const T = 25 * time.Second
	start := moment{at: time.Now()}
	var l lease
	l.granted(start, start, sessionTimeout(T))
	l.answered(start, request{at: start, acked: start}, true)
	woken := moment{start.at.Add(time.Second), 14 * time.Second}
	if got := l.remaining(woken); got != time.Second {
		t.Errorf("good for %v, want 1s", got)
	}
	if got := l.until(woken); !got.Equal(woken.at.Add(time.Second)) {
		t.Errorf("good until %v after waking", got.Sub(woken.at))
	}
}

// Answers come in order. What has been overtaken waits from then on; a transaction is
// stuck for as long as nothing before it is answered.
func TestBacklog(t *testing.T) {
	now := moment{at: time.Now()}
	var p pipeline
	write := func(xid int32, writes bool) { p = append(p, request{xid: xid, at: now, writes: writes}) }
	want := func(what string, silent time.Duration, b backlog) {
		t.Helper()
		if got := p.backlog(now, silent); got != b {
			t.Errorf("%s: %+v, want %+v", what, got, b)
		}
	}
	want("nothing", time.Hour, backlog{})
	write(1, false)
	write(2, true)
	write(3, false)
	now = now.add(time.Minute)
	want("all owed", time.Second, backlog{unanswered: true, stuck: time.Second})
	want("all owed, and silence", time.Hour, backlog{unanswered: true, stuck: time.Minute})
	p.answered(now, 1)
	want("the first answered", time.Second, backlog{unanswered: true, stuck: time.Second})
	p.answered(now, 3) // out of turn
	want("overtaken just now", time.Second, backlog{unanswered: true, stuck: time.Minute})
	now = now.add(time.Minute)
	want("overtaken a minute ago", time.Second, backlog{unanswered: true, overtaken: time.Minute, stuck: 2 * time.Minute})
	p.answered(now, 7) // which nobody asked for
	p.answered(now, 2)
	want("all answered", time.Hour, backlog{})
	p = append(p, request{xid: 4, at: now, size: largeRequest + 1})
	want("a large one", 0, backlog{unanswered: true, large: true})
}

// The answer to a Multi whose ops were refused because the session has expired renews
// no lease; another refusal of a Multi does.
func TestVerdict(t *testing.T) {
	const expired = jute.CodeSessionExpired
	for _, x := range []struct {
		codes []jute.Code
		want  bool
	}{
		{nil, false}, {[]jute.Code{jute.CodeNoNode, jute.CodeInconsistency}, false}, {[]jute.Code{expired}, true}, {[]jute.Code{0, expired, -2}, true},
	} {
		e := jute.NewFrame()
		for _, code := range x.codes {
			e.MultiHeader(jute.MultiHeader{Op: jute.OpError, Code: code})
			e.Int32(int32(code))
		}
		e.MultiHeader(jute.MultiHeader{Op: -1, Done: true, Code: -1})
		if got := verdict(jute.OpMulti, jute.OK, e.Body()); (got == expired) != x.want {
			t.Errorf("%v: %v", x.codes, got)
		}
	}
	if got := verdict(jute.OpMulti, jute.OK, nil); got != jute.OK {
		t.Errorf("an answer without a body: %v", got)
	}
}
