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
//     [RWMutex.Downgrade].
//   - Nothing more is held than was asked for. A Hold has one znode in the
//     queue, before a downgrade and after it. A try that failed and a request that was
//     refused leave none.
//
// # Who holds, and who waits
//
// [RWMutex.Contenders] and [RWMutex.Watch] have everybody in the order of the queue. The
// fields Reads and Holds of a [coord.Contender] tell which side it is on and whether it is
// in: both are set of those that hold for reading, and neither of a writer that waits.
//
// # There is no upgrade
//
// A reader cannot become a writer. It would have to wait for the other readers; and if one of
// them wanted the same, each would wait for the other forever. So a request to write with the
// context of a Hold for reading ends with [ErrUpgrade]. Without that context it waits for its
// own caller.
//
// A program that will probably write acquires the lock for writing, and downgrades when
// there is nothing to write any more. One that seldom writes reads first, releases that,
// acquires the lock for writing, and looks again at what it has read: others may have written
// in between. The example of [RWMutex.AcquireWrite] does that.
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
