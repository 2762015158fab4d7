package rwlock

import (
	"context"
	"errors"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/queue"
)

var (
	// ErrUpgrade ends an AcquireWrite or TryAcquireWrite whose ctx comes from a hold of
	// the same lock. Release that first, acquire the lock for writing, and look again
	// at what was read, because others may write in between.
	ErrUpgrade = errors.New("rwlock: held by the caller already; release it first, because it cannot be upgraded")

	// ErrNested ends an AcquireRead whose ctx comes from a hold of the same lock. A
	// holder for writing would wait for itself: it can [RWMutex.Downgrade]. One for
	// reading has what it asks for, and if a writer waits between its two places, both
	// would wait forever. Package lock has the same error.
	ErrNested = queue.ErrNested

	// ErrNotWriting is the answer to a downgrade of what is not a hold for
	// writing of this lock, or not held yet.
	ErrNotWriting = queue.ErrNotWriting
)

// An RWMutex is a lock that any number of clients of an ensemble can hold for
// reading, or one for writing.
//
// An RWMutex must come from [New]. It is only a name and may be shared: every call
// that acquires it is a contender of its own.
type RWMutex struct {
	c    *coord.Client
	dir  string
	opts queue.Options
}

// An Option adjusts an [RWMutex]. The locks of package lock have the same options.
type Option = queue.Option

// Label makes the contenders of an RWMutex show text to the others, such as a host
// name: see [coord.Contender]. It may be up to 1 KiB long, or what asks for the lock ends
// with [coord.ErrTooLarge].
func Label(text string) Option { return queue.Label(text) }

// New returns the lock whose contenders queue in the directory dir. The
// directory and what is missing above it are created when first needed, as
// containers, which the server removes some time after they were last used; it
// belongs to the lock, which may overwrite its data. So does dir-batons beside it, which
// is made when many wait. Any use of an RWMutex whose dir cannot be one ends with
// [coord.ErrInvalidPath].
func New(c *coord.Client, dir string, opts ...Option) *RWMutex {
	return &RWMutex{c: c, dir: dir, opts: queue.Apply(opts)}
}

// AcquireRead joins the queue for m, for reading, and returns at once. The Hold
// is held when all writers that asked before are gone.
//
// ctx bounds the waiting and not the holding: if it ends before the lock is acquired,
// the contender leaves the queue, wherever it is. After that it no longer matters,
// because only the caller knows when the work that the lock guards has stopped. So
// the Hold must be released.
//
// A contender belongs to one session. If that ends before the lock is acquired, the
// Hold ends with [coord.ErrExpired]; call AcquireRead again. [RWMutex.RunRead] does.
//
// Locks do not nest. If ctx comes from the [coord.Hold.Context] of a hold of the same
// lock, by the same client, or from its Do or Run, the Hold ends at once with
// [ErrNested].
//
// The tokens of those that read together are in no order. The token of a writer is
// greater than those of all earlier holders.
func (m *RWMutex) AcquireRead(ctx context.Context) *coord.Hold {
	if m.c.Kit().Nested(ctx, m.dir) {
		return m.refuse(ctx, "acquireread", ErrNested)
	}
	return m.enter(ctx, "acquireread", queue.Read, false)
}

// TryAcquireRead is like [RWMutex.AcquireRead], but ends with [coord.ErrLocked]
// if anyone ahead in the queue writes or waits to write. It is decided by the place in
// the queue and not by time: it waits only for answers of the ensemble, for as long as
// ctx allows. Holds that the same client has released or given up are not in its way:
// it waits until they are removed. It may be called with the context of another hold,
// for it does not wait for that.
func (m *RWMutex) TryAcquireRead(ctx context.Context) *coord.Hold {
	return m.enter(ctx, "tryacquireread", queue.Read, true)
}

// AcquireWrite is like [RWMutex.AcquireRead] for writing: the Hold is held when
// everyone that asked before is gone.
//
// That includes the caller: asking to write while holding m would wait for itself. If
// ctx comes from the [coord.Hold.Context] of a hold of m, or from its Do or Run, the
// Hold ends at once with [ErrUpgrade]. The package comment says why there is no upgrade,
// and what to do instead.
func (m *RWMutex) AcquireWrite(ctx context.Context) *coord.Hold {
	return m.write(ctx, "acquirewrite", false)
}

// TryAcquireWrite is like [RWMutex.AcquireWrite], but ends with [coord.ErrLocked]
// if anyone is ahead in the queue.
func (m *RWMutex) TryAcquireWrite(ctx context.Context) *coord.Hold {
	return m.write(ctx, "tryacquirewrite", true)
}

func (m *RWMutex) write(ctx context.Context, op string, try bool) *coord.Hold {
	if m.c.Kit().Nested(ctx, m.dir) {
		return m.refuse(ctx, op, ErrUpgrade)
	}
	return m.enter(ctx, op, queue.Write, try)
}

func (m *RWMutex) enter(ctx context.Context, op string, mode queue.Mode, try bool) *coord.Hold {
	return queue.Enter(ctx, m.c, queue.Entry{Op: op, Dir: m.dir, Label: m.opts.Label, Mode: mode, Try: try})
}

// refuse returns a Hold that is over, because of err.
func (m *RWMutex) refuse(ctx context.Context, op string, err error) *coord.Hold {
	return m.c.Kit().NewHold(ctx, op, m.dir, func(*coord.Keeper) error { return err })
}

// Downgrade turns h, a hold of m for writing, into one for reading, and waits
// until that is done. It happens in one transaction and keeps h's place in the
// queue, so nobody writes in between, and h's token. The readers that wait right
// behind h are let in; a writer that waits is kept out until h is released, and so
// are the readers behind it. A [coord.Hold.Guard] that was taken before lets
// nothing pass any more: take it anew.
//
// From the call on h is good for reading only, because the others may read
// before the answer is here. A revocation asked for at that moment is void: what
// was to give way has.
//
// If h is over, or is lost or released before the answer is here, Downgrade
// returns h's Err. If h is no hold of m for writing it returns
// [ErrNotWriting]. If ctx ends first it returns ctx's cause, and h is downgraded
// nevertheless, as soon as the ensemble can be reached; to wait for that, call
// Downgrade again, which returns nil if h is downgraded already. Any other error
// is the ensemble's refusal: h is still held, for writing.
func (m *RWMutex) Downgrade(ctx context.Context, h *coord.Hold) error {
	err := queue.Downgrade(ctx, m.c, m.dir, h)
	if err == nil || h.Err() != nil {
		return h.Err()
	}
	return &coord.Error{Op: "downgrade", Path: m.dir, Err: err}
}

// DoRead acquires m for reading, calls f, and releases m, even if f panics. The
// context that f is given is a copy of ctx that is also canceled, with cause, when
// the lock is lost; f must then stop. DoRead waits for the release until ctx ends;
// after that it goes on in the background.
//
// The Hold h is for h.Guard and h.Token, by which the writes of f are rejected if they
// come after the loss. If f releases h, its context is canceled, and the rest of f is
// not done under the lock; that is no loss, and DoRead returns f's error.
//
// DoRead returns the reason why f was not called; or f's error, joined with the
// reason if the lock was lost before f returned, unless f's error tells it already,
// and with the ensemble's refusal if the contender could not be removed from the
// queue. So it returns nil only if f did, and the lock was held until then or
// until f released it. [coord.IsLost] recognizes a loss.
func (m *RWMutex) DoRead(ctx context.Context, f func(ctx context.Context, h *coord.Hold) error) error {
	return queue.Do(ctx, m.AcquireRead(ctx), f)
}

// DoWrite is like [RWMutex.DoRead] for writing. f may downgrade h.
func (m *RWMutex) DoWrite(ctx context.Context, f func(ctx context.Context, h *coord.Hold) error) error {
	return queue.Do(ctx, m.AcquireWrite(ctx), f)
}

// RunRead calls f each time that m is held for reading, until f returns without having
// lost it. It does what [RWMutex.DoRead] does, and starts again if that fails by a
// loss, before or after f was called: see [coord.IsLost]. So f should run until its ctx
// is canceled, and then return soon.
//
// RunRead returns what DoRead returns at last: f's error, nil or not, if the lock was
// held until f returned; the cause of ctx's end if the lock was not held by then;
// [coord.ErrClosed] if the client is closed; or the ensemble's refusal. What f returns
// after a loss, nil or not, does not matter: it was not done under the lock to its
// end, so f is called again when the lock is held again. If f releases h itself, f's error is
// what RunRead returns.
func (m *RWMutex) RunRead(ctx context.Context, f func(ctx context.Context, h *coord.Hold) error) error {
	return queue.Run(ctx, m.AcquireRead, f)
}

// RunWrite is like [RWMutex.RunRead] for writing.
func (m *RWMutex) RunWrite(ctx context.Context, f func(ctx context.Context, h *coord.Hold) error) error {
	return queue.Run(ctx, m.AcquireWrite, f)
}

// Contenders returns the holders of m and those that wait for it, in order. One that
// holds for reading has Reads and Holds set, a writer that waits neither. Children of the directory that are no contenders are left out. The answer comes from one
// server, which may be a little behind the others; it costs one request, and one for
// each contender.
//
// The error is a [*coord.Error]: the cause of ctx's end, if that comes first,
// [coord.ErrClosed], [coord.ErrInvalidPath], or the ensemble's refusal. A directory that
// does not exist has no contenders, and is no error.
func (m *RWMutex) Contenders(ctx context.Context) ([]coord.Contender, error) {
	return queue.Contenders(ctx, m.c, m.dir)
}

// Watch follows the contenders for m until ctx ends. The stream says Suspended while
// the connection is down: the holders that it names may have gone by then.
//
// For each contender that comes, goes or is downgraded the directory is listed once,
// and a new znode is read; a new holder is read once more, and watched, so that a
// revocation is seen.
//
// The stream ends with a [*coord.Error]: the cause of ctx's end, [coord.ErrClosed],
// [coord.ErrInvalidPath], or the ensemble's refusal to list the directory.
func (m *RWMutex) Watch(ctx context.Context) *event.Stream[coord.Contention] {
	return queue.Watch(ctx, m.c, m.dir)
}
