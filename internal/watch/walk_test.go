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
	{name: "changes", budget: budget{change: 4, unsubscribe: 1}},
	{name: "changes beside another", exists: true, budget: budget{change: 3, other: 1}},
	{name: "reset", budget: budget{change: 3, reset: 1}},
	{name: "reset beside another", exists: true, budget: budget{change: 2, reset: 1, other: 1}},
	{name: "resets", exists: true, budget: budget{change: 2, reset: 2}},
	{name: "expiry", budget: budget{change: 3, expire: 1}},
	{name: "reset and expiry", exists: true, budget: budget{change: 2, reset: 1, expire: 1}},
	{name: "refusal", exists: true, budget: budget{change: 2, refuse: 1}},
	{name: "refusal and reset", exists: true, budget: budget{change: 1, refuse: 1, reset: 1}},
	{name: "leaving and reset", exists: true, budget: budget{change: 2, unsubscribe: 2, reset: 1}},
	{name: "leaving and expiry", exists: true, budget: budget{change: 2, unsubscribe: 2, expire: 1}},
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
				states, fault := explore.Walk(newWorld(&r, (*entry).step))
				if fault != "" {
					t.Fatal(fault)
				}
				t.Logf("%d states", states)
			})
		}
	}
}

// published looks at what a subscriber is given.
func (w *world) published(is *subscriber, snap event.Snapshot) {
	kind := w.rule.key.kind
	v := is.version
	for v <= w.now && !w.shows(v, snap) {
		v++
	}
	switch {
	case v > w.now:
		w.fault = "a subscriber was given what it was past"
	case is.has && same(kind, is.last, snap) && !(w.rule.key.untilDeleted && !snap.Exists):
		w.fault = "a subscriber was given the same twice"
	case !is.has && snap.Suspended && w.connected:
		w.fault = "the first value says suspended"
	}
	is.version, is.last, is.has = v, snap, true
}

// Wrong says what must not be in w, if anything.
func (w *world) Wrong() string {
	if w.fault != "" {
		return w.fault
	}
	rest := len(w.internal(nil)) == 0
	for i := range w.is {
		is := &w.is[i]
		if is.state != present {
			continue
		}
		over := w.rule.key.untilDeleted && is.has && !is.last.Exists
		switch {
		case over && is.last.Suspended:
			return "the end says suspended"
		case over:
		case is.told && (!is.has || is.last.Suspended):
			return "up to date with nothing"
		case is.told && !w.holds(is):
			return "up to date, and has not what has been announced"
		case rest && !is.has:
			return "at rest, and a subscriber has nothing"
		case rest && !w.shows(w.now, is.last):
			return "at rest, and a subscriber has not what is"
		case rest && is.last.Suspended:
			return "at rest, and a subscriber has something suspended"
		case rest && !is.told:
			return "at rest, and a subscriber is not told that it is up to date"
		}
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
	for v := max(is.version, w.seen); v <= w.now; v++ {
		if w.shows(v, is.last) {
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
	b = append(b, byte(l.change), byte(l.reset), byte(l.expire), byte(l.refuse), byte(l.other), byte(l.unsubscribe))
	for _, v := range w.versions[:w.now+1] {
		flags(v.exists)
		b = append(b, byte(v.created))
	}
	flags(w.data, w.child, w.connected, w.over, w.live, w.fault != "", w.rearm.sent)
	flags(w.lib[:]...)
	flags(w.rearm.watches[:]...)
	b = append(b, byte(w.now), byte(w.wires), byte(w.seen), byte(w.rearm.seen), byte(w.session), byte(w.reads))
	for _, f := range w.wire[:w.wires] {
		b = append(b, byte(f.kind), byte(f.event), byte(f.at))
		flags(f.watches[:]...)
	}
	r := &w.read
	b = append(b, byte(r.phase), byte(r.session), byte(r.at), byte(r.armed))
	flags(r.arm, r.exists)
	e := &w.e
	b = append(b, byte(e.state), byte(e.watch))
	flags(e.has, e.unconfirmed, e.down, e.stale, e.void, e.again, e.fired)
	snap(e.snap)
	for i := range w.is {
		is, sub := &w.is[i], &w.subs[i]
		b = append(b, byte(is.state), byte(is.version), byte(sub.owed))
		flags(is.has, is.told, sub.upToDate)
		snap(is.last)
	}
	return b
}
