package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/history"
)

// An actor is a goroutine of a client process that does one thing after another.
type actor struct {
	*client
	role    role
	name    string
	session *coord.Client
	store   *storeClient
	rng     *rand.Rand

	op        int64         // the last one
	cycles    int           // that it has done
	proceeded chan struct{} // closed when it has done something since the last fault
	converged chan struct{} // closed when what a follower shows is what is stored
}

// lingers reports whether a goes on when those that change something have stopped: it
// follows them, or is a member.
func (a *actor) lingers() bool {
	return a.role == member || a.role == views || a.role == follows || a.role == sees
}

// act does what the role says until the run is over.
func (a *actor) act() {
	defer a.store.close()
	switch a.role {
	case leads:
		a.lead()
	case member:
		a.belong()
	case views:
		a.view()
	case follows:
		a.follow()
	case sees:
		a.see()
	default:
		a.repeat(map[role]func() bool{
			locker:   a.lock,
			unqueuer: a.unqueue,
			sharer:   a.share,
			permit:   a.permit,
			pair:     a.pair,
			enters:   a.meet,
			modifies: a.modify,
			counts:   a.count,
			works:    a.work,
			sleeper:  a.sleep,
		}[a.role])
	}
}

// repeat does one cycle after the other. A cycle reports whether it did what it wanted.
func (a *actor) repeat(cycle func() bool) {
	for a.working.Err() == nil {
		quiet := a.quiet()
		if cycle() {
			a.done(quiet)
		}
		a.pause(a.working, 200, 1200)
	}
}

// quiet reports whether no more faults come.
func (a *actor) quiet() bool {
	select {
	case <-a.calm:
		return true
	default:
		return false
	}
}

// done says that something was done which began after the last fault, if quiet.
func (a *actor) done(quiet bool) {
	a.cycles++
	if quiet {
		select {
		case <-a.proceeded:
		default:
			close(a.proceeded)
		}
	}
}

// pause waits for a time between from and to, in milliseconds, or until ctx ends.
func (a *actor) pause(ctx context.Context, from, to int) {
	timer := time.NewTimer(time.Duration(from+a.rng.IntN(to-from+1)) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// event returns an event of an operation that begins.
func (a *actor) event(recipe, path string) history.Event {
	a.op++
	return history.Event{Proc: a.name, Op: a.op, Recipe: recipe, Path: path}
}

// now reads the clock of the history.
func (a *actor) now() time.Duration { return history.Uptime() - a.Base }

// note records e as a kind of event.
func (a *actor) note(e history.Event, kind history.Kind, err error) {
	e.Kind = kind
	if err != nil {
		e.Err = err.Error()
	}
	a.record.Record(e)
}

// A holding is a Hold and what the history has of it. Its methods but watch are called by
// the actor.
type holding struct {
	*coord.Hold
	a      *actor
	events []history.Event // one for each thing that it holds

	mu   sync.Mutex
	over bool // its end is recorded
}

// hold asks for something, works when it is held, and releases it. It reports whether it
// was held until the work was done.
func (a *actor) hold(acquire func(context.Context) *coord.Hold, work func(h *holding), events ...history.Event) bool {
	for _, e := range events {
		a.note(e, history.Ask, nil)
	}
	return a.run(acquire(a.working), work, events...)
}

// run does the rest of hold: the events of asking are recorded.
func (a *actor) run(hold *coord.Hold, work func(h *holding), events ...history.Event) bool {
	h := &holding{Hold: hold, a: a, events: events}
	if err := h.Wait(); err != nil || !h.acquired() {
		for _, e := range events {
			a.note(e, history.GaveUp, h.Err())
		}
		_ = h.Release(context.Background()) // it is over, and Done comes soon
		return false
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		h.watch()
	}()
	work(h)
	kept := h.release()
	<-watched
	return kept
}

// acquired records that h is held, if it still is. The process may have been stopped
// since it was.
func (h *holding) acquired() bool {
	at := h.a.now()
	if h.Err() != nil {
		return false
	}
	tokens := h.Tokens()
	for i := range h.events {
		e := &h.events[i]
		e.Token = int64(tokens[i])
		acquired := *e
		acquired.At = at
		h.a.note(acquired, history.Acquired, nil)
	}
	return true
}

// watch records the loss, unless h is released first.
func (h *holding) watch() {
	select {
	case <-h.Lost():
	case <-h.Done(): // which a loss comes before
		select {
		case <-h.Lost():
		default:
			return
		}
	}
	h.end(history.Lost, 0)
}

// end records the end of h, unless that was done, and reports whether it was this one.
func (h *holding) end(kind history.Kind, at time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return false
	}
	h.over = true
	var why error
	if kind == history.Lost {
		why = h.Err()
	}
	for _, e := range h.events {
		e.At = at
		h.a.note(e, kind, why)
	}
	return true
}

// release ends h, and reports whether it was not lost.
func (h *holding) release() bool {
	kept := false
	// The clock is read first: if h is still held afterwards it was held then.
	if at := h.a.now(); h.Err() == nil {
		kept = h.end(history.Release, at)
	} else {
		h.end(history.Lost, 0)
	}
	err := h.Release(context.Background())
	for _, e := range h.events {
		h.a.note(e, history.Released, err)
	}
	return kept
}

// write writes to the store with the token of the i-th thing that h holds, and to ZooKeeper
// with the guard of h.
func (h *holding) write(i int) {
	h.fenced(i)
	h.guarded(i)
}

// operation returns an event of a write under the i-th thing that h holds.
func (h *holding) operation(i int, f string) history.Event {
	held := h.events[i]
	e := h.a.event(held.Recipe, held.Path)
	e.Proc, e.F, e.Token = held.Proc, f, held.Token
	e.Value = fmt.Sprintf("%s %d", e.Proc, e.Op)
	return e
}

func (h *holding) fenced(i int) {
	a, held := h.a, h.events[i]
	e := h.operation(i, history.Fenced)
	a.note(e, history.Call, nil)
	if a.store.write(write{held.Path, coord.Token(held.Token), a.name}) {
		a.note(e, history.OK, nil)
	} else {
		a.note(e, history.Refused, nil)
	}
}

// guarded writes, and returns what is known of it.
func (h *holding) guarded(i int) history.Kind {
	a, held := h.a, h.events[i]
	e := h.operation(i, history.Guarded)
	a.note(e, history.Call, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	results, err := a.session.Txn(ctx, h.Guard(), coord.OpSet(guardedPath(held.Path), []byte(e.Value), -1))
	if err == nil {
		e.Zxid = results[1].Stat.Mzxid
	}
	a.note(e, outcome(err), err)
	return outcome(err)
}

// outcome is what an error of a write says.
func outcome(err error) history.Kind {
	switch {
	case err == nil:
		return history.OK
	case errors.Is(err, coord.ErrUnknown):
		return history.Unknown
	}
	return history.Refused
}
