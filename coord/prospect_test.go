package coord

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// What is decided about a session's life, for a timeout of 24 s: heartbeats each 4 s,
// silence 8 s, lease 15.36 s.
func TestProspect(t *testing.T) {
	const s = time.Second
	// All is well, and something is held.
	well := func(change func(p *prospect)) prospect {
		p := prospect{term: term(24 * s), held: true, sought: true, up: true, left: 14 * s, unproven: s, proveAge: s, askAge: s}
		change(&p)
		return p
	}
	for _, x := range []struct {
		what   string
		change func(p *prospect)
		want   step
		wait   time.Duration // at the most
	}{
		{"all is well", func(p *prospect) {}, rest, s},
		{"no answer for the lease", func(p *prospect) { p.silent = 15360 * time.Millisecond }, expire, 0},
		{"no answer for nearly the lease", func(p *prospect) { p.silent, p.up = 15*s, false }, rest, 360 * time.Millisecond},
		{"a large request on its way, nothing held", func(p *prospect) { p.silent, p.any, p.large, p.held = 21*s, true, true, false }, rest, 600 * time.Millisecond},
		{"a large request that takes too long", func(p *prospect) { p.silent, p.any, p.large, p.held = 22*s, true, true, false }, expire, 0},
		{"a large request on its way, and something held", func(p *prospect) { p.silent, p.any, p.large = 8*s, true, true }, hangUp, s},
		{"the lease is over", func(p *prospect) { p.left = 0 }, disprove, 0},
		{"the lease is over, of nothing", func(p *prospect) { p.left, p.held = 0, false }, rest, s},
		{"the lease is nearly over", func(p *prospect) { p.left, p.proving = 5*time.Millisecond, true }, rest, 5 * time.Millisecond},
		{"silence, and something owed", func(p *prospect) { p.silent, p.any = 8*s, true }, hangUp, s},
		{"silence, and nothing owed", func(p *prospect) { p.silent = 8 * s }, rest, s},
		{"silence without a connection", func(p *prospect) { p.silent, p.any, p.up = 8*s, true, false }, rest, s},
		{"an answer skipped just now", func(p *prospect) { p.any, p.skipped = true, 10*time.Millisecond }, rest, s},
		{"an answer skipped long ago", func(p *prospect) { p.any, p.skipped = true, 8*s }, hangUp, s},
		{"a proof is due", func(p *prospect) { p.unproven = 4 * s }, prove, s},
		{"a proof is due, and on its way", func(p *prospect) { p.unproven, p.proving = 4*s, true }, rest, s},
		{"a proof is due, and one has just failed", func(p *prospect) { p.unproven, p.proveAge = 4*s, s }, rest, s},
		{"a proof is nearly due", func(p *prospect) { p.unproven = 3900 * time.Millisecond }, rest, 100 * time.Millisecond},
		{"another timeout since the last proof", func(p *prospect) { p.changed, p.proveAge = true, 10*s }, prove, s},
		{"no proof is given", func(p *prospect) { p.unproven, p.stuck, p.proving, p.any = 8*s, 4*s, true, true }, move, s},
		{"no proof is given, and the last took long", func(p *prospect) { p.unproven, p.stuck, p.proving, p.took, p.any = 8*s, 4*s, true, 3*s, true }, rest, s},
		{"no proof is given by the second server", func(p *prospect) { p.unproven, p.stuck, p.proving, p.moved, p.any = 12*s, 6*s, true, true, true }, rest, s},
		{"a write of the program takes long, the proofs are fresh", func(p *prospect) { p.stuck, p.any = 6*s, true }, rest, s},
		{"sought", func(p *prospect) { p.held, p.askAge = false, 4*s }, ask, s},
		{"sought, and asked", func(p *prospect) { p.held, p.askAge, p.asking = false, 4*s, true }, rest, s},
		{"neither held nor sought", func(p *prospect) { p.held, p.sought, p.askAge, p.unproven = false, false, 1000*s, 1000*s }, rest, s},
	} {
		p := well(x.change)
		if x.what == "a proof is due" || x.what == "a proof is nearly due" {
			p.proveAge = 10 * s
		}
		do, wait := p.next()
		if do != x.want || wait > x.wait || do == rest && wait <= 0 {
			t.Errorf("%s: step %d, wait %v; want step %d, wait up to %v", x.what, do, wait, x.want, x.wait)
		}
	}
}

// A transaction counts from its writing. After the client was silent it counts for
// less: the leader may have heard nothing since.
func TestProofAfterSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const T = 12 * time.Second
		var l lease
		l.greeted(now(), term(T))
		write := func() request { return request{at: now(), before: l.latest, writes: true} }
		for _, x := range []struct {
			silent, from time.Duration // since the request before; from when the proof counts
		}{
			{0, 0}, {T / 6, 0}, {T / 3, 0}, {T / 2, T/3 - T/2}, {T, T/3 - T},
		} {
			l.answered(write(), true)
			time.Sleep(x.silent)
			r := write()
			l.answered(r, true)
			if got, want := l.until(), r.at.at.Add(x.from+T*16/25); !got.Equal(want) && x.silent < T {
				t.Errorf("silent for %v: good for %v, want %v", x.silent, time.Until(got), time.Until(want))
			}
			if x.silent >= T && time.Until(l.until()) > T/3 {
				t.Errorf("silent for %v: good for %v", x.silent, time.Until(l.until()))
			}
		}
	})
}

// Answers come in order. What has been overtaken is owed from then on; a transaction
// is stuck for as long as nothing before it is answered.
func TestDebt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := new(tap)
		write := func(xid int32, writes bool) {
			tp.sent = append(tp.sent, request{xid: xid, at: now(), writes: writes})
		}
		want := func(what string, silent time.Duration, d debt) {
			t.Helper()
			if got := tp.debt(silent); got != d {
				t.Errorf("%s: %+v, want %+v", what, got, d)
			}
		}
		want("nothing", time.Hour, debt{})
		write(1, false)
		write(2, true)
		write(3, false)
		time.Sleep(time.Minute)
		want("all owed", time.Second, debt{any: true, stuck: time.Second})
		want("all owed, and silence", time.Hour, debt{any: true, stuck: time.Minute})
		tp.answer(1)
		want("the first answered", time.Second, debt{any: true, stuck: time.Second})
		tp.answer(3) // out of turn
		want("overtaken just now", time.Second, debt{any: true, stuck: time.Minute})
		time.Sleep(time.Minute)
		want("overtaken a minute ago", time.Second, debt{any: true, skipped: time.Minute, stuck: 2 * time.Minute})
		tp.answer(7) // which nobody asked for
		tp.answer(2)
		want("all answered", time.Hour, debt{})
		tp.sent = append(tp.sent, request{xid: 4, at: now(), size: largeRequest + 1})
		want("a large one", 0, debt{any: true, large: true})
	})
}

// The answer to a Multi whose ops were refused because the session has expired is no
// proof that it lives; another refusal of a Multi is.
func TestExpiredWithin(t *testing.T) {
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
		if got := expiredWithin(jute.NewDecoder(e.Body())); got != x.want {
			t.Errorf("%v: %v", x.codes, got)
		}
	}
	if expiredWithin(jute.NewDecoder(nil)) {
		t.Error("an answer without a body")
	}
}
