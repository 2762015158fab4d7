package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
)

// A Entry is what a contender asks for.
type Entry struct {
	Op    string // for errors
	Dir   string // the queue's directory
	Label string // what the others see of the contender
	Try   bool   // leave rather than wait
	mode  mode
}

// Revocation is what Curator writes into the znode of a holder that shall give
// way.
const Revocation = "__REVOKE__"

// maxLabel is the most bytes that a label may have. Everybody who waits reads
// the label of the contender before it.
const maxLabel = 1024

// check reports what is wrong with w.
func (w Entry) check() error {
	switch err := coord.CheckPath(w.Dir); {
	case err != nil:
		return err
	case w.Dir == "/":
		return fmt.Errorf("%w %q: a lock needs a directory of its own", coord.ErrInvalidPath, w.Dir)
	}
	return CheckLabel(w.Label)
}

// CheckLabel reports why label can not be what a contender shows.
func CheckLabel(label string) error {
	switch {
	case len(label) > maxLabel:
		return fmt.Errorf("label of %d bytes: at most %d are allowed", len(label), maxLabel)
	case label == Revocation:
		return fmt.Errorf("label %q: Curator means a revocation by it", label)
	}
	return nil
}

// Enter takes a contender into the queue and returns at once. The Hold is held
// when everyone is gone who was there before. ctx governs the waiting: when it
// ends before, the contender leaves.
func Enter(ctx context.Context, c *coord.Client, w Entry) *coord.Hold { return enter(ctx, c, w, nil) }

// enter does what Enter says, and what those want who send to downgrades.
func enter(ctx context.Context, c *coord.Client, w Entry, downgrades <-chan chan<- error) *coord.Hold {
	return coord.NewHold(ctx, c, w.Op, w.Dir, func(k *coord.Keeper) error {
		if err := w.check(); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		sought, stop := context.WithCancelCause(ctx)
		defer context.AfterFunc(k.Context(), func() { stop(coord.ErrReleased) })()
		s, err := c.Await(sought)
		stop(nil)
		if err != nil {
			return err
		}
		d := &driver{Entry: w, c: c, s: s, k: k, downgrades: downgrades}
		d.m = machine{
			id:     newID(),
			mode:   w.mode,
			try:    w.Try,
			causes: causes{coord.ErrDeleted, coord.ErrRevoked, coord.ErrLocked, coord.ErrExhausted},
		}
		defer Claim(c, w.Dir, d.m.id, k)()
		return d.run(ctx)
	})
}

// A driver feeds one machine with what happens, and does what it says. One
// goroutine owns it, and it alone speaks for the Hold.
type driver struct {
	Entry
	c *coord.Client
	s *coord.Session
	k *coord.Keeper
	m machine

	reply <-chan input // of the one request in flight; an earlier one's answer is void
	self  *watchedNode // our own node, once it has a name
	ahead *watchedNode // the node that watch named

	granted bool         // the Hold is held
	proven  <-chan error // says that the session is proven, while the grant waits for that

	downgrades        <-chan chan<- error // of those who want a downgrade, and where to answer them
	awaitingDowngrade []chan<- error      // the answers that are due when it is done
}

// run takes the contender through the queue, and returns the cause of the end.
func (d *driver) run(sought context.Context) error {
	defer func() {
		d.self.end()
		d.ahead.end()
	}()
	d.do(action{verb: create})
	canceled, released := sought.Done(), d.k.Released()
	for d.m.state != done {
		var in input
		select {
		case in = <-d.reply:
			d.reply = nil
		case snap := <-d.self.updates():
			d.hear(snap)
			continue
		case snap := <-d.ahead.updates():
			if !d.ahead.gone(snap) {
				continue // something was written to it, or the link is down
			}
			in = input{kind: blockerGone}
		case <-d.self.done():
			d.self.over = true
			in = input{kind: quit, err: errors.Unwrap(d.self.Err())}
		case <-d.ahead.done():
			d.ahead.over = true
			if !d.ahead.dir && errors.Is(d.ahead.Err(), zk.ErrNoAuth) {
				d.ahead = d.watchDir(d.ahead.node)
				continue
			}
			in = input{kind: quit, err: errors.Unwrap(d.ahead.Err())}
		case back := <-d.downgrades:
			if !d.requestDowngrade(back) {
				continue
			}
			in = input{kind: downgradeAsked}
		case <-d.proven: // if it says that there can be no proof, the session is over
			d.grant()
			continue
		case <-d.s.Done():
			in = input{kind: expired} // step finds out why
		case <-canceled:
			canceled = nil
			if !d.k.GiveUp(context.Cause(sought)) {
				continue
			}
			in = input{kind: quit, err: context.Cause(sought)}
		case <-released:
			released = nil
			in = input{kind: quit, err: coord.ErrReleased}
		}
		// Of several things that are due the select takes any. What may grant the
		// lock must come after what may forbid it.
		select {
		case snap := <-d.self.updates():
			d.hear(snap)
		default:
		}
		d.step(in)
		d.answerDowngrades(in)
	}
	return d.m.cause
}

// hear tells the machine how our own node is.
func (d *driver) hear(snap event.Snapshot) {
	switch {
	case !snap.Exists, snap.EphemeralOwner != d.s.ID():
		d.step(input{kind: gone})
		return
	case snap.Suspended:
		d.step(input{kind: doubt})
		return
	}
	d.step(input{kind: proof, token: snap.Czxid})
	switch revoked := string(snap.Data) == Revocation; {
	case revoked && !d.granted:
		d.step(input{kind: quit, err: coord.ErrRevoked}) // nobody has to stop first
	case revoked:
		d.step(input{kind: revokeAsked})
	}
}

// step moves the machine on, does what it says, and tells the owner.
func (d *driver) step(in input) {
	if err := d.s.Err(); err != nil { // goes before all else that is due
		in = input{kind: expired, err: err}
	}
	was := d.m.state
	d.do(d.m.step(in))
	now := d.m.state
	if was == downgrading && now != was {
		d.self.end()
		d.self = nil // may have had word of the former node, which was not heeded
	}
	if d.self == nil && d.m.node != "" && now != done {
		d.self = d.watch(d.m.node)
	}
	if now != waiting {
		d.ahead.end()
		d.ahead = nil
	}
	switch {
	case was == now, now == downgrading:
	case was == downgrading && now == held:
		d.k.Moved(d.c.FullPath(d.Dir + "/" + d.m.node))
	case now == held:
		d.grant()
	}
	if d.m.cause != nil {
		d.k.Quit(d.m.cause)
	}
}

// grant tells the owner that it holds the lock, when the machine says so and the
// session is proven. One that has waited for long without a request is not: the
// event that freed the place is the word of one server.
func (d *driver) grant() {
	if d.proven = nil; d.m.state != held || d.s.Err() != nil {
		return
	}
	node := d.c.FullPath(d.Dir + "/" + d.m.node)
	if !d.s.Renewed() {
		proven := make(chan error, 1) // so that the goroutine ends though the driver has gone on
		d.c.Go(func(context.Context) { proven <- d.s.Renew(context.Background(), node) })
		d.proven = proven
		return
	}
	if err := d.k.Acquired(d.s, node, coord.Token(d.m.token)); err != nil {
		d.step(input{kind: quit, err: err})
		return
	}
	d.granted = true
}

// do does o, on a goroutine of its own if it is a request.
func (d *driver) do(o action) {
	var request func() input
	switch o.verb {
	case nothing:
		return
	case watch:
		d.ahead.end()
		d.ahead = d.watch(o.node)
		return
	case create:
		request = d.create
	case list:
		request = func() input { return d.list(o.sync) }
	case remove:
		request = func() input { return d.remove(o.node) }
	case replace:
		request = func() input { return d.replace(o.node) }
	}
	reply := make(chan input, 1) // so that the goroutine ends though the driver has gone on
	d.c.Go(func(context.Context) { reply <- request() })
	d.reply = reply
}
