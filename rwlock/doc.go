// Package rwlock gives clients of an ensemble the right to read something
// together, or one of them the right to change it.
//
//	err := rwlock.New(c, "/index/lock").DoRead(ctx, func(ctx context.Context, _ *coord.Hold) error {
//		return search(ctx) // ctx is canceled when the lock is lost
//	})
//
// A lock is acquired for reading or for writing, in one of the four ways of package
// lock: AcquireRead and AcquireWrite return a [coord.Hold] at once, with channels for
// a select; TryAcquireRead and TryAcquireWrite give up if they would have to wait;
// DoRead and DoWrite hold the lock for the length of one function; RunRead and
// RunWrite call a function each time that it is held, again after a loss.
//
// # What a lock promises
//
//   - While a client holds it for writing, no other holds it, and while clients hold it
//     for reading, none holds it for writing, as long as holders stop when they are
//     told of the loss: see [coord.Hold.Lost], and [coord.Hold.Guard] and
//     [coord.Hold.Token] for what a former holder may still write.
//   - Nobody starves. All contenders stand in one queue, in the order in which they
//     asked. A reader waits for the writers before it, a writer for all before it. So a
//     writer that waits holds back the readers behind it.
//   - Each contender watches one other znode, so a release wakes one writer, or the
//     readers up to the next writer, and nobody else.
//   - A writer can become a reader without letting another writer in between: see
//     [RWMutex.Downgrade]. There is no upgrade: two readers that both tried would
//     deadlock.
//
// # How it fails
//
// It fails as the locks of package lock do: a lock is lost with its session, with
// [coord.ErrExpired], before another can hold it. Locks do not nest: what is asked for
// with the context of a Hold of the same lock ends with [ErrNested] or [ErrUpgrade],
// instead of waiting for itself.
//
// # Other programs
//
// The names of the znodes are those of Apache Curator, whose
// InterProcessReadWriteLock can share the directory, as can kazoo's ReadLock and
// WriteLock. It is tested with Curator 5.4 and kazoo 2.8; see docs/other-clients.md for what
// kazoo must be given, and why Curator must not downgrade before 5.5. The
// contenders of package lock are respected.
package rwlock
