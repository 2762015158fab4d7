package barrier

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/async"
	"github.com/zkcoord/zkcoord/internal/following"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// A driver feeds one machine with what happens, and does what it says. One goroutine owns
// it, and it alone moves the Hold.
type driver struct {
	*Barrier
	k     *coord.Keeper
	s     *coord.Session
	m     machine
	guard string // the path of our guard; nobody else ever has it

	reply   <-chan input     // of the one request in flight
	self    *following.Znode // our znode, until we ask for its removal
	ready   *following.Znode // in waiting
	ahead   *following.Znode // the one that the machine has named
	czxid   int64            // of that, once it is known to be there
	renewed <-chan error     // tells that the session has been renewed, while the grant waits for that
	granted bool             // the Hold was acquired
}

// run takes the one that enters through the barrier, and returns the cause of the end. If
// ctx ends before it is acquired, that is its end.
func (d *driver) run(ctx context.Context) error {
	defer func() {
		d.self.End()
		d.ready.End()
		d.ahead.End()
		if d.m.stays != nil {
			d.k.NotRemoved(d.m.stays)
		}
	}()
	d.do(op{action: list})
	canceled, released := ctx.Done(), d.k.Released()
	for d.m.state != done {
		select {
		case in := <-d.reply:
			d.reply = nil
			d.hear()
			d.step(in)
		case snap := <-d.self.Updates():
			d.hearSelf(snap)
		case snap := <-d.ready.Updates():
			d.hear()
			if snap.Exists && !snap.Suspended && d.ready != nil {
				d.step(input{kind: opened})
			}
		case snap := <-d.ahead.Updates():
			d.hearAhead(snap)
		case <-d.self.Done():
			d.failed(&d.self)
		case <-d.ready.Done():
			d.failed(&d.ready)
		case <-d.ahead.Done():
			d.failed(&d.ahead)
		case <-d.renewed: // if in vain, the session is over
			d.grant()
		case <-d.s.Done():
			d.step(input{}) // finds out why
		case <-canceled:
			canceled = nil
			if cause := context.Cause(ctx); d.k.GiveUp(cause) {
				d.step(input{kind: quit, err: cause})
			}
		case <-released:
			released = nil
			d.step(input{kind: quit, held: d.granted, err: coord.ErrReleased})
		}
	}
	return d.m.cause
}

// step moves the machine on, does what it says, and tells the owner.
func (d *driver) step(in input) {
	if err := d.s.Err(); err != nil { // goes before all else that is due
		in = input{kind: expired, err: err}
	}
	was := d.m.state
	o := d.m.step(in)
	if d.m.cause != nil {
		d.k.End(d.m.cause)
	}
	switch there := d.m.in && d.m.state != removing; {
	case there && d.self == nil:
		d.self = d.follow(d.path(d.m.id))
	case !there:
		d.self.End()
		d.self = nil
	}
	if d.m.state != waiting {
		d.ready.End()
		d.ready = nil
	}
	if d.m.ahead == "" {
		d.ahead.End()
		d.ahead = nil
	}
	d.do(o)
	if was != inside && d.m.state == inside {
		d.grant()
	}
}

// grant tells the owner that n are in, as soon as the session has been renewed. That a
// round is open may be the word of one server.
func (d *driver) grant() {
	if d.renewed = nil; d.m.state != inside || d.s.Err() != nil {
		return
	}
	if !d.s.Renewed() {
		d.renewed = async.Go(d.c.Kit().Go, func(context.Context) error { return d.s.Renew(background, d.dir) })
		return
	}
	if err := d.k.Acquired(d.s, d.guard, coord.Token(d.m.token)); err != nil {
		d.step(input{kind: quit, err: err})
		return
	}
	d.granted = true
}

// hear hears first what is due of our own znode. Of several cases that are ready the
// select takes any, and what may grant must come after what may forbid it.
func (d *driver) hear() {
	select {
	case snap := <-d.self.Updates():
		d.hearSelf(snap)
	default:
	}
}

func (d *driver) hearSelf(snap event.Snapshot) {
	switch {
	case snap.Suspended:
		d.step(input{kind: doubted})
	case snap.Exists && snap.Czxid == d.m.token:
		d.step(input{kind: confirmed})
	default:
		d.step(input{kind: gone})
	}
}

// hearAhead hears of the znode that is followed. One of the same name that was created
// later is another one's.
func (d *driver) hearAhead(snap event.Snapshot) {
	switch {
	case snap.Suspended: // no news
	case !snap.Exists, d.czxid != 0 && snap.Czxid != d.czxid:
		d.step(input{kind: left})
	case d.czxid == 0:
		d.czxid = snap.Czxid
		d.step(input{kind: followed})
	}
}

// failed goes on when the stream f has ended by itself.
func (d *driver) failed(f **following.Znode) {
	err := errors.Unwrap((*f).Err())
	(*f).End()
	*f = nil
	d.step(input{kind: refused, err: err})
}

// do does o, elsewhere if it is a request.
func (d *driver) do(o op) {
	var request func() input
	token := d.m.token
	switch o.action {
	case nothing:
		return
	case await:
		d.ready = following.Begin(d.watchPresence, d.path(ready))
		return
	case follow:
		d.ahead.End()
		d.ahead, d.czxid = d.follow(d.path(o.members[0])), 0
		return
	case list:
		request = func() input { return d.list(o) }
	case create:
		d.guard = zkpath.Join(d.guards(), guardPrefix+rand.Text())
		guard := d.guard
		request = func() input { return d.create(o, guard) }
	case check:
		request = d.check
	case open:
		request = func() input { return d.open(o) }
	case remove:
		request = func() input { return d.remove(o, token) }
	case clear:
		request = func() input { return d.clear(o) }
	}
	d.reply = async.Go(d.c.Kit().Go, func(context.Context) input { return request() })
}

func (d *driver) watchPresence(ctx context.Context, path string) *event.Stream[event.Snapshot] {
	return d.c.Watch(ctx, path, event.Presence)
}

// follow follows a znode until it is gone.
func (d *driver) follow(path string) *following.Znode {
	return following.Begin(d.c.Kit().WatchUntilDeleted, path)
}
