package watch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
)

var errOldRefused, errOldLost = errors.New("refused"), errors.New("lost")

type oldRead struct {
	e     *oldEntry
	epoch int
}

type oldLoop struct {
	entries  map[key]*oldEntry
	pending  []*oldEntry
	reads    int
	epoch    int
	link     int
	down     bool
	free     bool
	inflight []oldRead
	said     []string
}

func (l *oldLoop) log(format string, args ...any) {
	l.said = append(l.said, fmt.Sprintf(format, args...))
}

func (l *oldLoop) event(ev zk.Event) {
	for _, k := range keysAt(ev.Path) {
		e := l.entries[k]
		if e == nil {
			continue
		}
		if e.reading && e.armed == unarmed {
			// The callback runs before the reply that armed the watch has
			// reached us, so this event may be that watch's.
			e.fired = e.fired || canFire(k.kind, ev.Type)
			continue
		}
		if !e.armed.firedBy(ev.Type) {
			continue
		}
		e.armed, e.unconfirmed = unarmed, false
		if e.untilDeleted && ev.Type == zk.EventNodeDeleted {
			// Whether it has come back does not matter, and
			// whoever waits for its end need not wait for an answer too.
			l.publish(e, event.Snapshot{}, e.readSeq+1)
			l.drop(e)
		} else {
			l.requestRead(e)
		}
		l.noteUpToDate(e)
	}
}

func (l *oldLoop) suspend() {
	l.down = true
	for _, e := range l.entries {
		if e.have && !e.gone() {
			snap := e.snap
			snap.Suspended = true
			l.publish(e, snap, 0)
		}
		l.noteUpToDate(e)
	}
}

func (l *oldLoop) resume(newSession bool) {
	l.down = false
	l.link++
	if newSession {
		l.epoch++
	}
	for _, e := range l.entries {
		if newSession {
			e.armed = unarmed
		}
		e.unconfirmed = e.armed != unarmed
		if len(e.subs) > 0 {
			l.requestRead(e)
			l.noteUpToDate(e)
		} else {
			e.have = false
			l.drop(e)
		}
	}
}

// rearmed notes that the server has taken over the watches on these paths, after
// it has told what had changed.
func (l *oldLoop) rearmed(w watch, paths []string) {
	for _, path := range paths {
		for _, k := range keysAt(path) {
			if e := l.entries[k]; e != nil && e.armed == w {
				e.unconfirmed = false
				l.noteUpToDate(e)
			}
		}
	}
}

// requestRead has e read, once more if a read is under way that may be too old.
func (l *oldLoop) requestRead(e *oldEntry) {
	if e.gone() {
		return
	}
	if e.reading {
		e.rereadAfter = true
		return
	}
	if len(e.subs) == 0 {
		e.have = false
		l.drop(e)
		return
	}
	e.reading = true
	l.enqueue(e)
}

func (l *oldLoop) enqueue(e *oldEntry) {
	l.pending = append(l.pending, e)
	l.start()
}

// start begins pending reads, as many as may be in flight.
func (l *oldLoop) start() {
	for len(l.pending) > 0 && l.free {
		e := l.pending[0]
		l.pending[0] = nil // the array stays for as long as there are others in it
		l.pending = l.pending[1:]
		if len(e.subs) == 0 { // left while it was pending
			e.reading, e.have = false, false
			l.drop(e)
			continue
		}
		e.rereadAfter, e.fired = false, false
		e.readSeq++
		e.link = l.link
		l.reads++
		w := readRequest{e.key, e.armed == unarmed, event.Snapshot{}}
		if e.have {
			w.known = e.snap
		}
		l.inflight = append(l.inflight, oldRead{e, l.epoch})
		l.log("read %v %v", w.arm, w.known)
	}
	if len(l.pending) == 0 {
		l.pending = nil // nor does the array stay
	}
}

func (l *oldLoop) result(e *oldEntry, snap event.Snapshot, armed watch, err error, epoch int) {
	l.reads--
	e.reading = false
	defer l.start()
	defer l.noteUpToDate(e)
	switch {
	case e.gone(): // an event has overtaken this answer
		l.drop(e)
		return
	case epoch != l.epoch:
		l.requestRead(e)
		return
	case err != nil && err == errOldRefused:
		l.end(e, err)
		return
	case err != nil:
		l.requestRead(e)
		return
	}
	switch {
	case e.fired:
		e.armed = unarmed
	case armed != unarmed && e.link != l.link:
		// The server may have been told of this watch or not, and may have
		// answered that already. Another is armed by the read that follows.
	case armed != unarmed:
		e.armed, e.unconfirmed = armed, false
	case e.armed != unarmed && e.have && !same(e.kind, unsuspended(e.snap), snap):
		// Read without arming, because a watch was there; but it has let a
		// change pass. (A reconnect re-arms what the server still agrees with.)
		e.armed = unarmed
	}
	// A read that began before the link went down may be answered after it: it
	// is the truth of then, and the one that Resume asks for follows. But none
	// follows on an end.
	snap.Suspended = l.down && (snap.Exists || !e.untilDeleted)
	// Once it was known to be gone, an answer from before that is no news.
	if !e.untilDeleted || e.have || !e.rereadAfter {
		l.publish(e, snap, e.readSeq)
	}
	if e.rereadAfter && e.gone() {
		e.have = false // who has come since this read began is to have another
	}
	if e.rereadAfter || e.armed == unarmed {
		l.requestRead(e)
	}
	l.drop(e)
}

// An entry is one followed (path, kind). It outlives its last subscriber while
// its watch is armed, since that can not be withdrawn, and a later subscriber
// can use it. What the znode had is not kept for that long.
type oldEntry struct {
	key
	subs        map[*oldSub]struct{} // nil if there are none
	snap        event.Snapshot       // what was last published or, without subscribers, last read
	have        bool                 // snap has been read in this session, and may only be stale if suspended
	armed       watch
	unconfirmed bool      // the link is new, and the server has not said yet that the watch is armed there
	reading     bool      // a read is pending or in flight
	readSeq     int       // counts reads
	link        int       // of which connection the last one is that was begun
	rereadAfter bool      // read once more when it is back
	fired       bool      // an event came while the read was in flight
	notBefore   time.Time // no read shall begin before; see pausePerChild
}

// gone reports whether e is known to have ended for good.
func (e *oldEntry) gone() bool {
	return e.untilDeleted && e.have && !e.snap.Exists
}

// upToDate reports whether what was last read holds until an event says otherwise.
func (e *oldEntry) upToDate() bool {
	return e.have && !e.reading && !e.snap.Suspended && (e.gone() || e.armed != unarmed && !e.unconfirmed)
}

// A subscription is one stream's share in an entry.
type oldSub struct {
	id int
	key
	as       string // the path as the subscriber wrote it
	minRead  int    // its first snapshot is that of this read, or a later one; zero once it has one
	upToDate bool   // as out has been told
}

func (l *oldLoop) subscribe(sub *oldSub) {
	e := l.entries[sub.key]
	if e == nil {
		e = &oldEntry{key: sub.key}
		l.entries[sub.key] = e
	}
	if e.gone() {
		e.have = false // the name is used again after all
	}
	if e.subs == nil {
		e.subs = make(map[*oldSub]struct{})
	}
	e.subs[sub] = struct{}{}
	if e.upToDate() {
		// As true as another read would be.
		l.deliver(e, sub)
		l.noteUpToDate(e)
		return
	}
	// What is known may be older than something that the subscriber has done and
	// seen answered. What is read from now on is not.
	sub.minRead = e.readSeq + 1
	l.requestRead(e)
	l.noteUpToDate(e) // for those who had the end of what was there before
}

func (l *oldLoop) unsubscribe(sub *oldSub) {
	if e := l.entries[sub.key]; e != nil {
		delete(e.subs, sub)
		l.drop(e)
	}
}

// drop forgets of e what nobody needs: all of it if nothing will come for it.
func (l *oldLoop) drop(e *oldEntry) {
	if len(e.subs) > 0 {
		return
	}
	e.subs = nil // a map keeps the room for the most it ever had; so does that of the entries
	switch {
	case e.reading:
	case e.armed == unarmed:
		delete(l.entries, e.key)
		if len(l.entries) == 0 {
			l.entries = make(map[key]*oldEntry)
		}
	case e.snap.Data != nil || e.snap.Children != nil:
		e.snap, e.have = event.Snapshot{}, false
	}
}

// end ends all streams of e.
func (l *oldLoop) end(e *oldEntry, err error) {
	for sub := range e.subs {
		l.log("%d end", sub.id)
	}
	clear(e.subs)
	e.have = false // whoever comes now is to hear of it too
	l.drop(e)
}

// publish makes snap, which the read with this number has brought, the state of
// e, and tells the subscribers if it is news to them.
func (l *oldLoop) publish(e *oldEntry, snap event.Snapshot, read int) {
	news := !e.have || !same(e.kind, e.snap, snap)
	e.have = true
	if news {
		e.snap = snap
	}
	for sub := range e.subs {
		if sub.minRead <= read && (news || sub.minRead > 0) {
			sub.minRead = 0
			l.deliver(e, sub)
		}
	}
}

func (l *oldLoop) deliver(e *oldEntry, sub *oldSub) {
	snap := e.snap
	snap.Path = sub.as
	l.log("%d publish %v", sub.id, snap)
}

// noteUpToDate tells the subscribers of e whether it is up to date, if that is news.
func (l *oldLoop) noteUpToDate(e *oldEntry) {
	upToDate := e.upToDate()
	for sub := range e.subs {
		if now := upToDate && sub.minRead == 0; now != sub.upToDate {
			sub.upToDate = now
			l.log("%d upToDate %v", sub.id, now)
		}
	}
}

// The pure machine does what the loop of closures did before it.
func TestAsBefore(t *testing.T) {
	keys := []key{{"/a", event.Presence, false}, {"/a", event.Data, false}, {"/a", event.Children, false}, {"/a", event.Data, true}, {"/a", event.Children, true}, {"/a", event.Presence, true}}
	types := []zk.EventType{zk.EventNodeCreated, zk.EventNodeDeleted, zk.EventNodeDataChanged, zk.EventNodeChildrenChanged}
	steps, reads, pubs, forgot := 0, 0, 0, 0
	for seed := range uint64(60000) {
		r := rand.New(rand.NewPCG(seed, 1))
		k := keys[seed%6]
		old := &oldLoop{entries: make(map[key]*oldEntry), down: true, free: true}
		var e *entry
		var said []string
		down, inflight, queue := true, 0, 0
		var subs []*subscription
		id := func(sub *subscription) int { return slices.Index(subs, sub) }
		feed := func(in input) {
			var do actions
			e.step(in, &do)
			for _, a := range do {
				switch a.verb {
				case enqueue:
					queue++
				case read:
					inflight++
					said = append(said, fmt.Sprintf("read %v %v", a.arm, a.snap))
				case publish:
					said = append(said, fmt.Sprintf("%d publish %v", id(a.sub), a.snap))
				case tellUpToDate:
					said = append(said, fmt.Sprintf("%d upToDate %v", id(a.sub), a.upToDate))
				case end:
					said = append(said, fmt.Sprintf("%d end", id(a.sub)))
				case forget:
					e = nil
				}
			}
		}
		var olds []*oldSub
		var trace []string
		for range 100 {
			steps++
			var in input
			what := r.IntN(20)
			switch {
			case what < 3:
				id := len(subs)
				subs = append(subs, &subscription{key: k})
				olds = append(olds, &oldSub{key: k, id: id})
				if e == nil {
					e = &entry{key: k, down: down}
				}
				in = input{kind: subscribe, sub: subs[id]}
				old.subscribe(olds[id])
			case what < 5 && len(subs) > 0:
				id := r.IntN(len(subs))
				in = input{kind: unsubscribe, sub: subs[id]}
				old.unsubscribe(olds[id])
			case what < 9:
				in = input{kind: fired, event: types[r.IntN(4)]}
				old.event(zk.Event{Path: "/a", Type: in.event})
			case what < 10:
				down = true
				in = input{kind: suspend}
				old.suspend()
			case what < 11:
				down = false
				in = input{kind: resume, newSession: r.IntN(3) == 0}
				old.resume(in.newSession)
			case what < 13:
				in = input{kind: rearmed, watch: watch(1 + r.IntN(3))}
				old.rearmed(in.watch, []string{"/a"})
			case what < 14:
				old.free = !old.free
				old.start()
			case what < 20 && len(old.inflight) > 0:
				reads++
				in = input{kind: answered}
				var err error
				switch r.IntN(10) {
				case 0:
					in.kind, in.err, err = refused, errOldRefused, errOldRefused
				case 1, 2:
					in.kind, in.err, err = failed, errOldLost, errOldLost
				default:
					if r.IntN(3) > 0 {
						in.snap = event.Snapshot{Exists: true, Stat: zk.Stat{Czxid: int64(r.IntN(2)), Mzxid: int64(r.IntN(3)), Pzxid: int64(r.IntN(3))}}
						if k.kind == event.Data {
							in.snap.Data = []byte{byte(r.IntN(3))}
						}
					}
					if r.IntN(3) > 0 {
						in.watch = watch(1 + r.IntN(3))
					}
				}
				inflight--
				a := old.inflight[0]
				old.inflight = old.inflight[1:]
				old.result(a.e, in.snap, in.watch, err, a.epoch)
			default:
				continue
			}
			trace = append(trace, fmt.Sprintf("%+v", in))
			if e != nil && what != 13 {
				feed(in)
			}
			if e == nil {
				queue = 0
			}
			for queue > 0 && old.free {
				queue--
				feed(input{kind: begin})
				if e == nil {
					queue = 0
				}
			}
			pubs += len(said)
			slices.Sort(said) // the old loop has its subscribers in a map
			slices.Sort(old.said)
			o := old.entries[k]
			if o != nil && e == nil && len(o.subs) == 0 && o.armed == unarmed && !o.reading {
				delete(old.entries, k) // it forgot to
				forgot++
				o = nil
			}
			if !slices.Equal(said, old.said) || (o == nil) != (e == nil) || inflight != len(old.inflight) ||
				o != nil && (o.have != e.has || o.armed != e.watch || o.reading != (e.state != quiet) || o.gone() != e.gone() || o.upToDate() != e.upToDate()) {
				t.Fatalf("seed %d: %v\n after %v\n now %v,\n was %v\n%+v\n%+v", seed, k, trace, said, old.said, o, e)
			}
			said, old.said = nil, nil
		}
	}
	t.Logf("%d steps, %d answers, %d things said, %d entries kept for nothing", steps, reads, pubs, forgot)
}
