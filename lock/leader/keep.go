package leader

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/backoff"
	"github.com/zkcoord/zkcoord/internal/claim"
)

// A Candidacy is a candidate for one term after the other until it resigns. It delivers
// its successive Statuses as an [event.Stream] does, to one receiver. Its methods are safe
// for concurrent use.
type Candidacy struct {
	statuses *event.Stream[Status]

	e      *Election
	value  *claim.Data
	resign context.CancelCauseFunc // asks for the end

	mu   sync.Mutex
	left error // why the last znode could not be removed
}

// A Status says whether a [Candidacy] leads.
type Status struct {
	Leads     bool        // from the beginning of a term until it is lost or given up
	Suspended bool        // the connection is down while it leads, and the term may be lost soon
	Hold      *coord.Hold // the present or the last term; nil before the first
	Token     coord.Token // of that term; greater in each
	Err       error       // if it does not lead: why the last term is over, a [coord.Error]; nil before the first
}

func (s Status) equal(t Status) bool {
	return s.Leads == t.Leads && s.Suspended == t.Suspended && s.Hold == t.Hold && s.Token == t.Token && fmt.Sprint(s.Err) == fmt.Sprint(t.Err)
}

// Keep makes the caller a candidate for one term after the other: again in each new
// session, and whenever a term was lost, until [Candidacy.Resign] is called or the client
// is closed. While it leads, e shows value to the observers: see [Candidacy.Publish].
//
// A term that was revoked is given up as soon as the Status says so. A program that must
// stop something before the next may lead uses [Election.Lead]. To hand the lead on and
// remain a candidate, behind the others, release the Hold in the Status.
//
// Otherwise only the ensemble's refusal ends it, such as [coord.ErrNoAuth], and what ends
// an [Election.Campaign]. The ctx bounds the campaigning: when it has ended, a Candidacy
// that does not lead, then or later, ends with its cause. One that leads goes on. So a
// program that is told to stop by ctx leads while it winds down, and must resign.
func (e *Election) Keep(ctx context.Context, value []byte) *Candidacy {
	resigning, resign := context.WithCancelCause(context.WithoutCancel(ctx))
	k := &Candidacy{e: e, value: newValue(value), resign: resign}
	k.statuses = coord.NewStream(resigning, e.c, "keep", e.dir, func(resigning context.Context, p event.Publisher[Status]) error {
		if err := checkValue(value); err != nil {
			return err
		}
		return k.run(ctx, resigning, p)
	})
	return k
}

// run campaigns until resigning ends, and returns the cause of the end.
func (k *Candidacy) run(ctx, resigning context.Context, p event.Publisher[Status]) error {
	var last Status
	tell := func(now Status) {
		if !now.equal(last) {
			last = now
			p.Publish(now)
		}
	}
	// A term that an operator ends may be ended again and again.
	pause := backoff.Backoff{Min: 10 * time.Millisecond, Max: time.Second}
	for {
		began := time.Now()
		err := k.serve(ctx, resigning, last, tell)
		switch {
		case resigning.Err() != nil:
			return context.Cause(resigning)
		case errors.Is(err, coord.ErrExpired):
			pause.Reset()
		case coord.IsLost(err), errors.Is(err, coord.ErrReleased):
			if time.Since(began) > time.Minute {
				pause.Reset()
			}
			pause.Wait(ctx.Done(), resigning.Done())
		default:
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// serve campaigns for one term, serves it, and returns why it is over.
func (k *Candidacy) serve(ctx, resigning context.Context, last Status, tell func(Status)) error {
	h := k.e.campaign(ctx, "keep", k.value)
	defer context.AfterFunc(resigning, func() { _ = h.Release(resigning) })() // which has ended, so this does not wait
	if h.Wait() == nil {
		k.lead(h, tell)
	}
	err := h.Err()
	select {
	case <-h.Acquired():
		last.Hold, last.Token = h, h.Token()
	default:
	}
	last.Leads, last.Suspended, last.Err = false, false, err
	tell(last)
	err = errors.Unwrap(err)
	left := h.Release(background) // which may be revoked only
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left = errors.Unwrap(left)
	return err
}

// lead tells how the term h stands until it is over.
func (k *Candidacy) lead(h *coord.Hold, tell func(Status)) {
	parent, stop := context.WithCancel(background)
	defer stop()
	over := h.Context(parent)
	for over.Err() == nil {
		state, changed := k.e.c.State()
		tell(Status{Leads: true, Suspended: state != coord.Connected, Hold: h, Token: h.Token()})
		select {
		case <-changed:
		case <-over.Done():
		}
	}
}

// Updates returns the channel on which Statuses arrive: the newest, if it has not been
// received. It is never closed: select on [Candidacy.Done] as well, or range over
// [Candidacy.All].
func (k *Candidacy) Updates() <-chan Status { return k.statuses.Updates() }

// Latest returns the newest Status, received or not, and whether there has been one. There
// is none before the first term, or the first loss of a place in the queue.
func (k *Candidacy) Latest() (Status, bool) { return k.statuses.Latest() }

// All returns the Statuses that arrive until the candidacy has ended for good. It receives
// from the same channel as [Candidacy.Updates].
func (k *Candidacy) All() iter.Seq[Status] { return k.statuses.All() }

// Done returns a channel that is closed when the candidacy has ended for good: it does not
// lead and will not again. [Election.Keep] says when that happens.
func (k *Candidacy) Done() <-chan struct{} { return k.statuses.Done() }

// Err returns nil until Done is closed, and then a [coord.Error] that says why:
// [coord.ErrReleased] after [Candidacy.Resign], [coord.ErrClosed] if the client was closed,
// the cause of the end of the ctx of [Election.Keep], or the ensemble's refusal.
func (k *Candidacy) Err() error { return k.statuses.Err() }

// Publish makes value what is shown to the observers in this term and the next ones, up to
// 64 KiB, and waits until it is announced. While the candidate does not lead it waits,
// perhaps forever: call it with a ctx that ends, or not from a loop that has other things to
// do. If ctx ends first, Publish returns its cause, and the value is still published when
// the candidate leads. If a later Publish overtakes this one, it waits until the later
// value is announced.
//
// It returns [coord.ErrTooLarge] for a larger value; the ensemble's refusal, with which the
// candidate leads all the same; or the end of the candidacy.
func (k *Candidacy) Publish(ctx context.Context, value []byte) error {
	err := checkValue(value)
	if err == nil {
		err = publish(ctx, k.value, value, k.Done())
	}
	switch {
	case err == errOver:
		return k.e.fail("publish", errors.Unwrap(k.Err()))
	case err != nil:
		return k.e.fail("publish", err)
	}
	return nil
}

// Resign ends the candidacy, and the term if there is one, and waits until its znodes are
// gone, or the session is over as far as the client is concerned, with which they go. If
// ctx ends first, Resign returns its cause, and the resigning goes on. It returns the
// ensemble's refusal if the znode in the queue may not be removed and so stays until the
// session ends. It may be called at any time, and again.
func (k *Candidacy) Resign(ctx context.Context) error {
	k.resign(coord.ErrReleased)
	select {
	case <-k.Done():
	default:
		select {
		case <-k.Done():
		case <-ctx.Done():
			return k.e.fail("resign", context.Cause(ctx))
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.left != nil {
		return k.e.fail("resign", k.left)
	}
	return nil
}
