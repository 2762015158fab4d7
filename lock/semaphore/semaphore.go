package semaphore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/queue"
	"github.com/zkcoord/zkcoord/internal/quote"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// ErrPermits ends what is asked of a [Semaphore] that has another number of permits than
// its directory, or one that none can have. The error says which.
var ErrPermits = errors.New("semaphore: wrong number of permits")

// ErrNested ends an Acquire or TryAcquire of a [Semaphore] with one permit whose ctx comes
// from the [coord.Hold.Context] of a hold of that permit, by the same client, or from its
// Do or Run: the caller would wait for itself. It is the error of the same name in package
// lock.
var ErrNested = queue.ErrNested

// MaxPermits is the most permits that a [Semaphore] can have. Each acquisition lists those
// that are held.
const MaxPermits = 10_000

// A Semaphore is a number of permits, each of which at most one contender holds at a time.
// Contenders are served in the order in which they asked.
//
// A Semaphore must come from [New]. It is only a name and a number and may be shared: every
// call to Acquire is a contender of its own.
type Semaphore struct {
	c       *coord.Client
	dir     string
	permits int
	opts    queue.Options
}

// An Option adjusts a [Semaphore].
type Option = queue.Option

// Label makes the contenders of a semaphore show text to the others, such as a host name
// or an address: see [coord.Contender]. It may be up to 1 KiB long, or what asks for a
// permit ends with [coord.ErrTooLarge].
func Label(text string) Option { return queue.Label(text) }

// New returns the semaphore with so many permits, 1 to [MaxPermits], in the directory dir.
// All that use the directory must name the same number: the first contender writes it
// there, and what is asked for with another ends with [ErrPermits], at once if no semaphore
// can have it.
//
// The directory and what is missing above it are created when first needed, as containers,
// which the server removes some time after they were last used, with the number. It belongs
// to the semaphore. If it is that of another recipe, what is asked for ends with
// [coord.ErrForeign]. Any use of a Semaphore whose dir cannot be one ends with
// [coord.ErrInvalidPath].
func New(c *coord.Client, dir string, permits int, opts ...Option) *Semaphore {
	return &Semaphore{c: c, dir: dir, permits: permits, opts: queue.Apply(opts)}
}

// Acquire joins the queue for a permit of s and returns at once.
//
// ctx bounds the waiting and not the holding: if it ends before a permit is acquired, the
// contender leaves the queue, wherever it is. After that it no longer matters, because only
// the caller knows when the work that needs the permit has stopped. So the Hold must be
// released.
//
// A contender belongs to one session. If that ends before a permit is acquired, the Hold
// ends with [coord.ErrExpired]; call Acquire again. [Semaphore.Run] does.
//
// A contender that holds a permit may acquire another. But contenders that each hold some
// and wait for more may wait for each other forever. For the case of one permit see
// [ErrNested].
func (s *Semaphore) Acquire(ctx context.Context) *coord.Hold { return s.enter(ctx, "acquire", false) }

// TryAcquire is like [Semaphore.Acquire], but ends with [coord.ErrLocked] as soon as no
// permit is free. It is decided by the permits and not by time. While one is free, it waits
// for those ahead in the queue, who are about to get permits, for as long as ctx allows. That
// takes them a few requests, unless one of them is stopped or cut off: then it may last
// until the end of that session. Permits that the same client has released or given up are
// not in its way: it waits until they are free.
func (s *Semaphore) TryAcquire(ctx context.Context) *coord.Hold {
	return s.enter(ctx, "tryacquire", true)
}

func (s *Semaphore) enter(ctx context.Context, op string, try bool) *coord.Hold {
	kit := s.c.Kit()
	return kit.NewHold(ctx, op, s.dir, func(k *coord.Keeper) error {
		switch err := s.check(); {
		case err != nil:
			return err
		case s.permits == 1 && kit.Nested(ctx, s.dir):
			return ErrNested
		}
		d, err := newDriver(ctx, s, k, try)
		if err != nil {
			return err
		}
		return d.run()
	})
}

// Do acquires a permit of s, calls f, and releases it, even if f panics. The context that f
// is given is a copy of ctx that is also canceled, with cause, when the permit is lost; f
// must then stop. Do waits for the release until ctx ends; after that it goes on in the
// background.
//
// The Hold h is for h.Guard and h.Token, by which the writes of f are rejected if they come
// after the loss. If f releases h, its context is canceled, and the rest of f is done
// without a permit; that is no loss, and Do returns f's error.
//
// Do returns the reason why f was not called; or f's error, joined with the reason if the
// permit was lost before f returned, unless f's error tells it already, and with the
// ensemble's refusal if the permit could not be given back. So Do returns nil only if f
// did, and the permit was held until then or until f released it. [coord.IsLost] recognizes
// a loss.
func (s *Semaphore) Do(ctx context.Context, f func(ctx context.Context, h *coord.Hold) error) error {
	return queue.Do(ctx, s.Acquire(ctx), f)
}

// Run calls f each time that a permit of s is held, until f returns without having lost it.
// It does what [Semaphore.Do] does, and starts again if that fails by a loss, before or
// after f was called: see [coord.IsLost]. So f should run until its ctx is canceled, and
// then return soon.
//
// Run returns what Do returns at last: f's error, nil or not, if the permit was held until
// f returned; the cause of ctx's end if none was held by then; [coord.ErrClosed] if the
// client is closed; [ErrPermits]; or the ensemble's refusal. What f returns after a loss,
// nil or not, does not matter: f is called again when a permit is held again. If f releases
// h itself, f's error is what Run returns.
func (s *Semaphore) Run(ctx context.Context, f func(ctx context.Context, h *coord.Hold) error) error {
	return queue.Run(ctx, s.Acquire, f)
}

// check reports what is wrong with s.
func (s *Semaphore) check() error {
	if err := s.checkDir(); err != nil {
		return err
	}
	if err := checkPermits(s.permits); err != nil {
		return err
	}
	return queue.CheckLabel(s.opts.Label)
}

func (s *Semaphore) checkDir() error {
	if s.dir == "/" {
		return fmt.Errorf("%w %q: a semaphore needs a directory of its own", coord.ErrInvalidPath, s.dir)
	}
	return zkpath.Check(s.dir)
}

func checkPermits(n int) error {
	if n < 1 || n > MaxPermits {
		return fmt.Errorf("%w: %d: must be 1 to %d", ErrPermits, n, MaxPermits)
	}
	return nil
}

// The two parts of the directory.
const (
	gatePart   = "locks"  // the queue of those that ask for a permit; the first is at the gate
	leasesPart = "leases" // a child for each permit that is held
)

func (s *Semaphore) gate() string   { return zkpath.Join(s.dir, gatePart) }
func (s *Semaphore) leases() string { return zkpath.Join(s.dir, leasesPart) }

// leaseInfix stands between the id of a lease, which is its own, and the number that the
// server appends.
const leaseInfix = "-lease-"

// parseNumber returns the number of permits that the directory's data say, zero if they say
// nothing.
func parseNumber(data []byte) (int, error) {
	if len(data) == 0 {
		return 0, nil
	}
	n, err := strconv.Atoi(string(data))
	if err != nil || n < 1 || n > math.MaxInt32 {
		return 0, fmt.Errorf("%w: its data are no number of permits: %s", coord.ErrForeign, quote.Number(data))
	}
	return n, nil
}

// checkForeign returns [coord.ErrForeign] if one of the directory's children was made by
// another recipe: a contender for a lock or for leadership, or a lease of kazoo's semaphore;
// or if it is the leases' directory of a semaphore.
func checkForeign(children []string) error {
	for _, name := range children {
		if queue.IsContender(name) || queue.IsForeign(name) || isKazooLease(name) {
			return fmt.Errorf("%w: it has the child %q", coord.ErrForeign, name)
		}
	}
	return nil
}

// isKazooLease reports whether name is a UUID as kazoo writes it.
func isKazooLease(name string) bool {
	if len(name) != 32 {
		return false
	}
	for i := range len(name) {
		if c := name[i]; !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return false
		}
	}
	return true
}
