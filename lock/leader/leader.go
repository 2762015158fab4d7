package leader

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/claim"
	"github.com/zkcoord/zkcoord/internal/queue"
)

var (
	// ErrNested ends a Campaign whose ctx comes from the [coord.Hold.Context] of a term of
	// the same election, by the same client, or from Lead: the caller would wait for
	// itself. Package lock has the same error.
	ErrNested = queue.ErrNested

	// ErrNoTerm is the answer to a Publish with a Hold that is no term of the election.
	ErrNoTerm = errors.New("leader: not a term of this election")
)

// maxValue is the most bytes that a value may have. Each observer reads it at each change.
const maxValue = 64 << 10

// An Election decides which of its candidates leads.
//
// An Election must come from [New]. It is only a name and may be shared: every call that
// makes a candidate makes one of its own.
type Election struct {
	c    *coord.Client
	dir  string
	opts queue.Options
}

// An Option adjusts an [Election]. The locks of package lock have the same options.
type Option = queue.Option

// Label makes the candidates show text to the others, such as a host name: see
// [coord.Contender]. It may be up to 1 KiB long, or a candidate ends with
// [coord.ErrTooLarge].
func Label(text string) Option { return queue.Label(text) }

// New returns the election whose candidates queue in the directory dir. The directory and
// what is missing above it are created when first needed, as containers, which the server
// removes some time after they were last used; it belongs to the election, which may
// overwrite its data. So do dir-leader, which is the leader's announcement, and
// dir-batons, which is made when many wait. Any use of an Election whose dir cannot be one
// ends with [coord.ErrInvalidPath].
func New(c *coord.Client, dir string, opts ...Option) *Election {
	return &Election{c: c, dir: dir, opts: queue.Apply(opts)}
}

// Campaign makes the caller a candidate for one term, and returns at once. While the Hold
// is held, the caller leads, and e shows value to the observers. The value may be any bytes,
// up to 64 KiB; the Hold ends with [coord.ErrTooLarge] for more.
//
// ctx bounds the waiting and not the leading: if it ends before the term begins, the
// candidate leaves the queue. After that it no longer matters, because only the caller
// knows when it has stopped to lead. So the Hold must be released. [coord.Hold.Release]
// waits until the announcement is gone, too.
//
// A candidate belongs to one session. If that ends before the term begins, the Hold ends
// with [coord.ErrExpired]; call Campaign again. [Election.Lead] and [Election.Keep] do. It
// ends with [coord.ErrForeign] if the directory is that of a LeaderLatch, and with
// [ErrNested] if the caller leads already.
func (e *Election) Campaign(ctx context.Context, value []byte) *coord.Hold {
	if err := checkValue(value); err != nil {
		return e.refuse(ctx, "campaign", err)
	}
	return e.campaign(ctx, "campaign", newValue(value))
}

// campaign is Campaign with a value that may change before the term begins.
func (e *Election) campaign(ctx context.Context, op string, value *claim.Data) *coord.Hold {
	if e.c.Kit().Nested(ctx, e.dir) {
		return e.refuse(ctx, op, ErrNested)
	}
	t := &term{c: e.c, dir: e.dir, label: e.opts.Label, value: value, known: make(chan struct{})}
	t.h = queue.Enter(ctx, e.c, queue.Entry{Op: op, Dir: e.dir, Label: e.opts.Label, Granted: t.begin})
	close(t.known)
	t.register()
	return t.h
}

// refuse returns a Hold that is over, because of err.
func (e *Election) refuse(ctx context.Context, op string, err error) *coord.Hold {
	return e.c.Kit().NewHold(ctx, op, e.dir, func(*coord.Keeper) error { return err })
}

// Publish makes value what the term h shows to the observers, up to 64 KiB, and waits until
// the announcement has it. Nobody else can lead in between. If the term has not begun, it
// waits for that.
//
// If ctx ends first, Publish returns its cause, and the value is still published. If a
// later Publish overtakes this one, it waits until the later value is published. The error
// is [coord.ErrTooLarge] for a larger value, [ErrNoTerm] if h is no term of e, the
// ensemble's refusal, with which h still leads and is tried again at times, or, once h is
// over, its Err. So to know that a leader is announced, publish its value once more.
func (e *Election) Publish(ctx context.Context, h *coord.Hold, value []byte) error {
	t := termOf(e.c, h)
	switch err := checkValue(value); {
	case err != nil:
		return e.fail("publish", err)
	case t == nil || t.dir != e.dir:
		if h != nil && h.Err() != nil {
			return h.Err()
		}
		return e.fail("publish", ErrNoTerm)
	}
	parent, stop := context.WithCancel(background)
	defer stop()
	err := publish(ctx, t.value, value, h.Context(parent).Done())
	switch {
	case err == errOver:
		return h.Err()
	case err != nil:
		return e.fail("publish", err)
	}
	return nil
}

// fail returns the error of op.
func (e *Election) fail(op string, err error) error {
	return &coord.Error{Op: op, Path: e.dir, Err: err}
}

// Lead calls f each time that the caller leads, with value published, until f returns
// without having lost the lead. The context that f is given is a copy of ctx that is also
// canceled, with cause, when the term is over; f must then stop. The Hold is for its Guard
// and Token, and for [Election.Publish].
//
// Lead returns f's error, nil or not, if the term lasted until f returned, and then gives
// the term up; the cause of ctx's end if the caller did not lead by then;
// [coord.ErrClosed] if the client is closed; or the ensemble's refusal. What f returns
// after a loss does not matter: f is called again in the next term. If f releases h itself,
// f's error is what Lead returns. See [lock.Mutex.Run], which does the same.
//
// [lock.Mutex.Run]: https://pkg.go.dev/github.com/zkcoord/zkcoord/lock#Mutex.Run
func (e *Election) Lead(ctx context.Context, value []byte, f func(ctx context.Context, h *coord.Hold) error) error {
	return queue.Run(ctx, func(ctx context.Context) *coord.Hold { return e.Campaign(ctx, value) }, f)
}

// Candidates returns the leader and the candidates that wait, in order: the leader is the
// first. The answer comes from one server, which may be a little behind the others; it
// costs one request, and one for each candidate. To know only who leads, see
// [Election.Leader].
//
// The error is a [*coord.Error]: the cause of ctx's end, if that comes first,
// [coord.ErrClosed], [coord.ErrInvalidPath], [coord.ErrForeign], or the ensemble's refusal.
func (e *Election) Candidates(ctx context.Context) ([]coord.Contender, error) {
	return queue.Contenders(ctx, e.c, e.dir)
}

// checkValue reports why value cannot be published.
func checkValue(value []byte) error {
	if len(value) > maxValue {
		return fmt.Errorf("%w: value of %d bytes: at most %d are allowed", coord.ErrTooLarge, len(value), maxValue)
	}
	return nil
}
