package watch

import (
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
)

// pausePerChild is for how long a directory is let rest after it was read, for each
// child it had. In a burst of changes one listing then does for many: what a
// watcher asks for is bounded by a megabyte or so a second, however many come and
// go, while the first change after a rest is read at once.
const pausePerChild = 50 * time.Microsecond

func (l *Loop) event(ev zk.Event) {
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

func (l *Loop) suspend() {
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

func (l *Loop) resume(newSession bool) {
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
func (l *Loop) rearmed(w watch, paths []string) {
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
func (l *Loop) requestRead(e *entry) {
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
	if wait := time.Until(e.notBefore); wait > 0 {
		time.AfterFunc(wait, func() { l.inbox.post(func() { l.enqueue(e) }) })
	} else {
		l.enqueue(e)
	}
}

func (l *Loop) enqueue(e *entry) {
	l.pending = append(l.pending, e)
	l.start()
}

// start begins pending reads, as many as may be in flight.
func (l *Loop) start() {
	for len(l.pending) > 0 && l.reads < maxReads {
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
		go l.read(e, w, l.epoch)
	}
	if len(l.pending) == 0 {
		l.pending = nil // nor does the array stay
	}
}

func (l *Loop) read(e *entry, w readRequest, epoch int) {
	type reading struct {
		snap  event.Snapshot
		armed watch
	}
	got := make(chan reading, 1) // Request may leave f behind and return
	err := l.source.Request(func(c Conn) error {
		snap, armed, err := w.read(c)
		got <- reading{snap, armed}
		return err
	})
	var r reading
	if err == nil {
		r = <-got
	}
	l.inbox.postAlways(func() { l.result(e, r.snap, r.armed, err, epoch) })
}

func (l *Loop) result(e *entry, snap event.Snapshot, armed watch, err error, epoch int) {
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
	case err != nil && l.source.Refused(err):
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
	if len(snap.Children) > 0 {
		e.notBefore = time.Now().Add(min(time.Duration(len(snap.Children))*pausePerChild, time.Second))
	}
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

func unsuspended(s event.Snapshot) event.Snapshot {
	s.Suspended = false
	return s
}

// same reports whether a reader who follows kind has nothing to learn from b
// after a. It compares transaction ids and not versions: a znode deleted and
// created anew starts again at version zero.
func same(kind event.Kind, a, b event.Snapshot) bool {
	if a.Exists != b.Exists || a.Suspended != b.Suspended || a.Czxid != b.Czxid {
		return false
	}
	switch kind {
	case event.Data:
		return a.Mzxid == b.Mzxid
	case event.Children:
		// The names are compared too: a server that is asked in the middle of a
		// burst may give the parent's ids and its children of two moments.
		return a.Pzxid == b.Pzxid && a.Cversion == b.Cversion && slices.Equal(a.Children, b.Children)
	}
	return true
}
