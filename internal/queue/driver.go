package queue

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/async"
)

// A driver feeds one machine with what happens, and does what it says. One
// goroutine owns it, and it alone moves the Hold.
//
// There may be many that wait. So what stands on the stack meanwhile is kept small, lest
// each need a larger one.
type driver struct {
	Entry
	c *coord.Client
	s *coord.Session
	k *coord.Keeper
	m machine

	ctx                context.Context // bounds the waiting
	canceled, released <-chan struct{} // nil once heard of

	near    *neighborhood
	request request  // the one in flight; an earlier one's answer is void
	early   *reading // begun together with the create in flight

	self  *watchedNode // our own node, once it is followed
	heard bool         // self has told of our node
	ahead *watchedNode // the node that watch named

	changed <-chan struct{} // closed once the connection has been lost since our node was asked for

	seen    bool            // we know how many were before us when we came
	waited  <-chan struct{} // closed when our own node is to be followed because we have waited for long
	overdue *time.Timer     // fires when it is to be followed because we have held for long; nil before we hold

	granted bool            // the Hold is held
	beside  <-chan struct{} // what Granted has returned
	renewed <-chan error    // tells that the session has been renewed, while the grant waits for that

	downgrades        <-chan chan<- error // requests for a downgrade: where to answer them
	awaitingDowngrade []chan<- error      // the answers that are due when it is done
}

// reasons are those for which a machine gives up, as the owner is told.
var reasons = causes{coord.ErrDeleted, coord.ErrRevoked, coord.ErrLocked, coord.ErrExhausted, errForeign}

// newDriver returns the driver of a contender in the present session.
func newDriver(ctx context.Context, c *coord.Client, e Entry, k *coord.Keeper) (*driver, error) {
	if err := e.Check(); err != nil {
		return nil, err
	}
	s, err := k.Await(ctx)
	if err != nil {
		return nil, err
	}
	d := &driver{Entry: e, c: c, s: s, k: k, ctx: ctx, canceled: ctx.Done(), released: k.Released()}
	known := crowdsOf(c)
	d.m = machine{id: newID(), mode: e.Mode, try: e.Try, many: known.manyAhead(), causes: &reasons}
	if e.Mode != Read && !e.Try {
		d.m.id += known.get(e.Dir).mark()
	}
	return d, nil
}

// run takes the contender through the queue, and returns the cause of the end.
func (d *driver) run() error {
	defer d.enter()()
	_, d.changed = d.c.State()
	d.do(action{verb: create})
	for d.m.state != done {
		var in input
		if d.next(&in) {
			d.feed(&in)
		}
	}
	return d.m.cause
}

// enter notes in the client's values that there is a contender, and returns what ends all
// that is kept for it.
func (d *driver) enter() (leave func()) {
	end := NewStake(d.c, d.Dir, d.m.id, d.k)
	all := neighborhoodsOf(d.c)
	alone := false
	if d.near, alone = all.enter(d.s, d.Dir); !alone {
		d.m.many = math.MaxInt // those of one session need no batons
	}
	d.near.add(d.m.id, d.Mode)
	return func() {
		d.self.end()
		d.ahead.end()
		if d.overdue != nil {
			d.overdue.Stop()
		}
		d.near.depart(d.m.id, unclear)
		all.leave(d.s, d.Dir)
		end()
	}
}

// next waits until something happens, and reports whether the machine is to be told, with
// in.
func (d *driver) next(in *input) bool {
	var snap event.Snapshot
	select {
	case <-d.request.over:
		return d.answered(in)
	case snap = <-d.self.updates():
		d.hear(&snap)
		return false
	case snap = <-d.ahead.updates():
		return d.hearAhead(&snap, in)
	case <-d.ahead.leaves():
		return d.departed(in)
	case <-d.self.done():
		d.self.over = true
		*in = input{kind: quit, err: errors.Unwrap(d.self.Err())}
	case <-d.ahead.done():
		return d.unfollowed(in)
	case answer := <-d.downgrades:
		*in = input{kind: downgradeAsked}
		return d.requestDowngrade(answer)
	case <-d.waited:
		d.waited = nil
		d.follow()
		return false
	case <-d.isOverdue():
		d.follow()
		return false
	case <-d.renewed: // if in vain, the session is over
		d.grant()
		return false
	case <-d.s.Done():
		*in = input{kind: expired} // step finds out why
	case <-d.canceled:
		d.canceled = nil
		*in = input{kind: quit, err: context.Cause(d.ctx)}
		return d.k.GiveUp(in.err)
	case <-d.released:
		d.released = nil
		*in = input{kind: quit, err: coord.ErrReleased}
	}
	return true
}

// feed tells the machine in. Of several cases that are ready the select takes any. What may
// grant the lock must come after what may forbid it.
func (d *driver) feed(in *input) {
	select {
	case snap := <-d.self.updates():
		d.hear(&snap)
	default:
	}
	if d.missedLoss(in.kind) {
		d.step(input{kind: doubt})
	}
	d.step(*in)
	d.answerDowngrades(in.err)
}

// step moves the machine on, does what it says, and tells the owner.
func (d *driver) step(in input) {
	if err := d.s.Err(); err != nil { // goes before all else that is due
		in = input{kind: expired, err: err}
	}
	was := d.m.state
	d.do(d.m.step(in))
	now := d.m.state
	if now != creating {
		d.early = nil
	}
	if was == downgrading && now != was && d.self != nil {
		d.self.end()
		d.self, d.heard = nil, false // it may have had news of the former node, which were ignored
		d.follow()
	}
	d.followLate(was)
	if !d.seen && (now == waiting || now == held) {
		d.seen = true
		d.noteCrowd()
		if now == waiting && d.Blocked != nil {
			d.Blocked()
		}
	}
	if now != waiting {
		d.ahead.end()
		d.ahead = nil
	}
	switch {
	case was == now, now == downgrading:
	case was == downgrading && now == held:
		d.k.Renamed(d.path(d.m.node))
	case now == held:
		d.grant()
	}
	if d.m.cause != nil {
		d.k.End(d.m.cause)
	}
	d.near.depart(d.m.id, d.m.departure(in)) // last: the owner is told before the next may hold
}

// grant tells the owner that it holds the lock, if the machine says so, as soon as
// the session has been renewed. One that has waited for long without a request needs
// that: the event that freed the place is the word of one server.
func (d *driver) grant() {
	if d.renewed = nil; d.m.state != held || d.s.Err() != nil {
		return
	}
	node := d.path(d.m.node)
	if !d.s.Renewed() {
		d.renewed = async.Go(d.c.Kit().Go, func(context.Context) error { return d.s.Renew(background, node) })
		return
	}
	if err := d.k.Acquired(d.s, node, coord.Token(d.m.token)); err != nil {
		d.step(input{kind: quit, err: err})
		return
	}
	d.granted = true
	if d.Granted != nil {
		d.beside = d.Granted(d.s, d.m.node)
	}
}

// do carries out a.
func (d *driver) do(a action) {
	switch a.verb {
	case watch:
		d.ahead.end()
		d.ahead = d.watchAhead(a.node, a.baton)
	case create:
		d.create(a.baton)
	case list:
		d.list(a.sync)
	case equip:
		d.blocking(func() input { return d.equip(a.node) })
	case remove:
		d.remove(a.node, a.baton)
	case replace:
		d.blocking(func() input { return d.replace(a.node) })
	}
}
