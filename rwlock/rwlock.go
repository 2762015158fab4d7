// Package rwlock gives clients of an ensemble the right to read something
// together, or one of them the right to change it.
//
//	h := rwlock.New(c, "/index/lock").AcquireRead(ctx)
//	defer h.Release(context.WithoutCancel(ctx))
//	if err := h.Wait(); err != nil {
//		return err
//	}
//	read := h.Context(ctx) // canceled when the lock is lost
//
// It is the shared lock of ZooKeeper's recipes. All contenders stand in one queue,
// in the order in which they asked. One who reads waits for those before it who
// write; one who writes waits for all before it. So a writer who waits holds back
// the readers behind it, and neither kind can starve the other. Each follows one
// other znode, so a release wakes one writer, or the readers up to the next
// writer, and nobody else.
//
// The names of the znodes are those of Apache Curator, whose
// InterProcessReadWriteLock can share the directory, as can kazoo's ReadLock and
// WriteLock. It is tested with Curator 5.4 and kazoo 2.8; see the README for what
// kazoo must be given, and why Curator must not downgrade before 5.5. The
// contenders of package lock are respected.
package rwlock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/queue"
)

var (
	// ErrUpgrade is why a lock that is held for reading can not be had for
	// writing as well: two readers who both asked for that would wait for each
	// other for ever. Release the one, ask for the other, and look again at
	// what was read, because others may write in between.
	ErrUpgrade = errors.New("rwlock: held already; release it first, because it can not be upgraded")

	// ErrNested is why who holds a lock can not acquire it for reading on the
	// ground of that. A holder for writing would wait for itself: it can
	// [RWMutex.Downgrade]. One for reading has what it asks for, and with a writer
	// waiting between its two places it would never have it again.
	ErrNested = errors.New("rwlock: held already; share that hold or, if it is for writing, downgrade it")

	// ErrNotWriting is the answer to a downgrade of what is not a hold for
	// writing of this lock, or not held yet.
	ErrNotWriting = errors.New("rwlock: not held for writing")
)

// An RWMutex is a lock that any number of clients of an ensemble can hold for
// reading, or one for writing.
//
// An RWMutex must come from [New]. It may be shared: every call that acquires it
// is a contender of its own.
type RWMutex struct {
	c     *coord.Client
	dir   string
	label string

	mu    sync.Mutex
	holds map[*coord.Hold]queue.Downgrade // those that are not over; nil for a read
}

// An Option adjusts an [RWMutex].
type Option func(*RWMutex)

// Label has the contenders of an RWMutex show text to the others, such as a host
// name: see [Contender]. It may be up to 1 KiB long.
func Label(text string) Option {
	return func(m *RWMutex) { m.label = text }
}

// New returns the lock whose contenders queue in the directory dir. The
// directory and what is missing above it are created when first needed, as
// containers, which the server removes some time after they were last used; it
// belongs to the lock, which may overwrite its data. A dir that can not be one
// is reported by whatever is done with the RWMutex.
func New(c *coord.Client, dir string, opts ...Option) *RWMutex {
	m := &RWMutex{c: c, dir: dir, holds: make(map[*coord.Hold]queue.Downgrade)}
	for _, o := range opts {
		o(m)
	}
	return m
}

// AcquireRead joins the queue for m, for reading, and returns at once. The Hold
// is held when everyone is gone who was there before and is no reader.
//
// ctx governs the waiting, not the holding: canceled before the lock is acquired,
// it takes the contender out of the queue, wherever it is; after that it no
// longer matters, because only the caller knows when the work that the lock
// guards has stopped. So the Hold must be released.
//
// A contender belongs to one session. If that is over before the lock is
// acquired the Hold ends with [coord.ErrExpired]; call AcquireRead again.
//
// Locks do not nest: who holds m waits for itself if it holds it for writing, and
// may wait for ever for a writer who waits for it if it holds it for reading. If
// ctx comes from the [coord.Hold.Context] of a hold of m, or from m's Do methods,
// the Hold ends at once with [ErrNested].
//
// The tokens of those who read together are in no order. The token of a writer is
// greater than those of all who held before.
func (m *RWMutex) AcquireRead(ctx context.Context) *coord.Hold {
	return m.read(ctx, "acquire to read", false)
}

// TryAcquireRead is like [RWMutex.AcquireRead], but ends with [coord.ErrLocked]
// if anyone ahead in the queue writes or waits to write. It goes by the place in
// the queue and not by time: only the ensemble's answers are waited for, for as
// long as ctx allows, among them those to the removal of what the client itself has
// given up or released.
func (m *RWMutex) TryAcquireRead(ctx context.Context) *coord.Hold {
	return m.read(ctx, "try to acquire to read", true)
}

// AcquireWrite is like [RWMutex.AcquireRead] for writing: the Hold is held when
// everyone is gone who was there before.
//
// That includes the caller itself: who holds m and asks to write before it has
// released that waits for itself. Where it can be known, which is if ctx comes from
// the [coord.Hold.Context] of a hold of m, or from m's Do methods, the Hold ends
// at once with [ErrUpgrade].
func (m *RWMutex) AcquireWrite(ctx context.Context) *coord.Hold {
	return m.write(ctx, "acquire to write", false)
}

// TryAcquireWrite is like [RWMutex.AcquireWrite], but ends with [coord.ErrLocked]
// if anyone is ahead in the queue.
func (m *RWMutex) TryAcquireWrite(ctx context.Context) *coord.Hold {
	return m.write(ctx, "try to acquire to write", true)
}

func (m *RWMutex) read(ctx context.Context, op string, try bool) *coord.Hold {
	if !try && m.covers(ctx) { // a try waits for nobody
		return coord.NewHold(ctx, m.c, op, m.dir, func(*coord.Keeper) error { return ErrNested })
	}
	h := queue.EnterRead(ctx, m.c, queue.Entry{Op: op, Dir: m.dir, Label: m.label, Try: try})
	m.keep(h, nil)
	return h
}

func (m *RWMutex) write(ctx context.Context, op string, try bool) *coord.Hold {
	if m.covers(ctx) {
		return coord.NewHold(ctx, m.c, op, m.dir, func(*coord.Keeper) error { return ErrUpgrade })
	}
	h, downgrade := queue.EnterWrite(ctx, m.c, queue.Entry{Op: op, Dir: m.dir, Label: m.label, Try: try})
	m.keep(h, downgrade)
	return h
}

// covers reports whether ctx ends with a hold of m.
func (m *RWMutex) covers(ctx context.Context) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for h := range m.holds {
		if h.Covers(ctx) {
			return true
		}
	}
	return false
}

// keep notes h until it is over.
func (m *RWMutex) keep(h *coord.Hold, downgrade queue.Downgrade) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.holds[h] = downgrade
	context.AfterFunc(h.Context(context.Background()), func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.holds, h)
	})
}

// Downgrade turns h, a hold of m for writing, into one for reading, and waits
// until that is done. It happens in one transaction and keeps h's place in the
// queue, so nobody writes in between, and h's token. The readers who wait right
// behind h are let in; a writer who waits is kept out until h is released, and so
// are the readers behind that. A [coord.Hold.Guard] that was taken before lets
// nothing pass any more: take it anew.
//
// From the call on h is good for reading only, because the others may read
// before the answer is here. A revocation asked for at that moment is void: what
// was to give way has.
//
// If h is over, or is lost or released before the answer is here, Downgrade
// returns h's Err. If h is no hold of m for writing it returns
// [ErrNotWriting]. If ctx ends first it returns ctx's cause, and h is downgraded
// all the same, as soon as the ensemble can be reached; to wait for that, call
// Downgrade again, which returns nil if h is downgraded already. Any other error
// is the ensemble's refusal: h is still held, for writing.
func (m *RWMutex) Downgrade(ctx context.Context, h *coord.Hold) error {
	if err := h.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	downgrade := m.holds[h]
	m.mu.Unlock()
	err := ErrNotWriting
	select {
	case <-h.Acquired():
		if downgrade != nil {
			err = downgrade(ctx)
		}
	default:
	}
	if err == nil || h.Err() != nil {
		return h.Err()
	}
	return &coord.Error{Op: "downgrade", Path: m.dir, Err: err}
}

// DoRead acquires m for reading, calls f, and releases m, also when f panics. The
// context that f is given is a copy of ctx that is also canceled, with cause, when
// the lock is lost; f must then stop. The release is waited for until ctx ends.
//
// DoRead returns the reason why f was not called; or f's error, joined with the
// reason if the lock was lost before f returned, and with the ensemble's refusal
// if the contender could not be removed from the queue.
func (m *RWMutex) DoRead(ctx context.Context, f func(context.Context, coord.Token) error) error {
	return queue.Do(ctx, m.AcquireRead(ctx), f)
}

// DoWrite is like [RWMutex.DoRead] for writing.
func (m *RWMutex) DoWrite(ctx context.Context, f func(context.Context, coord.Token) error) error {
	return queue.Do(ctx, m.AcquireWrite(ctx), f)
}

// A Contender is one that holds a lock or waits for it.
type Contender struct {
	Label   string // what it says of itself, see [Label]; empty if that is not known
	Node    string // the name of its znode in the lock's directory
	Reads   bool   // it shares with others who read
	Session int64  // its session
	// Token is its fencing token, once it holds. The one of a hold that was
	// downgraded is less: it is that of the write.
	Token coord.Token
	Since time.Time // when it joined the queue or was downgraded, by the ensemble's clock
	// Revoked says that it has been asked to give way: see [coord.ErrRevoked]. That
	// is written over the label, which is then known only to who has read it before.
	Revoked bool
}

// Contenders returns who holds m and who waits for it, in order. Children of the
// directory that are no contenders are left out. The answer comes from one
// server, which may be a little behind the others. It ends when ctx does.
func (m *RWMutex) Contenders(ctx context.Context) ([]Contender, error) {
	places, err := queue.Contenders(ctx, m.c, m.dir)
	if err != nil {
		return nil, &coord.Error{Op: "list the contenders of", Path: m.dir, Err: err}
	}
	return contenders(places), nil
}

// Watch follows who holds m and who waits for it until ctx ends. Every contender
// that comes, goes or is downgraded has the directory listed once, and the new
// znode read; who comes to hold is read once more, and followed, so that a
// revocation is seen.
func (m *RWMutex) Watch(ctx context.Context) *event.Stream[[]Contender] {
	return queue.Watch(ctx, m.c, "watch the contenders of", m.dir, contenders)
}

func contenders(places []queue.Place) []Contender {
	all := make([]Contender, len(places))
	for i, p := range places {
		all[i] = Contender{p.Label, p.Node, queue.Reads(p.Node), p.Session, p.Token, p.Since, p.Revoked}
	}
	return all
}
