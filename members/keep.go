package members

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
)

// A Membership is a member that stays announced, until it leaves. It is a stream
// of how it stands: whether it is in or out, and why. The stream's Done closes when
// it is over for good, and Err then says why: see [Group.Keep].
type Membership struct {
	*event.Stream[Status]
	g        *Group
	path     string
	tells    *telling
	joined   chan struct{}           // closed when it has been in
	leave    context.CancelCauseFunc // asks for the end
	leftover error                   // why the znode could not be removed; set before Done closes
}

// A Status is how a [Membership] stands.
type Status struct {
	In    bool        // its znode is there
	Token coord.Token // of the znode that is or was there; each time it joins, it is greater
	Err   error       // if it is not in: why, as in [coord.Hold.Err]; nil before it has joined
}

// Keep announces m, and does so again in each new session and whenever somebody
// deletes its znode, until [Membership.Leave] is called or the client is closed.
//
// If the ID is somebody else's the Membership says that it is out with [ErrTaken],
// and waits until that one is gone: for a live one for ever, for what a program
// left behind that was killed until its session ends. Of two that are kept by one
// client under one ID, the second ends with ErrTaken.
//
// It ends otherwise only if the ensemble refuses it, such as with zk.ErrNoAuth. ctx
// governs the joining, not the staying: when it has ended, a Membership that is
// out, then or later, ends with its cause. So a program that is told to stop by
// ctx stays announced while it winds down, and must leave.
func (g *Group) Keep(ctx context.Context, m Member) *Membership {
	out, p := event.NewStream[Status]()
	ms := &Membership{
		Stream: out,
		g:      g,
		path:   g.path(m.ID),
		tells:  newTelling(bytes.Clone(m.Data)),
		joined: make(chan struct{}),
	}
	var leaving context.Context
	leaving, ms.leave = context.WithCancelCause(context.Background())
	end := func(err error) {
		ms.leave(err)
		p.Close(&coord.Error{Op: "keep", Path: ms.path, Err: err})
	}
	ok := g.c.Go(func(context.Context) {
		err := errors.Join(g.check(m.ID), g.checkData(ms.path, m.Data))
		if err == nil {
			err = g.keep(ctx, leaving, m.ID, ms, p)
		}
		end(err)
	})
	if !ok {
		end(coord.ErrClosed)
	}
	return ms
}

// keep keeps somebody a member, and returns the cause of the end.
func (g *Group) keep(ctx, leaving context.Context, id string, ms *Membership, p event.Publisher[Status]) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(leaving, func() { stop(context.Cause(leaving)) })()
	seat := &seat{leaving.Done(), make(chan struct{})}
	if err := g.sit(ctx, id, seat); err != nil {
		return err
	}
	defer g.rise(id, seat)
	k := &keeping{g: g, id: id, ms: ms, out: p}
	for pause := time.Duration(0); ; {
		began := time.Now()
		switch err := k.once(ctx, leaving); {
		case leaving.Err() != nil:
			return context.Cause(leaving)
		case errors.Is(err, coord.ErrExpired):
			pause = 0
		case errors.Is(err, coord.ErrDeleted):
			// Whoever has deleted it may do so again and again.
			if pause = min(2*pause+10*time.Millisecond, time.Second); time.Since(began) > time.Minute {
				pause = 0
			}
		default:
			return err
		}
		select {
		case <-time.After(pause/2 + rand.N(pause+1)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Joined returns a channel that is closed when the member is in for the first time.
// If it never is, Done closes alone.
func (ms *Membership) Joined() <-chan struct{} { return ms.joined }

// Update has the member tell data from now on, of up to [coord.MaxData] bytes,
// and waits until its znode has them. If it is out it will join with them. If ctx
// ends first, Update returns its cause, and the data will be told all the same; so
// they will if a later Update overtakes this one, which then waits for that. It
// returns the ensemble's refusal, after which the znode has what it had until the
// member joins anew, and the end of the membership.
func (ms *Membership) Update(ctx context.Context, data []byte) error {
	fail := func(err error) error { return &coord.Error{Op: "update", Path: ms.path, Err: err} }
	if err := ms.g.checkData(ms.path, data); err != nil {
		return fail(err)
	}
	gen := ms.tells.put(bytes.Clone(data))
	for {
		settled, moved, err := ms.tells.outcome(gen)
		switch {
		case settled && err != nil:
			return fail(err)
		case settled:
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
// session is over as far as the client is concerned, with which it goes. If ctx
// ends first, Leave returns ctx's cause, and the end comes all the same. It returns
// the ensemble's refusal if the znode may not be removed and so stays until the
// session ends. It may be called at any time, and again.
func (ms *Membership) Leave(ctx context.Context) error {
	ms.leave(coord.ErrReleased)
	select {
	case <-ms.Done():
		return ms.leftover // set before
	default:
	}
	select {
	case <-ms.Done():
		return ms.leftover
	case <-ctx.Done():
		return &coord.Error{Op: "leave", Path: ms.path, Err: context.Cause(ctx)}
	}
}

// A keeping is the goroutine of a Membership, and what it alone owns.
type keeping struct {
	g    *Group
	id   string
	ms   *Membership
	out  event.Publisher[Status]
	last Status
}

// once is a member once, in one session, and returns why no more.
func (k *keeping) once(ctx, leaving context.Context) error {
	taken := make(chan error, 1)
	h := coord.NewHold(ctx, k.g.c, "keep", k.ms.path, func(kp *coord.Keeper) error {
		seeking, stop := seek(ctx, kp)
		defer stop()
		return k.g.stay(seeking, kp, k.id, k.ms.tells, taken, false)
	})
	acquired, lost, leave := h.Acquired(), h.Lost(), leaving.Done()
	for {
		select {
		// Of several that are ready the select takes any. What is no longer so is
		// not to be said after what is.
		case <-acquired:
			acquired = nil
			if h.Err() == nil {
				k.say(Status{In: true, Token: h.Token()})
				k.joined()
			}
		case err := <-taken:
			if h.Token() != 0 || h.Err() != nil {
				continue
			}
			k.say(Status{Token: k.last.Token, Err: &coord.Error{Op: "keep", Path: k.ms.path, Err: err}})
		case <-leave:
			leave = nil
			_ = h.Release(leaving) // which has ended, so this does not wait
		case <-lost:
			lost = nil
			k.say(Status{Token: k.last.Token, Err: h.Err()})
		case <-h.Done():
			k.say(Status{Token: k.last.Token, Err: h.Err()})
			k.ms.leftover = h.Release(context.Background()) // which it is already
			return errors.Unwrap(h.Err())
		}
	}
}

// joined notes that the member is in.
func (k *keeping) joined() {
	select {
	case <-k.ms.joined:
	default:
		close(k.ms.joined)
	}
}

// say publishes how the membership stands, if that is news.
func (k *keeping) say(s Status) {
	if s.In == k.last.In && s.Token == k.last.Token && fmt.Sprint(s.Err) == fmt.Sprint(k.last.Err) {
		return
	}
	k.last = s
	k.out.Publish(s)
}
