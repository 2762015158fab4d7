package members

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/backoff"
	"github.com/zkcoord/zkcoord/internal/claim"
)

// A Membership is a member that stays announced until it leaves. It delivers its
// successive Statuses as an [event.Stream] does, to one receiver. Its methods are safe for
// concurrent use.
type Membership struct {
	statuses *event.Stream[Status]

	g      *Group
	id     string
	data   *claim.Data
	joined chan struct{}           // closed when it has been in
	leave  context.CancelCauseFunc // asks for the end
	left   error                   // why the znode could not be removed; set before Done closes
}

// A Status says whether the member of a [Membership] is in.
type Status struct {
	In        bool        // its znode is there
	Suspended bool        // the connection is down, and In is what was last known
	Token     coord.Token // of the znode that is or was there; greater each time it joins
	Err       error       // if it is not in: why, a [coord.Error]; nil before it has joined
}

func (s Status) equal(t Status) bool {
	return s.In == t.In && s.Suspended == t.Suspended && s.Token == t.Token && fmt.Sprint(s.Err) == fmt.Sprint(t.Err)
}

// Keep announces m, and again in each new session and whenever somebody deletes its
// znode, until [Membership.Leave] is called or the client is closed.
//
// If the ID is taken, the Membership is out with [ErrTaken] and waits until the ID is
// free: as long as a live owner keeps it, or until the session of a killed process ends.
// Of two that one client keeps under one ID, the second ends with ErrTaken.
//
// Otherwise only ZooKeeper's refusal ends it, such as [coord.ErrNoAuth]. The ctx bounds
// the joining: when it has ended, a Membership that is out, then or later, ends with its
// cause. One that is in stays in. So a program that is told to stop by ctx stays
// announced while it winds down, and must leave.
func (g *Group) Keep(ctx context.Context, m Member) *Membership {
	m.Data = bytes.Clone(m.Data)
	leaving, leave := context.WithCancelCause(context.WithoutCancel(ctx))
	ms := &Membership{
		g:      g,
		id:     m.ID,
		data:   claim.NewData(m.Data),
		joined: make(chan struct{}),
		leave:  leave,
	}
	ms.statuses = coord.NewStream(leaving, g.c, "keep", g.path(m.ID), func(leaving context.Context, p event.Publisher[Status]) error {
		if err := errors.Join(g.check(m.ID), g.checkData(m.ID, m.Data)); err != nil {
			return err
		}
		return ms.keep(ctx, leaving, p)
	})
	return ms
}

// keep keeps the member in until leaving ends, and returns the cause of the end.
func (ms *Membership) keep(ctx, leaving context.Context, p event.Publisher[Status]) error {
	release, err := ms.g.reserve(ctx, ms.id, leaving)
	if err != nil {
		return err
	}
	defer release()
	var last Status
	publish := func(s claim.Status) {
		now := Status{In: s.Held, Suspended: s.Suspended, Token: max(s.Token, last.Token)}
		if s.Err != nil {
			now.Err = &coord.Error{Op: "keep", Path: ms.g.path(ms.id), Err: s.Err}
		}
		if now.equal(last) {
			return
		}
		last = now
		p.Publish(now)
		if now.In && !ms.hasJoined() {
			close(ms.joined)
		}
	}
	// A znode that was deleted by hand may be deleted again and again.
	pause := backoff.Backoff{Min: 10 * time.Millisecond, Max: time.Second}
	for {
		began := time.Now()
		err := ms.stay(ctx, leaving, publish)
		switch {
		case leaving.Err() != nil:
			return context.Cause(leaving)
		case errors.Is(err, coord.ErrExpired):
			pause.Reset()
		case errors.Is(err, coord.ErrDeleted):
			if time.Since(began) > time.Minute {
				pause.Reset()
			}
			pause.Wait(ctx.Done(), leaving.Done())
		default:
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// stay is a member once, in one session, and returns why it no longer is.
//
// It does so by a Hold, for what that does to the session: while there is one the client
// looks for a server that has not lost the others, and gives up a session for whose life
// there is no proof.
func (ms *Membership) stay(ctx, leaving context.Context, status func(claim.Status)) error {
	h := ms.g.c.Kit().NewHold(ctx, "keep", ms.g.path(ms.id), func(k *coord.Keeper) error {
		return ms.g.claim(ctx, k, claim.Claim{Path: ms.g.path(ms.id), Data: ms.data, Wait: true, Status: status}, ms.id)
	})
	defer context.AfterFunc(leaving, func() { _ = h.Release(leaving) })() // which has ended, so this does not wait
	<-h.Done()
	ms.left = errors.Unwrap(h.Release(leaving)) // which it is already
	return errors.Unwrap(h.Err())
}

// Updates returns the channel on which Statuses arrive: the newest, if it has not been
// received. It is never closed: select on [Membership.Done] as well, or range over
// [Membership.All].
func (ms *Membership) Updates() <-chan Status { return ms.statuses.Updates() }

// Latest returns the newest Status, received or not, and whether there has been one.
func (ms *Membership) Latest() (Status, bool) { return ms.statuses.Latest() }

// All returns the Statuses that arrive until the membership has ended for good. It
// receives from the same channel as [Membership.Updates].
func (ms *Membership) All() iter.Seq[Status] { return ms.statuses.All() }

// Done returns a channel that is closed when the membership has ended for good: the
// member is out and will not join again. [Group.Keep] says when that happens.
func (ms *Membership) Done() <-chan struct{} { return ms.statuses.Done() }

// Err returns nil until Done is closed, and then a [coord.Error] that says why:
// [coord.ErrReleased] after [Membership.Leave], [coord.ErrClosed] if the client was
// closed, the cause of the end of the ctx of [Group.Keep], [ErrTaken], or ZooKeeper's
// refusal.
func (ms *Membership) Err() error { return ms.statuses.Err() }

// Joined returns a channel that is closed when the member is in for the first time. If
// it never is, the channel stays open, and Done closes.
func (ms *Membership) Joined() <-chan struct{} { return ms.joined }

func (ms *Membership) hasJoined() bool {
	select {
	case <-ms.joined:
		return true
	default:
		return false
	}
}

// SetData makes data what the member says of itself, up to 992 KiB, and waits until its
// znode has them. While the connection is down, and while the member is out, it waits,
// perhaps for as long as the ID is taken: call it with a ctx that ends, or not from a
// loop that has other things to do. If ctx ends first, SetData returns its cause, and the
// data are still written, when the member is in again. If a later SetData overtakes this
// one, it waits until the later data are written.
//
// SetData returns [coord.ErrTooLarge] for more; or ZooKeeper's refusal, after which the znode keeps what it
// had until the member joins again; or the end of the membership.
func (ms *Membership) SetData(ctx context.Context, data []byte) error {
	fail := func(err error) error { return &coord.Error{Op: "setdata", Path: ms.g.path(ms.id), Err: err} }
	if err := ms.g.checkData(ms.id, data); err != nil {
		return fail(err)
	}
	gen := ms.data.Set(bytes.Clone(data))
	for {
		decided, moved, err := ms.data.Outcome(gen)
		switch {
		case decided && err != nil:
			return fail(err)
		case decided:
			return nil
		}
		select {
		case <-moved:
		case <-ms.Done():
			return fail(errors.Unwrap(ms.Err()))
		case <-ctx.Done():
			return fail(context.Cause(ctx))
		}
	}
}

// Leave ends the membership, in or out, and waits until its znode is gone, or the
// session is over as far as the client is concerned, with which the znode goes. If ctx
// ends first, Leave returns its cause, and the leaving goes on. It returns ZooKeeper's
// refusal if the znode may not be removed and so stays until the session ends. It may be
// called at any time, and again.
func (ms *Membership) Leave(ctx context.Context) error {
	fail := func(err error) error { return &coord.Error{Op: "leave", Path: ms.g.path(ms.id), Err: err} }
	ms.leave(coord.ErrReleased)
	select {
	case <-ms.Done():
	default:
		select {
		case <-ms.Done():
		case <-ctx.Done():
			return fail(context.Cause(ctx))
		}
	}
	if ms.left != nil {
		return fail(ms.left)
	}
	return nil
}
