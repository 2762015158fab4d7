package watch

import (
	"os"
	"testing"

	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/explore"
)

// A rule is one world to be walked through to the end.
type rule struct {
	name   string
	key    key
	exists bool // the znode is there at first
	budget budget
	alone  bool // there is one subscriber, and no other
	deep   bool // too large for every day
}

var (
	presence     = key{"/a", event.Presence, false}
	data         = key{"/a", event.Data, false}
	children     = key{"/a", event.Children, false}
	dataOnce     = key{"/a", event.Data, true}
	childrenOnce = key{"/a", event.Children, true}
)

var rules = []rule{
	{name: "changes", budget: budget{change: 3, unsubscribe: 1}},
	{name: "changes beside another", exists: true, budget: budget{change: 2, other: 1}},
	{name: "reset", budget: budget{change: 2, reset: 1}},
	{name: "reset beside another", exists: true, budget: budget{change: 1, reset: 1, other: 1}},
	{name: "resets", budget: budget{change: 1, reset: 2}},
	{name: "expiry", budget: budget{change: 2, expire: 1}},
	{name: "reset and expiry", exists: true, budget: budget{change: 1, reset: 1, expire: 1}},
	{name: "failure and refusal", exists: true, budget: budget{change: 1, refuse: 1, fail: 1}},
	{name: "refusal and reset", exists: true, budget: budget{refuse: 1, reset: 1}},
	{name: "leaving and reset", exists: true, budget: budget{change: 1, unsubscribe: 1, reset: 1}},
	{name: "leaving and expiry", exists: true, budget: budget{change: 1, unsubscribe: 1, expire: 1}},
	{name: "alone, resets and expiry", alone: true, budget: budget{change: 1, reset: 2, expire: 1}},

	{name: "many changes", deep: true, budget: budget{change: 5, unsubscribe: 2}},
	{name: "many changes and a reset", deep: true, budget: budget{change: 4, reset: 1}},
	{name: "many changes beside others", deep: true, exists: true, budget: budget{change: 3, other: 2}},
	{name: "resets beside others", deep: true, exists: true, budget: budget{change: 2, reset: 2, other: 1}},
	{name: "resets and expiry", deep: true, exists: true, budget: budget{change: 2, reset: 1, expire: 1}},
	{name: "expiries", deep: true, exists: true, budget: budget{change: 2, expire: 2}},
	{name: "leaving and resets", deep: true, exists: true, budget: budget{change: 2, unsubscribe: 2, reset: 1}},
	{name: "leaving and expiries", deep: true, exists: true, budget: budget{change: 2, unsubscribe: 2, expire: 1}},
	{name: "all", deep: true, exists: true, budget: budget{change: 1, reset: 1, refuse: 1, fail: 1, other: 1, unsubscribe: 1}},
	{name: "alone, many resets and expiry", deep: true, alone: true, budget: budget{change: 4, reset: 2, expire: 1}},
}

// deep has the large worlds walked through too.
var deep = os.Getenv("ZKCOORD_STRESS") != ""

func TestWalk(t *testing.T) {
	for _, r := range rules {
		for _, k := range []key{presence, data, children, dataOnce, childrenOnce} {
			r := r
			r.key = k
			t.Run(r.name+", "+k.String(), func(t *testing.T) {
				if r.deep && !deep {
					t.Skip("a large world: make stress walks through it")
				}
				t.Parallel()
				states, fault := explore.Walk[*world](newWorld(&r, (*entry).step))
				if fault != "" {
					t.Fatal(fault)
				}
				t.Logf("%d states", states)
			})
		}
	}
}

// given looks at what a subscriber is given.
func (w *world) given(is *subscriber, snap event.Snapshot) {
	v := is.version
	for v <= w.now && !w.shows(v, snap) {
		v++
	}
	switch {
	case is.state != present:
		w.fault = "something was given to a subscriber that is not there"
	case v > w.now:
		w.fault = "a subscriber was given what it was past"
	case is.has && w.shows(is.version, snap) && is.down == snap.Suspended:
		w.fault = "a subscriber was given the same twice"
	case !is.has && snap.Suspended && !w.e.down:
		w.fault = "a subscriber was given something suspended without need"
	case is.told && !(w.rule.key.untilDeleted && !snap.Exists):
		w.fault = "a subscriber was given something new while it was told to be up to date"
	}
	is.version, is.has, is.down = v, true, snap.Suspended
}

// told looks at what a subscriber is told.
func (w *world) told(is *subscriber, upToDate bool) {
	switch {
	case is.told == upToDate:
		w.fault = "a subscriber was told the same twice"
	case upToDate && !w.atEnd(is) && (!is.has || is.down || !w.holds(is)):
		w.fault = "a subscriber was told that it is up to date before it was"
	}
	is.told = upToDate
}

// mostReads is how many reads a world may cost: one for each subscriber, and for
// each change and each reconnect one, and one more where what has been read is not
// to be relied on.
func (r *rule) mostReads() int {
	b := r.budget
	return 2 + 2*int(b.change) + 3*int(b.reset) + 3*int(b.expire) + int(b.refuse) + int(b.fail)
}

// atEnd reports whether there is nothing more to say to a subscriber.
func (w *world) atEnd(is *subscriber) bool {
	return w.rule.key.untilDeleted && is.has && !w.versions[is.version].exists
}

// Wrong says what must not be in w, if anything.
func (w *world) Wrong() string {
	rest := len(w.internal(nil)) == 0
	for i := range w.is {
		is := &w.is[i]
		switch {
		case is.state != present:
		case w.atEnd(is) && is.down:
			return "an end says suspended"
		case w.atEnd(is):
		case is.told && !w.holds(is):
			return "up to date, and has not what has been announced"
		case w.e.down && is.has && !is.down:
			return "the connection is lost, and a subscriber does not know"
		case rest && !is.has:
			return "at rest, and a subscriber has nothing"
		case rest && !same(w.rule.key.kind, w.snapshot(w.now), w.snapshot(is.version)):
			return "at rest, and a subscriber has not what is"
		case rest && is.down:
			return "at rest, and a subscriber has something suspended"
		case rest && !is.told:
			return "at rest, and a subscriber is not told that it is up to date"
		}
	}
	if w.live && len(w.e.subs) == 0 && (w.e.has || w.e.snap.Exists) {
		return "what was read is kept for nobody"
	}
	if !rest || !w.live {
		return ""
	}
	there := w.versions[w.now].exists
	switch {
	case w.e.watch == onChild && !w.child, w.e.watch != unarmed && w.e.watch != onChild && !w.data:
		return "at rest, and deaf"
	case len(w.e.subs) == 0 && w.e.watch == unarmed:
		return "at rest, and kept for nothing"
	case w.rule.key.untilDeleted && !there && (w.data || w.child):
		return "at rest, with a watch for a creation that is not awaited"
	}
	return ""
}

// holds reports whether what a subscriber has is as new as any answer that has
// reached the client.
func (w *world) holds(is *subscriber) bool {
	has := w.snapshot(is.version)
	for v := max(is.version, w.seen); v <= w.now; v++ {
		if w.shows(v, has) {
			return true
		}
	}
	return false
}

// Key appends all that tells w from another state to b.
func (w *world) Key(b []byte) []byte {
	flags := func(bits ...bool) {
		var f byte
		for i, bit := range bits {
			if bit {
				f |= 1 << i
			}
		}
		b = append(b, f)
	}
	snap := func(s event.Snapshot) {
		flags(s.Exists, s.Suspended)
		b = append(b, byte(s.Czxid), byte(s.Mzxid))
	}
	l := w.left
	b = append(b, byte(l.change), byte(l.reset), byte(l.expire), byte(l.refuse), byte(l.fail), byte(l.other), byte(l.unsubscribe))
	for _, v := range w.versions[:w.now+1] {
		flags(v.exists)
		b = append(b, byte(v.created))
	}
	flags(w.data, w.child, w.connected, w.over, w.live, w.fault != "", w.rearm.sent)
	flags(w.lib[:]...)
	flags(w.rearm.watches[:]...)
	b = append(b, byte(w.now), byte(w.wires), byte(w.seen), byte(w.rearm.seen), byte(w.session), byte(w.reads))
	for _, f := range w.wire[:w.wires] {
		b = append(b, byte(f.kind), byte(f.who), byte(f.event), byte(f.at))
		flags(f.watches[:]...)
	}
	for i := range w.reading {
		if r := &w.reading[i]; r.Read == nil {
			b = append(b, 0)
		} else {
			b = append(b, byte(r.phase), byte(r.session), byte(r.began), byte(r.at), byte(r.armed))
			flags(r.arm, r.exists, r.Read == w.e.read, r.asked[0], r.asked[1])
		}
	}
	e := &w.e
	b = append(b, byte(e.state), byte(e.watch))
	flags(e.has, e.unconfirmed, e.down, e.reread, e.suspect)
	snap(e.snap)
	for i := range w.is {
		is, sub := &w.is[i], &w.subs[i]
		b = append(b, byte(is.state), byte(is.version), byte(sub.owed))
		flags(is.has, is.down, is.told, sub.upToDate)
	}
	return b
}
