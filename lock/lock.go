package lock

import (
	"context"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/queue"
)

// ErrNested ends an Acquire or TryAcquire whose ctx comes from the
// [coord.Hold.Context] of a hold of the same lock, by the same client, or from its Do or
// Run: the caller would wait for itself. Package rwlock has the same error.
var ErrNested = queue.ErrNested

// A Mutex is a lock that at most one client of an ensemble holds at a time.
// Contenders are served in the order in which they asked.
//
// A Mutex must come from [New]. It is only a name and may be shared: every call
// to Acquire is a contender of its own.
type Mutex struct {
	c    *coord.Client
	dir  string
	opts queue.Options
}

// An Option adjusts a [Mutex] or an [Unqueued]. The locks of package rwlock have the same
// options.
type Option = queue.Option

// Label makes the contenders of a lock show text to the others, such as a host name
// or an address: see [coord.Contender]. It may be up to 1 KiB long, or what asks for the
// lock ends with [coord.ErrTooLarge].
func Label(text string) Option { return queue.Label(text) }

// New returns the lock whose contenders queue in the directory dir. The
// directory and what is missing above it are created when first needed, as
// containers, which the server removes some time after they were last used; it
// belongs to the lock, which may overwrite its data. So does dir-batons beside it, which
// is made when many wait. Any use of a Mutex whose dir cannot be one ends with
// [coord.ErrInvalidPath].
func New(c *coord.Client, dir string, opts ...Option) *Mutex {
	return &Mutex{c: c, dir: dir, opts: queue.Apply(opts)}
}

// Acquire joins the queue for m and returns at once.
//
// ctx bounds the waiting and not the holding: if it ends before the lock is acquired,
// the contender leaves the queue, wherever it is. After that it no longer matters,
// because only the caller knows when the work that the lock guards has stopped. So
// the Hold must be released.
//
// A contender belongs to one session. If that ends before the lock is acquired, the
// Hold ends with [coord.ErrExpired]; call Acquire again. [Mutex.Run] does.
//
// Where there is a LeaderLatch of Curator, which would not see the lock, the Hold ends with
// [coord.ErrForeign]. Locks do not nest: see [ErrNested].
func (m *Mutex) Acquire(ctx context.Context) *coord.Hold {
	return m.enter(ctx, "acquire", false)
}

// TryAcquire is like [Mutex.Acquire], but ends with [coord.ErrLocked] if anyone
// is ahead in the queue. It is decided by the place in the queue and not by time: it
// waits only for answers of the ensemble, for as long as ctx allows. Holds that the
// same client has released or given up are not in its way: it waits until they are
// removed. If the caller itself holds m, it ends with [ErrNested].
func (m *Mutex) TryAcquire(ctx context.Context) *coord.Hold {
	return m.enter(ctx, "tryacquire", true)
}

func (m *Mutex) enter(ctx context.Context, op string, try bool) *coord.Hold {
	if m.c.Kit().Nested(ctx, m.dir) {
		return nested(ctx, m.c, op, m.dir)
	}
	return queue.Enter(ctx, m.c, queue.Entry{Op: op, Dir: m.dir, Label: m.opts.Label, Try: try})
}

// nested returns the Hold of a request for a lock that its caller holds.
func nested(ctx context.Context, c *coord.Client, op, path string) *coord.Hold {
	return c.Kit().NewHold(ctx, op, path, func(*coord.Keeper) error { return ErrNested })
}

// Do acquires m, calls f, and releases m, even if f panics. The context that f
// is given is a copy of ctx that is also canceled, with cause, when the lock is
// lost; f must then stop. Do waits for the release until ctx ends; after that it goes
// on in the background.
//
// The Hold h is for h.Guard and h.Token, by which the writes of f are rejected if they
// come after the loss. If f releases h, its context is canceled, and the rest of f is
// not done under the lock; that is no loss, and Do returns f's error.
//
// Do returns the reason why f was not called; or f's error, joined with the
// reason if the lock was lost before f returned, unless f's error tells it already,
// and with the ensemble's refusal if the contender could not be removed from the
// queue. So Do returns nil only if f did, and the lock was held until then or
// until f released it. [coord.IsLost] recognizes a loss.
func (m *Mutex) Do(ctx context.Context, f func(ctx context.Context, h *coord.Hold) error) error {
	return queue.Do(ctx, m.Acquire(ctx), f)
}

// Run calls f each time that m is held, until f returns without having lost it. It
// does what [Mutex.Do] does, and starts again if that fails by a loss, before or after
// f was called: see [coord.IsLost]. So f should run until its ctx is canceled, and
// then return soon.
//
// Run returns what Do returns at last: f's error, nil or not, if the lock was held
// until f returned; the cause of ctx's end if the lock was not held by then;
// [coord.ErrClosed] if the client is closed; or the ensemble's refusal. What f returns
// after a loss, nil or not, does not matter: it was not done under the lock to its
// end, so f is called again when the lock is held again. If f releases h itself, f's error is
// what Run returns.
func (m *Mutex) Run(ctx context.Context, f func(ctx context.Context, h *coord.Hold) error) error {
	return queue.Run(ctx, m.Acquire, f)
}

// Contenders returns the holder of m and those that wait for it, in order: the holder
// is the first. Children of the directory that are no contenders are left out. The
// answer comes from one server, which may be a little behind the others; it costs one
// request, and one for each contender.
//
// The error is a [*coord.Error]: the cause of ctx's end, if that comes first,
// [coord.ErrClosed], [coord.ErrInvalidPath], or the ensemble's refusal. A directory that
// does not exist has no contenders, and is no error.
func (m *Mutex) Contenders(ctx context.Context) ([]coord.Contender, error) {
	return queue.Contenders(ctx, m.c, m.dir)
}

// Watch follows the contenders for m until ctx ends. The stream says Suspended while
// the connection is down: the holder that it names may have gone by then.
//
// For each contender that comes or goes the directory is listed once, and a new one is
// read; a new holder is read once more, and watched, so that a revocation is seen.
// If many programs stand by that only want to know the holder, an [Unqueued] serves
// them better: a change of the holder costs each of them two reads.
//
// The stream ends with a [*coord.Error]: the cause of ctx's end, [coord.ErrClosed],
// [coord.ErrInvalidPath], or the ensemble's refusal to list the directory.
func (m *Mutex) Watch(ctx context.Context) *event.Stream[coord.Contention] {
	return queue.Watch(ctx, m.c, m.dir)
}
