package semaphore

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/async"
	"github.com/zkcoord/zkcoord/internal/following"
	"github.com/zkcoord/zkcoord/internal/queue"
)

// background is the context of the driver's requests. They end with the session.
var background = context.Background()

// ended is a context that has ended: for what goes on in the background.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(background)
	cancel()
	return ctx
}()

// lateHeld is for how long the lease of a holder need not be followed. Until then it may be
// released, and the watch have been for nothing.
const lateHeld = 50 * time.Millisecond

// revocation is what Curator writes into a znode whose owner shall give way.
const revocation = queue.Revocation

// A driver feeds one machine with what happens, and does what it says. One goroutine owns
// it, and it alone moves the Hold.
type driver struct {
	*Semaphore
	s  *coord.Session
	k  *coord.Keeper
	m  machine
	id string // begins the name of our lease

	ctx                context.Context // bounds the waiting
	canceled, released <-chan struct{} // nil once heard of

	place    *coord.Hold     // in the queue; held when we are at the gate
	arrived  <-chan struct{} // closed when that is; nil once heard of
	behind   <-chan struct{} // of a try: closed when others are before it; nil once heard of
	expelled <-chan struct{} // closed when we are out of the queue; nil once heard of

	reply  <-chan input     // of the one request in flight
	lease  string           // the name of our lease, once known
	last   view             // what was read last
	newest int64            // the last change of the leases in that
	taken  *following.Znode // the directory of the leases, while we wait for one, or for the gate as a try

	overdue *time.Timer      // fires when our lease is to be followed
	self    *following.Znode // our lease, once it is followed

	granted bool         // the Hold is held
	renewed <-chan error // tells that the session has been renewed, while the grant waits for that
}

// reasons are those for which a machine gives up, as the owner is told.
var reasons = causes{coord.ErrDeleted, coord.ErrRevoked, coord.ErrLocked}

// newDriver returns the driver of a contender in the present session.
func newDriver(ctx context.Context, sem *Semaphore, k *coord.Keeper, try bool) (*driver, error) {
	s, err := k.Await(ctx)
	if err != nil {
		return nil, err
	}
	d := &driver{Semaphore: sem, s: s, k: k, id: rand.Text()[:13], ctx: ctx, canceled: ctx.Done(), released: k.Released()}
	d.m = machine{permits: sem.permits, try: try, causes: &reasons}
	return d, nil
}

// run takes the contender through the gate to a permit and back, and returns the cause of
// the end when nothing of it is left.
func (d *driver) run() error {
	defer queue.NewStake(d.c, d.leases(), d.id, d.k)()
	entry := queue.Entry{Op: "acquire", Dir: d.gate(), Label: d.opts.Label}
	if d.m.try {
		behind := make(chan struct{})
		entry.Op, entry.Blocked, d.behind = "tryacquire", func() { close(behind) }, behind
	}
	// Our ctx bounds the waiting for the gate by what we do at its end.
	d.place = queue.Enter(context.WithoutCancel(d.ctx), d.c, entry)
	d.arrived, d.expelled = d.place.Acquired(), d.place.Context(background).Done()
	defer d.end()
	for d.m.state != done {
		var in input
		if d.next(&in) {
			d.step(in)
		}
	}
	return d.m.cause
}

// end waits until our place in the queue is free, and says what may be left.
func (d *driver) end() {
	d.taken.End()
	d.self.End()
	if d.overdue != nil {
		d.overdue.Stop()
	}
	if err := d.place.Release(background); err != nil {
		d.k.NotRemoved(errors.Unwrap(err))
	}
	if d.m.left != nil {
		d.k.NotRemoved(d.m.left)
	}
}

// next waits until something happens, and reports whether the machine is to be told, with
// in.
func (d *driver) next(in *input) bool {
	var snap event.Snapshot
	select {
	case *in = <-d.reply:
		d.reply = nil
	case <-d.arrived:
		d.arrived = nil
		*in = input{kind: entered}
	case <-d.behind:
		d.behind = nil
		*in = input{kind: blocked}
	case <-d.expelled:
		d.expelled = nil
		*in = input{kind: gateLost, err: errors.Unwrap(d.place.Err())}
	case snap = <-d.changes():
		return d.hearLeases(&snap, in)
	case <-d.taken.Done():
		*in = input{kind: quit, err: errors.Unwrap(d.taken.Err())}
		d.taken = nil
	case snap = <-d.self.Updates():
		return d.hear(&snap, in)
	case <-d.self.Done():
		*in = input{kind: quit, err: errors.Unwrap(d.self.Err())}
		d.self = nil
	case <-d.isOverdue():
		d.self = following.Begin(d.c.Kit().WatchUntilDeleted, d.path())
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

// step moves the machine on, tells the owner, and does what the machine says.
func (d *driver) step(in input) {
	if err := d.s.Err(); err != nil { // goes before all else that is due
		in = input{kind: expired, err: err}
	}
	was := d.m.state
	a := d.m.step(in)
	now := d.m.state
	if d.m.cause != nil {
		d.k.End(d.m.cause)
	}
	if now > waiting {
		d.taken.End()
		d.taken = nil
	}
	if now == held && was != now {
		d.grant()
	}
	if was.atGate() && !d.m.state.atGate() {
		d.expelled = nil
		_ = d.place.Release(ended) // goes on in the background
	}
	d.do(a)
}

// grant tells the owner that it holds a permit, if the machine says so, as soon as the
// session has been renewed.
func (d *driver) grant() {
	if d.renewed = nil; d.m.state != held || d.s.Err() != nil {
		return
	}
	if !d.s.Renewed() {
		d.renewed = async.Go(d.c.Kit().Go, func(context.Context) error { return d.s.Renew(background, d.path()) })
		return
	}
	if err := d.k.Acquired(d.s, d.path(), coord.Token(d.m.token)); err != nil {
		d.step(input{kind: quit, err: err})
		return
	}
	d.granted = true
	d.overdue = time.NewTimer(lateHeld)
}

// do carries out a, elsewhere if it is a request.
func (d *driver) do(a action) {
	var request func() input
	switch a.verb {
	case nothing:
		return
	case follow:
		if d.taken == nil {
			d.taken = following.Begin(d.watchChildren, d.leases())
		}
		return
	case read:
		request = d.read
	case create:
		request = func() input { return d.create(a) }
	case look:
		request = d.look
	case remove:
		request = d.remove
	}
	d.reply = async.Go(d.c.Kit().Go, func(context.Context) input { return request() })
}
