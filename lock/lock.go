// Package lock gives one client of an ensemble at a time the right to do
// something.
//
//	h := lock.New(c, "/reindex/lock").Acquire(ctx)
//	defer h.Release(context.WithoutCancel(ctx))
//	if err := h.Wait(); err != nil {
//		return err
//	}
//	work := h.Context(ctx) // canceled when the lock is lost
//
// It is the lock of ZooKeeper's recipes: contenders queue by ephemeral
// sequential znodes in a directory, the lowest number holds, and each of the
// others follows the one before it, so that a release wakes one. The names are
// those of Apache Curator, whose InterProcessMutex can share the directory, as
// can go-zookeeper's Lock, and kazoo's if it is given
// extra_lock_patterns=["-lock-"]. It is tested with Curator 5.4 and kazoo 2.8.
package lock

import (
	"context"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/queue"
)

// A Mutex is a lock that at most one client of an ensemble holds at a time.
// Contenders are served in the order in which they asked.
//
// A Mutex must come from [New]. It is only a name and may be shared: every call
// to Acquire is a contender of its own, so a goroutine that acquires a Mutex
// twice waits for itself.
type Mutex struct {
	c     *coord.Client
	dir   string
	label string
}

// An Option adjusts a [Mutex] or an [Unqueued].
type Option func(*Mutex)

// Label has the contenders of a lock show text to the others, such as a host
// name: see [Contender]. It may be up to 1 KiB long.
func Label(text string) Option {
	return func(m *Mutex) { m.label = text }
}

// New returns the lock whose contenders queue in the directory dir. The
// directory and what is missing above it are created when first needed, as
// containers, which the server removes some time after they were last used; it
// belongs to the lock, which may overwrite its data. A dir that can not be one
// is reported by whatever is done with the Mutex.
func New(c *coord.Client, dir string, opts ...Option) *Mutex {
	m := &Mutex{c: c, dir: dir}
	for _, o := range opts {
		o(m)
	}
	return m
}

// Acquire joins the queue for m and returns at once.
//
// ctx governs the waiting, not the holding: canceled before the lock is acquired,
// it takes the contender out of the queue, wherever it is; after that it no
// longer matters, because only the caller knows when the work that the lock
// guards has stopped. So the Hold must be released.
//
// A contender belongs to one session. If that is over before the lock is
// acquired the Hold ends with [coord.ErrExpired]; call Acquire again.
func (m *Mutex) Acquire(ctx context.Context) *coord.Hold {
	return m.enter(ctx, "acquire", false)
}

// TryAcquire is like [Mutex.Acquire], but ends with [coord.ErrLocked] if anyone
// is ahead in the queue. It goes by the place in the queue and not by time: only
// the ensemble's answers are waited for, for as long as ctx allows, among them
// those to the removal of what the client itself has given up or released.
func (m *Mutex) TryAcquire(ctx context.Context) *coord.Hold {
	return m.enter(ctx, "try to acquire", true)
}

func (m *Mutex) enter(ctx context.Context, op string, try bool) *coord.Hold {
	return queue.Enter(ctx, m.c, queue.Entry{Op: op, Dir: m.dir, Label: m.label, Try: try})
}

// Do acquires m, calls f, and releases m, also when f panics. The context that f
// is given is a copy of ctx that is also canceled, with cause, when the lock is
// lost; f must then stop. The release is waited for until ctx ends.
//
// Do returns the reason why f was not called; or f's error, joined with the
// reason if the lock was lost before f returned, and with the ensemble's refusal
// if the contender could not be removed from the queue.
func (m *Mutex) Do(ctx context.Context, f func(context.Context, coord.Token) error) error {
	return queue.Do(ctx, m.Acquire(ctx), f)
}

// A Contender is one that holds a lock or waits for it.
type Contender struct {
	Label   string      // what it says of itself, see [Label]; empty if that is not known
	Node    string      // the name of its znode in the lock's directory
	Session int64       // its session
	Token   coord.Token // its fencing token, once it holds
	Since   time.Time   // when it joined the queue, by the ensemble's clock

	// Revoked says that it has been asked to give way: see [coord.ErrRevoked]. That
	// is written over the label, which is then known only to who has read it before.
	Revoked bool
}

// Contenders returns who holds m and who waits for it, in order: the holder is
// the first. Children of the directory that are no contenders are left out. The
// answer comes from one server, which may be a little behind the others. It ends
// when ctx does.
func (m *Mutex) Contenders(ctx context.Context) ([]Contender, error) {
	places, err := queue.Contenders(ctx, m.c, m.dir)
	if err != nil {
		return nil, &coord.Error{Op: "list the contenders of", Path: m.dir, Err: err}
	}
	return contenders(places), nil
}

// Watch follows who holds m and who waits for it until ctx ends. Every contender
// that comes or goes has the directory listed once, and the new one read; who comes
// to hold is read once more, and followed, so that a revocation is seen. While the
// connection is down the stream says nothing new, and nothing of that.
func (m *Mutex) Watch(ctx context.Context) *event.Stream[[]Contender] {
	return queue.Watch(ctx, m.c, "watch the contenders of", m.dir, contenders)
}

func contenders(places []queue.Place) []Contender {
	all := make([]Contender, len(places))
	for i, p := range places {
		all[i] = Contender(p)
	}
	return all
}
