package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/history"
)

// An actor does the operation of one line, on a goroutine of its own.
type actor struct {
	*client
	Line
	ctx context.Context // ends with the world
	op  int64           // the number of the operation, from which those of its parts follow
	n   int64           // parts so far
}

// opsPerLine is how many numbers of operations each line has.
const opsPerLine = 1000

// next returns the number of the next part of the operation.
func (a *actor) next() int64 {
	a.n++
	return a.op + a.n
}

// id is a name for what the operation makes.
func (a *actor) id() string { return fmt.Sprintf("%s.%d", a.name, a.op/opsPerLine) }

// record puts an event into the history.
func (a *actor) record(e history.Event) {
	e.Proc = a.name
	a.w.rec.Record(e)
}

// call records an operation around f, which does it and completes what is recorded of
// its end.
func (a *actor) call(e history.Event, f func(ctx context.Context, end *history.Event) error) error {
	ctx, cancel := context.WithTimeout(a.ctx, patience)
	defer cancel()
	e.Op, e.Kind = a.next(), history.Call
	a.record(e)
	end := history.Event{Op: e.Op, Kind: history.OK}
	err := f(ctx, &end)
	switch {
	case errors.Is(err, coord.ErrUnknown):
		end.Kind = history.Unknown
	case err != nil:
		end.Kind = history.Refused
	}
	if err != nil {
		end.Err = err.Error()
		a.expect(err, coord.ErrUnknown, coord.ErrNotHeld, context.DeadlineExceeded)
	}
	a.record(end)
	return err
}

// expect notes a violation if err is none that the operation may end with.
func (a *actor) expect(err error, more ...error) {
	if err == nil || a.ctx.Err() != nil {
		return
	}
	more = append(more, coord.ErrExpired, coord.ErrDeleted)
	a.w.mu.Lock()
	if a.w.everDenied {
		more = append(more, coord.ErrNoAuth)
	}
	if a.w.filled {
		more = append(more, coord.ErrExhausted)
	}
	a.w.mu.Unlock()
	for _, target := range more {
		if errors.Is(err, target) {
			return
		}
	}
	a.w.violate("unexpected error", "%s: %v", a.Line, err)
}

// A stake is what an actor asks for and holds.
type stake struct {
	recipe, f string
	paths     []string      // one for each token
	n         int           // permits, or the size of a barrier
	wait      time.Duration // for how long; zero means for as long as it takes
	writes    bool          // what is held protects stores
	halfway   func(h *coord.Hold)
	inForce   func() int // how many permits there are, instead of n, when it is acquired
	refusals  []error    // with which the wait may end, besides those of all
}

// each records an event for each path.
func (a *actor) each(x *stake, first int64, e history.Event, tokens ...coord.Token) {
	e.Recipe, e.F, e.N = x.recipe, x.f, x.n
	for i, path := range x.paths {
		e.Op, e.Path = first+int64(i), path
		if len(tokens) > 0 {
			e.Token = int64(tokens[i])
		}
		a.record(e)
	}
}

// hold acquires something, holds it for a while, and gives it back.
func (a *actor) hold(d time.Duration, x *stake, acquire func(ctx context.Context) *coord.Hold) {
	ctx := a.ctx
	if x.wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, x.wait)
		defer cancel()
		x.refusals = append(x.refusals, context.DeadlineExceeded)
	}
	first := a.op + a.n + 1
	a.n += int64(len(x.paths))
	a.each(x, first, history.Event{Kind: history.Ask})
	h := acquire(ctx)
	err := h.Wait()
	a.still()
	if err != nil && h.Token() == 0 {
		a.each(x, first, history.Event{Kind: history.GaveUp, Err: err.Error()})
		a.expect(err, x.refusals...)
		a.litter(h.Release(a.ctx)) // which waits until nothing is left of it, if that may be removed
		return
	}
	if x.inForce != nil {
		x.n = x.inForce()
	}
	a.each(x, first, history.Event{Kind: history.Acquired}, h.Tokens()...)
	a.keep(d, x, first, h)
}

// keep holds h, which is held, for a while.
func (a *actor) keep(d time.Duration, x *stake, first int64, h *coord.Hold) {
	lost, over := make(chan struct{}), make(chan struct{})
	go func() {
		select {
		case <-h.Lost():
			a.still()
			a.w.deafness()
			a.each(x, first, history.Event{Kind: history.Lost, Err: h.Err().Error()}, h.Tokens()...)
			close(lost)
		case <-over:
		}
	}()
	a.work(d, x, h)
	close(over)
	select {
	case <-h.Lost():
		<-lost
		a.expect(h.Err())
	default:
		a.each(x, first, history.Event{Kind: history.Release}, h.Tokens()...)
	}
	released := history.Event{Kind: history.Released}
	session := a.Kit().Session()
	err := h.Release(a.ctx)
	switch {
	case err == nil && session.Err() != nil:
		// It has left with its session, and the release does not say whether the others of
		// a barrier's round have.
		released.Err = session.Err().Error()
	case err != nil:
		released.Err = err.Error()
		a.expect(err)
		a.litter(err)
	}
	a.each(x, first, released)
}

// litter has an operator end the session if something of it could not be removed, and is
// in the way of others.
func (a *actor) litter(err error) {
	if errors.Is(err, coord.ErrNoAuth) {
		f := history.Event{Proc: "operator", F: history.Expire, Value: a.name, Op: a.next()}
		for _, f.Kind = range []history.Kind{history.Fault, history.Healed} {
			a.w.rec.Record(f)
		}
		a.w.Fake.Expire(a.Kit().Session().ID())
	}
}

// works is how often a holder writes.
const works = 3

// work writes to what h protects, now and then, until h is lost or the time is over.
func (a *actor) work(d time.Duration, x *stake, h *coord.Hold) {
	for i := range works {
		stood := a.sleep(d/works, h.Lost())
		lost := h.Err() != nil
		if lost && !stood {
			return
		}
		if x.writes && (i == 0 || x.halfway == nil) {
			// Who has stood still writes before it looks. It may take long, so that the
			// loss comes meanwhile.
			a.write(x, h)
		}
		if lost {
			return
		}
		if i == works/2 && x.halfway != nil {
			x.halfway(h)
		}
	}
}

// sleep waits for d, or until stop is closed or the script is at its end, and then for the
// program to go on, if it stands still. It reports whether it did.
func (a *actor) sleep(d time.Duration, stop <-chan struct{}) (stood bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-stop:
	case <-a.w.over:
	}
	return a.still()
}

// write writes to both stores that x protects: one that compares tokens, and the ensemble,
// with a guard.
func (a *actor) write(x *stake, h *coord.Hold) {
	path := x.paths[0]
	token := h.Tokens()[0]
	op := a.next()
	e := history.Event{Op: op, Kind: history.Call, F: history.Fenced, Recipe: x.recipe, Path: path, Token: int64(token), Value: a.id()}
	a.record(e)
	if e.Kind = history.Refused; a.w.fenced(path, token) {
		e.Kind = history.OK
	}
	a.record(e)
	a.guarded(x, h, token)
}

func (a *actor) guarded(x *stake, h *coord.Hold, token coord.Token) {
	e := history.Event{F: history.Guarded, Recipe: x.recipe, Path: x.paths[0], Token: int64(token), Value: a.id()}
	_ = a.call(e, func(ctx context.Context, end *history.Event) error {
		ops := []coord.Op{h.Guard(), coord.OpSet(stored(x.paths[0]), fmt.Append(nil, token), -1)}
		if a.w.plant.NoGuard {
			ops = ops[1:]
		}
		results, err := a.Txn(ctx, ops...)
		if err == nil {
			end.Zxid = results[len(results)-1].Stat.Mzxid
		}
		return err
	})
}
