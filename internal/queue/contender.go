package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/async"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// An Entry is what a contender enters the queue with.
type Entry struct {
	Op    string // for errors
	Dir   string // the queue's directory
	Label string // what the others see of the contender
	Mode  Mode   // what it asks for
	Try   bool   // leave rather than wait
}

// Revocation is what Curator writes into the znode of a holder that shall give
// way.
const Revocation = "__REVOKE__"

// maxLabel is the most bytes that a label may have. Each waiter reads the label of
// the contender before it.
const maxLabel = 1024

// check reports what is wrong with e.
func (e Entry) check() error {
	switch err := zkpath.Check(e.Dir); {
	case err != nil:
		return err
	case e.Dir == "/":
		return fmt.Errorf("%w %q: a lock needs a directory of its own", coord.ErrInvalidPath, e.Dir)
	}
	return CheckLabel(e.Label)
}

// CheckLabel reports why label cannot be what a contender shows.
func CheckLabel(label string) error {
	switch {
	case len(label) > maxLabel:
		return fmt.Errorf("%w: label of %d bytes: at most %d are allowed", coord.ErrTooLarge, len(label), maxLabel)
	case label == Revocation:
		return fmt.Errorf("label %q: Curator means a revocation by it", label)
	}
	return nil
}

// Enter takes a contender into the queue and returns at once. The Hold is held
// when all those before it that block it are gone. ctx bounds the waiting: if it
// ends before, the contender leaves.
func Enter(ctx context.Context, c *coord.Client, e Entry) *coord.Hold {
	var downgrades chan chan<- error
	if e.Mode == Write {
		downgrades = make(chan chan<- error)
	}
	h := c.Kit().NewHold(ctx, e.Op, e.Dir, func(k *coord.Keeper) error {
		if err := e.check(); err != nil {
			return err
		}
		s, err := k.Await(ctx)
		if err != nil {
			return err
		}
		d := &driver{Entry: e, c: c, s: s, k: k, downgrades: downgrades}
		d.m = machine{
			id:     newID(),
			mode:   e.Mode,
			try:    e.Try,
			causes: &reasons,
		}
		if e.Mode != Read && !e.Try && crowdsOf(c).get(e.Dir).batons() {
			d.m.id += batonMark
		}
		defer NewStake(c, e.Dir, d.m.id, k)()
		d.near = neighborhoodsOf(c).enter(s, e.Dir)
		defer neighborhoodsOf(c).leave(s, e.Dir)
		d.near.add(d.m.id, e.Mode)
		defer d.near.depart(d.m.id, unclear)
		return d.run(ctx)
	})
	if downgrades != nil {
		writer{e.Dir, downgrades}.register(c, h)
	}
	return h
}

// reasons are those for which a machine gives up, as the owner is told.
var reasons = causes{coord.ErrDeleted, coord.ErrRevoked, coord.ErrLocked, coord.ErrExhausted}

// A driver feeds one machine with what happens, and does what it says. One
// goroutine owns it, and it alone moves the Hold.
type driver struct {
	Entry
	c *coord.Client
	s *coord.Session
	k *coord.Keeper
	m machine

	near    *neighborhood
	request request  // the one in flight; an earlier one's answer is void
	early   *reading // begun together with the create in flight

	self  *watchedNode // our own node, once it is followed
	heard bool         // self has told of our node
	ahead *watchedNode // the node that watch named

	changed <-chan struct{} // closed once the connection has been lost since our node was asked for

	seen    bool        // we know how many were before us when we came
	overdue *time.Timer // fires when our own node is to be followed; nil before it has a name

	granted bool         // the Hold is held
	renewed <-chan error // tells that the session has been renewed, while the grant waits for that

	downgrades        <-chan chan<- error // requests for a downgrade: where to answer them
	awaitingDowngrade []chan<- error      // the answers that are due when it is done
}

// run takes the contender through the queue, and returns the cause of the end. The
// ctx bounds the waiting.
func (d *driver) run(ctx context.Context) error {
	defer func() {
		d.self.end()
		d.ahead.end()
		if d.overdue != nil {
			d.overdue.Stop()
		}
	}()
	_, d.changed = d.c.State()
	d.do(action{verb: create})
	canceled, released := ctx.Done(), d.k.Released()
	for d.m.state != done {
		var in input
		select {
		case <-d.request.over:
			var ok bool
			if in, ok = d.answered(); !ok {
				continue
			}
		case snap := <-d.self.updates():
			d.hear(snap)
			continue
		case snap := <-d.ahead.updates():
			switch {
			case d.ahead.baton && !snap.Exists && snap.Version == 0:
				// It was not passed on, or never there. The node itself has the last word.
				d.ahead.end()
				d.ahead = d.watch(d.ahead.node)
				continue
			case d.ahead.baton && !snap.Exists:
				in = input{kind: passed}
			case d.ahead.gone(snap):
				in = input{kind: blockerGone}
			case snap.Suspended && !d.heard:
				in = input{kind: doubt} // or else the watch on our own node tells
			default:
				continue // something was written to it
			}
		case <-d.self.done():
			d.self.over = true
			in = input{kind: quit, err: errors.Unwrap(d.self.Err())}
		case <-d.ahead.departed():
			switch d.ahead.how {
			case emptied:
				in = input{kind: passed}
			case vacated:
				in = input{kind: blockerGone}
			default: // the ensemble has to say
				d.ahead = d.watch(d.ahead.node)
				continue
			}
		case <-d.ahead.done():
			d.ahead.over = true
			if d.ahead.baton {
				d.ahead = d.watch(d.ahead.node) // it may not be read
				continue
			}
			if !d.ahead.inDir && errors.Is(d.ahead.Err(), coord.ErrNoAuth) {
				d.ahead = d.watchDir(d.ahead.node)
				continue
			}
			in = input{kind: quit, err: errors.Unwrap(d.ahead.Err())}
		case answer := <-d.downgrades:
			if !d.requestDowngrade(answer) {
				continue
			}
			in = input{kind: downgradeAsked}
		case <-d.isOverdue():
			d.follow()
			continue
		case <-d.renewed: // if in vain, the session is over
			d.grant()
			continue
		case <-d.s.Done():
			in = input{kind: expired} // step finds out why
		case <-canceled:
			canceled = nil
			if !d.k.GiveUp(context.Cause(ctx)) {
				continue
			}
			in = input{kind: quit, err: context.Cause(ctx)}
		case <-released:
			released = nil
			in = input{kind: quit, err: coord.ErrReleased}
		}
		// Of several cases that are ready the select takes any. What may grant the
		// lock must come after what may forbid it.
		select {
		case snap := <-d.self.updates():
			d.hear(snap)
		default:
		}
		if d.missedLoss(in) {
			d.step(input{kind: doubt})
		}
		d.step(in)
		d.answerDowngrades(in)
	}
	return d.m.cause
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
	case remove:
		d.remove(a.node, a.baton)
	case replace:
		d.blocking(func() input { return d.replace(a.node) })
	}
}
