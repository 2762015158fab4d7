package leader

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/backoff"
	"github.com/zkcoord/zkcoord/internal/queue"
)

// A View says who leads.
type View struct {
	Leader coord.Contender // zero unless Has; its Since only if it does not announce itself
	// Value is what the leader publishes; not to be modified. Of a leader by another
	// client it is the data of its znode in the queue. It is nil if the leader is a
	// candidate of this package that has not announced itself.
	Value []byte
	Has   bool // somebody is known to lead
	// Suspended says that the connection is down, and that this is what was last known.
	// Somebody else may lead by now: do not send requests to this leader.
	Suspended bool
}

func (v View) equal(u View) bool {
	return v.Leader == u.Leader && v.Has == u.Has && v.Suspended == u.Suspended && bytes.Equal(v.Value, u.Value)
}

// announced returns the View of the announcement with these data in a znode of session
// owner, and false if it is none.
func announced(data []byte, owner int64) (View, bool) {
	a, ok := decode(data)
	if !ok || owner == 0 {
		return View{}, false
	}
	return View{Has: true, Value: a.value, Leader: coord.Contender{
		Label: a.label, Node: a.node, Session: coord.SessionID(owner), Token: a.token, Holds: true,
	}}, true
}

// unannounced returns the View of the first in the queue, if there is one.
func unannounced(head coord.Contender, found bool) View {
	switch {
	case !found:
		return View{}
	case !queue.IsOurs(head.Node):
		return View{Has: true, Leader: head, Value: []byte(head.Label)}
	case head.Revoked: // it leads no more, and keeps the others out until it has stopped
		return View{}
	}
	return View{Has: true, Leader: head}
}

// Leader returns who leads. The answer comes from one server, which may be a little behind
// the others; it costs one request, and two more if the leader has not announced itself.
//
// The error is a [*coord.Error]: the cause of ctx's end, if that comes first,
// [coord.ErrClosed], [coord.ErrInvalidPath], [coord.ErrForeign], or the ensemble's refusal.
// That nobody leads is no error.
func (e *Election) Leader(ctx context.Context) (View, error) {
	v, err := e.find(ctx)
	if err != nil {
		return View{}, e.fail("leader", err)
	}
	return v, nil
}

func (e *Election) find(ctx context.Context) (View, error) {
	if err := (queue.Entry{Dir: e.dir}).Check(); err != nil {
		return View{}, err
	}
	var n coord.Node
	err := e.c.Kit().Retry(ctx, func(s *coord.Session) (err error) {
		n, err = s.Get(ctx, announcementPath(e.dir))
		return err
	})
	if err != nil && !errors.Is(err, coord.ErrNoAuth) {
		return View{}, err
	}
	if v, ok := announced(n.Data, n.EphemeralOwner); ok {
		return v, nil
	}
	head, found, err := queue.Head(ctx, e.c, e.dir)
	return unannounced(head, found), err
}

// Watch follows who leads until ctx ends.
//
// It watches the leader's announcement: one to three small requests for each change of the
// leader or of its value, whatever the number of candidates. When a leader goes, the View says that there is
// none until the next has announced itself. If there is no announcement at first, or for a
// second, Watch follows the queue until there is one, which costs what Watch of a
// lock.Mutex does.
//
// The stream ends with a [*coord.Error]: the cause of ctx's end, [coord.ErrClosed],
// [coord.ErrInvalidPath], [coord.ErrForeign], or the ensemble's refusal to read both the
// announcement and the queue. One that may read only one of them goes by that.
func (e *Election) Watch(ctx context.Context) *event.Stream[View] {
	return coord.NewStream(ctx, e.c, "watch", e.dir, func(ctx context.Context, p event.Publisher[View]) error {
		if err := (queue.Entry{Dir: e.dir}).Check(); err != nil {
			return err
		}
		o := observer{e: e, ctx: ctx, out: p, announcements: e.c.Watch(ctx, announcementPath(e.dir), event.Data)}
		return o.run()
	})
}

// patience is for how long an observer waits, about, for the next announcement before it
// asks for the queue.
const patience = time.Second

// A patienceKey is the key of another patience in a client's values, for tests.
type patienceKey struct{}

// patienceOf returns the patience of the observers of c.
func patienceOf(c *coord.Client) time.Duration {
	if v, ok := c.Kit().Values().Load(patienceKey{}); ok {
		return v.(time.Duration)
	}
	return patience
}

// An observer follows who leads. One goroutine owns it.
type observer struct {
	e   *Election
	ctx context.Context
	out event.Publisher[View]

	announcements *event.Stream[event.Snapshot] // nil if they may not be read
	announcement  event.Snapshot                // the newest
	known         bool                          // there has been one, or may not be

	queue     *event.Stream[coord.Contention] // nil unless it is followed
	unfollow  context.CancelFunc
	line      coord.Contention // the newest
	listed    bool             // there has been one
	unlisted  bool             // it may not be listed
	impatient <-chan time.Time // fires when there was no announcement for long

	began bool // something has been published
	last  View
}

// run publishes who leads until the end, whose cause it returns.
func (o *observer) run() error {
	defer o.leaveQueue()
	for {
		var snaps <-chan event.Snapshot
		var lines <-chan coord.Contention
		var noSnaps, noLines <-chan struct{}
		if o.announcements != nil {
			snaps, noSnaps = o.announcements.Updates(), o.announcements.Done()
		}
		if o.queue != nil {
			lines, noLines = o.queue.Updates(), o.queue.Done()
		}
		select {
		case o.announcement = <-snaps:
			o.known = true
		case <-noSnaps:
			if err := o.announcements.Err(); !errors.Is(err, coord.ErrNoAuth) || o.unlisted {
				return err
			}
			o.announcements, o.announcement, o.known = nil, event.Snapshot{}, true
		case o.line = <-lines:
			o.listed = true
		case <-noLines:
			if err := o.queue.Err(); !errors.Is(err, coord.ErrNoAuth) || o.announcements == nil {
				return err
			}
			o.leaveQueue()
			o.unlisted = true
		case <-o.impatient:
			o.impatient = nil
			o.joinQueue()
		case <-o.ctx.Done():
			return context.Cause(o.ctx)
		}
		o.publish()
	}
}

// publish publishes who leads, if that is known and new, and sees to it that the queue is
// followed when it must be.
func (o *observer) publish() {
	if !o.known {
		return
	}
	v, ok := announced(o.announcement.Data, o.announcement.EphemeralOwner)
	switch {
	case ok:
		o.leaveQueue()
		o.impatient = nil
	case o.queue != nil || o.impatient != nil || o.unlisted:
	case !o.began:
		o.joinQueue()
	default:
		o.impatient = time.After(backoff.Jitter(patienceOf(o.e.c)))
	}
	suspended := o.announcement.Suspended
	if !ok && o.queue != nil {
		if !o.listed && !o.began {
			return // it will say
		}
		if o.listed {
			found := len(o.line.Contenders) > 0
			var head coord.Contender
			if found {
				head = o.line.Contenders[0]
			}
			v, suspended = unannounced(head, found), suspended || o.line.Suspended
		}
	}
	v.Suspended = suspended
	if !o.began || !v.equal(o.last) {
		o.began, o.last = true, v
		o.out.Publish(v)
	}
}

// joinQueue begins to follow the queue.
func (o *observer) joinQueue() {
	ctx, stop := context.WithCancel(o.ctx)
	o.queue, o.unfollow = queue.Watch(ctx, o.e.c, o.e.dir), stop
}

// leaveQueue no longer follows the queue.
func (o *observer) leaveQueue() {
	if o.unfollow != nil {
		o.unfollow()
	}
	o.queue, o.unfollow, o.line, o.listed = nil, nil, coord.Contention{}, false
}
