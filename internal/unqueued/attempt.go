package unqueued

import (
	"context"
	"errors"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/async"
	"github.com/zkcoord/zkcoord/internal/claim"
	"github.com/zkcoord/zkcoord/internal/queue"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// A stage says where an attempt stands.
type stage uint8

const (
	creating stage = iota // asked for our znodes; whether they are there is not known
	waiting               // another's znode is at the path, and we watch whether it is there
	holding               // the znodes are ours, and we watch the one at the path
	revoked               // as holding, but the owner has been told to stop, and the others wait until it has
	leaving               // asked for the removal of what is ours
	over                  // nothing will be asked any more
)

// An attempt is one Hold of a [Lock], in one session. One goroutine owns it, and it
// alone speaks for the Hold.
type attempt struct {
	Lock
	s      *coord.Session
	k      *coord.Keeper
	try    bool
	znodes *claim.Claim // used by the request in flight

	stage     stage
	token     int64  // of our znodes; zero if they are not there, or not known to be
	seen      bool   // the stream has shown our znode, so its absence there is news
	displaced bool   // the znode at the path is known not to be ours any more
	cause     error  // the first reason to end
	stop      func() // ends stream; may be called again
	stream    *event.Stream[event.Snapshot]
	reply     <-chan answer // of the one request in flight; an earlier one's is void
}

// run makes the attempt, and returns the cause of its end. The ctx bounds the seeking.
func (a *attempt) run(ctx context.Context) error {
	defer func() { a.stop() }()
	a.ask(a.create)
	canceled, released := ctx.Done(), a.k.Released()
	for a.stage != over {
		var updates <-chan event.Snapshot
		var ended <-chan struct{}
		if a.stream != nil {
			updates, ended = a.stream.Updates(), a.stream.Done()
		}
		select {
		case r := <-a.reply:
			a.reply = nil
			a.takeReply(r)
		case snap := <-updates:
			a.takeSnapshot(snap)
		case <-ended:
			a.quit(errors.Unwrap(a.stream.Err()))
		case <-a.s.Done():
		case <-canceled:
			canceled = nil
			if cause := context.Cause(ctx); a.k.GiveUp(cause) {
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

// takeReply takes the answer to the request in flight.
func (a *attempt) takeReply(r answer) {
	switch a.stage {
	case creating:
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
			a.watch(event.Presence)
		}
	case holding, revoked: // asked because a snapshot could not tell
		if r.err != nil {
			a.quit(r.err)
		} else if r.token == a.token {
			a.watch(event.Data)
		} else {
			a.displace()
		}
	case leaving:
		a.stage = over
	}
}

// hold tells the owner that it holds the lock.
func (a *attempt) hold() {
	if err := a.k.Acquired(a.s, zkpath.Rel(a.C.FullPath("/"), a.znodes.Own()), coord.Token(a.token)); err != nil {
		a.quit(err)
		a.leave()
		return
	}
	a.stage = holding
	a.watch(event.Data)
}

// takeSnapshot takes what the stream says of the znode at the path. A stale snapshot,
// while the connection is down, is harmless.
func (a *attempt) takeSnapshot(snap event.Snapshot) {
	switch {
	case a.stage == waiting:
		if !snap.Exists {
			// This stream may not say so again if another comes and goes, so
			// there is a new one if we do not get the lock.
			a.unwatch()
			a.stage = creating
			a.ask(a.create)
		}
	case snap.Exists && snap.Czxid == a.token:
		a.seen = true
		if a.stage == holding && string(snap.Data) == queue.Revocation {
			a.stage, a.cause = revoked, coord.ErrRevoked
			a.k.End(coord.ErrRevoked)
		}
	case a.seen, snap.Czxid > a.token:
		a.displace()
	case !snap.Exists:
		// Ours is gone, or this is from before it came: a stream that others of
		// this client have begun may be that far behind. Asked now, the server
		// knows of our znode, and a new stream starts from there.
		a.ask(a.inspect)
	}
}

// displace notes that the znode at the path is not ours any more.
func (a *attempt) displace() {
	a.displaced = true
	a.quit(coord.ErrDeleted)
}

// quit notes that the attempt is given up because of err.
func (a *attempt) quit(err error) {
	if a.cause == nil {
		a.cause = err
		a.k.End(err)
	}
	switch a.stage {
	case waiting:
		a.stage = over
	case holding, revoked:
		a.leave()
	}
}

// leave removes what is ours.
func (a *attempt) leave() {
	stream, stop := a.stream, a.stop
	a.stream = nil
	if a.token == 0 {
		stop()
		a.stage = over
		return
	}
	a.stage = leaving
	displaced := a.displaced
	a.ask(func() answer {
		if stream != nil {
			// A read that finds the path free leaves a watch behind for the next
			// creation there. So none may be under way when we free it.
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
		return a.remove(displaced)
	})
}

// watch watches what stands at the path, on a new stream.
func (a *attempt) watch(kind event.Kind) {
	a.unwatch()
	ctx, stop := context.WithCancel(background)
	a.stream, a.stop = a.C.Watch(ctx, a.Path, kind), stop
}

// unwatch ends the stream, if there is one.
func (a *attempt) unwatch() {
	a.stop()
	a.stream = nil
}

// ask makes a request, on a goroutine of its own.
func (a *attempt) ask(request func() answer) {
	a.reply = async.Go(a.C.Kit().Go, func(context.Context) answer { return request() })
}
