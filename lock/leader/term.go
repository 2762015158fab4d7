package leader

import (
	"context"
	"errors"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/backoff"
	"github.com/zkcoord/zkcoord/internal/claim"
	"github.com/zkcoord/zkcoord/internal/following"
)

// background is the context of a term's requests. They end with the session.
var background = context.Background()

// A term is one Hold, and its announcement. Terms are kept in the client's values, under
// their Holds, until those are over.
type term struct {
	c     *coord.Client
	dir   string
	label string
	value *claim.Data

	known chan struct{} // closed when h is set
	h     *coord.Hold
}

// A termKey is the key of a term.
type termKey struct{ h *coord.Hold }

func (t *term) register() {
	key := termKey{t.h}
	t.c.Kit().Values().Store(key, t)
	context.AfterFunc(t.h.Context(background), func() { t.c.Kit().Values().Delete(key) })
}

// termOf returns the term of c that h is, nil if it is none or is over.
func termOf(c *coord.Client, h *coord.Hold) *term {
	t, _ := c.Kit().Values().Load(termKey{h})
	found, _ := t.(*term)
	return found
}

// begin announces the term, which has begun, until it is over. It returns what is closed
// when nothing of the announcement is left.
func (t *term) begin(s *coord.Session, node string) (over <-chan struct{}) {
	done := make(chan struct{})
	ok := t.c.Kit().Go(func(context.Context) { // s ends if the client is closed
		defer close(done)
		<-t.known
		w := writer{term: t, s: s, path: announcementPath(t.dir), node: node,
			ended: t.h.Context(background).Done(), pause: backoff.Backoff{Min: time.Second, Max: time.Minute}}
		w.run()
	})
	if !ok {
		return nil
	}
	return done
}

// A writer keeps the announcement of one term as it is to be. One goroutine owns it.
type writer struct {
	*term
	s     *coord.Session
	path  string
	node  string // the name of the leader's znode in the queue
	ended <-chan struct{}

	a        announcer
	want     []byte           // what the announcement is to be
	gen      int              // the generation of the value in it
	followed *following.Znode // nil unless it is followed
	pause    backoff.Backoff
}

// run announces the term, and removes the announcement when it is over. What the end of the
// session leaves to be done, the ensemble does.
func (w *writer) run() {
	defer func() { w.followed.End() }()
	w.renew()
	for w.s.Err() == nil {
		select {
		case <-w.ended:
			w.end()
		default:
		}
		switch v := w.a.next(w.want); v {
		case finish:
			return
		case wait:
			w.note(nil)
			w.wait()
		case look:
			w.look()
		default:
			w.do(v)
		}
	}
}

// renew takes the newest value.
func (w *writer) renew() {
	var value []byte
	value, w.gen = w.value.Newest()
	w.want = announcement{w.node, w.h.Token(), w.label, value}.encode()
	w.a.barred = false
}

// note tells those who publish what became of the value: that it is announced, or err.
func (w *writer) note(err error) {
	if err != nil || w.a.announced(w.want) {
		w.value.Acknowledge(w.gen, err)
	}
}

// end notes that the term is over.
func (w *writer) end() {
	w.ended = nil
	w.a.over = true
	w.stopFollowing() // before the removal, which uses up the watch
}

// wait waits until something happens.
func (w *writer) wait() {
	var again <-chan time.Time
	switch {
	case w.a.barred:
		timer := time.NewTimer(w.pause.Next())
		defer timer.Stop()
		again = timer.C
	case w.followed == nil && !w.a.deposed:
		w.followed = following.Begin(w.c.Kit().WatchUntilDeleted, w.path)
	}
	select {
	case snap := <-w.followed.Updates():
		w.hear(snap)
	case <-w.followed.Done(): // it may not be read, which is no refusal of what is published
		w.stopFollowing()
		w.a.barred = true
	case <-w.value.Changed():
		w.renew()
	case <-again:
		w.a.barred = false
	case <-w.ended:
		w.end()
	case <-w.s.Done():
	}
}

func (w *writer) stopFollowing() {
	w.followed.End()
	w.followed = nil
}

// hear hears how the announcement is.
func (w *writer) hear(snap event.Snapshot) {
	if snap.Suspended {
		return // there will be more
	}
	w.pause.Reset() // whatever was refused is not any more
	if !snap.Exists {
		w.stopFollowing() // it would say nothing more
	}
	w.a = w.a.heard(w.sight(snap.Exists, snap.Data, coord.Stat(snap.Stat)))
}

// sight returns what was seen of the announcement.
func (w *writer) sight(exists bool, data []byte, stat coord.Stat) sight {
	if !exists {
		return sight{}
	}
	// What somebody has written over belongs to whom it belonged to.
	if a, ok := decode(data); (!ok || a.node == w.node) && coord.SessionID(stat.EphemeralOwner) == w.s.ID() {
		return sight{ours, stat.Version, data}
	}
	return sight{owner: another, version: stat.Version}
}

// look reads the announcement.
func (w *writer) look() {
	n, err := w.s.Get(background, w.path)
	switch {
	case err == nil:
		w.a = w.a.looked(w.sight(n.Exists, n.Data, n.Stat))
	case w.s.Refused(err):
		w.a = w.a.after(look, refused, w.want)
		w.note(err)
	}
}

// do does v, which writes.
func (w *writer) do(v verb) {
	version := w.a.at.version
	var ops []coord.Op
	switch v {
	case remove:
		w.a = w.a.after(v, w.reply(w.s.Delete(background, w.path, version), false), nil)
		return
	case create:
		ops = []coord.Op{coord.OpCreate(w.path, w.want, coord.Ephemeral)}
	case replace:
		ops = []coord.Op{coord.OpDelete(w.path, version), coord.OpCreate(w.path, w.want, coord.Ephemeral)}
		if replacing(version) == 1 {
			ops = append(ops, coord.OpSet(w.path, w.want, 0))
		}
	case set:
		ops = []coord.Op{coord.OpSet(w.path, w.want, version)}
	case retract:
		ops = []coord.Op{coord.OpDelete(w.path, -1)}
	}
	res, err := w.s.Txn(background, append([]coord.Op{w.h.Guard()}, ops...)...)
	r := w.reply(err, len(res) > 0 && res[0].Err != nil)
	if w.a = w.a.after(v, r, w.want); r == refused {
		w.note(err)
	}
}

// reply returns what err says of a request, which is that the guard has failed if guarded.
func (w *writer) reply(err error, guarded bool) reply {
	switch {
	case err == nil:
		return carriedOut
	case !w.s.Refused(err):
		return unknown // or not sent, at the end of the session
	case guarded:
		return deposed
	case errors.Is(err, coord.ErrNoNode), errors.Is(err, coord.ErrNodeExists), errors.Is(err, coord.ErrBadVersion):
		return outdated
	}
	return refused
}
