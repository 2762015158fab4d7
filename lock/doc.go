// Package lock gives one client of an ensemble at a time the right to do
// something.
//
//	err := lock.New(c, "/reindex/lock").Do(ctx, func(ctx context.Context, h *coord.Hold) error {
//		index, err := build(ctx) // ctx is canceled when the lock is lost
//		if err != nil {
//			return err
//		}
//		_, err = c.Txn(ctx, h.Guard(), coord.OpSet("/reindex/index", index, -1)) // rejected after a loss
//		return err
//	})
//
// A [Mutex] is the lock to use wherever the choice is free. An [Unqueued] is the
// older form, one znode at a path that everybody knows.
//
// There are four ways to hold one. Acquire returns a [coord.Hold] at once, with
// channels for a select: Acquired, Lost and Done. TryAcquire gives up if the lock is
// taken. Do holds it for the length of one function, and Run calls a function each
// time that the lock is held, again after a loss: for what shall always run in one
// place, such as a scheduler. [All] acquires several Mutexes as one Hold.
//
// # What a lock promises
//
//   - While one client holds it, no other does, as long as the holder stops when it
//     is told of the loss: see [coord.Hold.Lost] for when it is told, and for the two
//     cases in which that may be too late. What then still comes from the former
//     holder is rejected by [coord.Hold.Guard], for data in ZooKeeper, or with
//     [coord.Hold.Token], for anything else.
//   - The contenders of a Mutex hold it in the order in which they asked, and a
//     release wakes one of them.
//   - A contender that stops waiting, for any reason, leaves nothing behind.
//
// # How it fails
//
// A broken connection alone ends nothing: the holder still holds for as long as the
// session is certain to live. If the session may be over by the time that the client hears
// of the ensemble again, the lock is lost before. So a client that is cut off for
// longer than 0.64 of the session timeout loses the lock, with [coord.ErrExpired]. A
// waiter loses its place by the same.
//
// A contender whose znode somebody deletes, or revokes as Curator does, is told at once if
// it has held the lock for 50 ms, or waited for it for a sixth of the session timeout;
// otherwise as soon as it has. Until then a holder whose znode was deleted may have a
// second one beside it.
//
// Locks do not nest. What is asked for with the context of a Hold of the same lock
// ends with [ErrNested], instead of waiting for itself. Whoever needs several locks
// acquires them by [All]: one after the other, in whatever order each program has thought of,
// they may wait for each other forever.
//
// # Other programs
//
// A Mutex is the lock of ZooKeeper's recipes: contenders queue by ephemeral
// sequential znodes in a directory, the lowest number holds, and each of the
// others watches the one before it. The names are those of Apache Curator but for a
// shorter id. Its InterProcessMutex can share the directory, as can go-zookeeper's
// Lock, and kazoo's if it is given extra_lock_patterns=["-lock-"]. It is tested with
// Curator 5.4 and kazoo 2.8.
package lock
