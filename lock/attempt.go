package lock

import (
	"context"
	"errors"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/claim"
	"github.com/zkcoord/zkcoord/internal/queue"
)

// A stage says where an attempt to hold an [Unqueued] stands.
type stage uint8

const (
	taking  stage = iota // asked for our znodes; whether they are there is not known
	waiting              // another's znode is at the path, and we follow whether it is there
	holding              // the znodes are ours, and we follow the one at the path
	revoked              // as holding, but the owner has been told to stop, and the others wait until it has
	leaving              // asked for the removal of what is ours
	over                 // nothing will be asked any more
)

// An attempt is one Hold of an [Unqueued], in one session. One goroutine owns
// it, and it alone speaks for the Hold.
type attempt struct {
	*Unqueued
	s      *coord.Session
	k      *coord.Keeper
	try    bool
	znodes *claim.Claim // used by the request in flight

	stage  stage
	token  int64  // of our znodes; zero if they are not there, or not known to be
	proven bool   // the stream has shown our znode, so its absence there is news
	robbed bool   // the znode at the path is known not to be ours any more
	cause  error  // the first reason to end
	stop   func() // ends stream; may be called again
	stream *event.Stream[event.Snapshot]
	reply  <-chan answer // of the one request in flight; an earlier one's is void
}

func (u *Unqueued) enter(ctx context.Context, op string, try bool) *coord.Hold {
	return coord.NewHold(ctx, u.c, op, u.name, func(k *coord.Keeper) error {
		if err := u.check(); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		sought, stop := context.WithCancelCause(ctx)
		defer context.AfterFunc(k.Context(), func() { stop(coord.ErrReleased) })()
		s, err := u.c.Await(sought)
		stop(nil)
		if err != nil {
			return err
		}
		a := &attempt{Unqueued: u, s: s, k: k, try: try, znodes: u.claim(s), stop: func() {}}
		defer queue.Claim(u.c, u.name, "", k)()
		return a.run(ctx)
	})
}

// run makes the attempt, and returns the cause of its end.
func (a *attempt) run(sought context.Context) error {
	defer func() { a.stop() }()
	a.ask(a.take)
	canceled, released := sought.Done(), a.k.Released()
	for a.stage != over {
		var updates <-chan event.Snapshot
		var ended <-chan struct{}
		if a.stream != nil {
			updates, ended = a.stream.Updates(), a.stream.Done()
		}
		select {
		case r := <-a.reply:
			a.reply = nil
			a.hear(r)
		case snap := <-updates:
			a.see(snap)
		case <-ended:
			a.quit(errors.Unwrap(a.stream.Err()))
		case <-a.s.Done():
		case <-canceled:
			canceled = nil
			if cause := context.Cause(sought); a.k.GiveUp(cause) {
				a.quit(cause)
			}
		case <-released:
			released = nil
			a.quit(coord.ErrReleased)
		}
		if a.stage != over && a.s.Err() != nil { // goes before all else that is due
			return a.s.Err()
		}
	}
	return a.cause
}

// hear takes the answer to the request in flight.
func (a *attempt) hear(r answer) {
	switch a.stage {
	case taking:
		a.token = r.token
		switch {
		case r.err != nil:
			a.quit(r.err)
			a.leave()
		case a.cause != nil:
			a.leave()
		case r.token != 0:
			a.hold()
		case a.try:
			a.quit(coord.ErrLocked)
			a.leave()
		default:
			a.stage = waiting
			a.follow(event.Presence)
		}
	case holding, revoked: // asked because of what see could not tell
		if r.err != nil {
			a.quit(r.err)
		} else if r.token == a.token {
			a.follow(event.Data)
		} else {
			a.rob()
		}
	case leaving:
		a.stage = over
	}
}

// hold tells the owner that it holds the lock.
func (a *attempt) hold() {
	if err := a.k.Acquired(a.s, a.znodes.Own(), coord.Token(a.token)); err != nil {
		a.quit(err)
		a.leave()
		return
	}
	a.stage = holding
	a.follow(event.Data)
}

// see takes word of the znode at the path. While the link is down that is what
// was last known, of which no harm comes.
func (a *attempt) see(snap event.Snapshot) {
	switch {
	case a.stage == waiting:
		if !snap.Exists {
			// This stream may not say so again if another comes and goes, so
			// there is a new one if we do not get the lock.
			a.unfollow()
			a.stage = taking
			a.ask(a.take)
		}
	case snap.Exists && snap.Czxid == a.token:
		a.proven = true
		if a.stage == holding && string(snap.Data) == queue.Revocation {
			a.stage, a.cause = revoked, coord.ErrRevoked
			a.k.Quit(coord.ErrRevoked)
		}
	case a.proven, snap.Czxid > a.token:
		a.rob()
	case !snap.Exists:
		// Ours is gone, or this is from before it came: a stream that others of
		// this client have begun may be that far behind. Asked now, the server
		// knows of our znode, and a new stream starts from there.
		a.ask(a.inspect)
	}
}

// rob notes that the znode at the path is not ours any more.
func (a *attempt) rob() {
	a.robbed = true
	a.quit(coord.ErrDeleted)
}

// quit notes that the attempt is given up because of err.
func (a *attempt) quit(err error) {
	if a.cause == nil {
		a.cause = err
		a.k.Quit(err)
	}
	switch a.stage {
	case waiting:
		a.stage = over
	case holding, revoked:
		a.leave()
	}
}

// leave has removed what is ours.
func (a *attempt) leave() {
	stream, stop := a.stream, a.stop
	a.stream = nil
	if a.token == 0 {
		stop()
		a.stage = over
		return
	}
	a.stage = leaving
	robbed := a.robbed
	a.ask(func() answer {
		if stream != nil {
			// A read that finds the path free leaves a watch behind for the next
			// creation there. So none is to be on its way when we free it.
			if _, any := stream.Latest(); !any {
				select {
				case <-stream.Updates():
				case <-stream.Done():
				case <-a.s.Done():
				}
			}
			stop()
			<-stream.Done()
		}
		return a.remove(robbed)
	})
}

// follow has what stands at the path followed, on a new stream.
func (a *attempt) follow(kind event.Kind) {
	a.unfollow()
	ctx, stop := context.WithCancel(background)
	a.stream, a.stop = a.c.Watch(ctx, a.name, kind), stop
}

// unfollow ends the stream, if there is one.
func (a *attempt) unfollow() {
	a.stop()
	a.stream = nil
}

// ask makes a request, on a goroutine of its own.
func (a *attempt) ask(request func() answer) {
	reply := make(chan answer, 1) // so that the goroutine ends though a has gone on
	a.c.Go(func(context.Context) { reply <- request() })
	a.reply = reply
}
