// Package semaphore shares a number of permits among the clients of an ensemble: so many
// of them at a time may do something.
//
//	sem := semaphore.New(c, "/exports/slots", 3)
//	err := sem.Do(ctx, func(ctx context.Context, h *coord.Hold) error {
//		return export(ctx) // ctx is canceled when the permit is lost
//	})
//
// There are four ways to hold a permit, which are those of a mutex of package lock: Acquire
// returns a [coord.Hold] at once, TryAcquire gives up if no permit is free, Do holds one for
// the length of a function, and Run calls a function each time that one is held. A mutex is
// not a semaphore with one permit: it costs less, and package lock should be used for it.
//
// # What a semaphore promises
//
//   - With n permits no more than n contenders hold one at a time, as long as a holder stops
//     when it is told of the loss: see [coord.Hold.Lost] for when it is told, and for the
//     cases in which that may be too late. What then still comes from a former holder is
//     rejected by [coord.Hold.Guard] or with [coord.Hold.Token]: each permit that is held
//     has a Guard of its own, and of two holders the later has the greater Token.
//   - Contenders get their permits in the order in which they asked, and a release wakes at
//     most one of them.
//   - A contender that stops waiting, for any reason, leaves nothing behind.
//   - Contenders that disagree about n are told so, with [ErrPermits]. [Semaphore.Resize]
//     changes n on purpose.
//
// There is no weighted acquisition, by which one contender holds several permits. A
// contender that asks for many would keep all behind it waiting while permits are free, and
// each of its leases may be deleted or revoked alone.
//
// # How it fails
//
// It fails as a mutex does: see package lock. A client that is cut off for longer than 0.64
// of the session timeout loses its permit, with [coord.ErrExpired], before the ensemble
// gives it to another; a contender that waits loses its place by the same. A holder whose
// znode somebody deletes or revokes is told at once if it has held for 50 ms, and otherwise
// as soon as it has.
//
// # Znodes
//
// The layout is that of Curator's InterProcessSemaphoreV2, with which a directory can be
// shared; nothing has to be configured, but Curator does not check n.
//
//   - The directory has n, as decimal text. The first contender writes it.
//   - Its child locks is the queue of a mutex, whose holder is said to be at the gate: see
//     package lock. To its [coord.Trace] and its log a program sees the place at the gate as
//     a second Hold.
//   - Its child leases has an ephemeral sequential child <id>-lease-<number> for each permit
//     that is held. Every child counts, whatever its name, as it does for Curator.
//
// The contender at the gate makes its lease as soon as there are fewer than n, in a
// transaction that also checks that it is at the gate still and that n is what it has read,
// and then leaves the gate to the next. So no two make leases at the same time. While n are
// there, it alone watches the directory. A release is the deletion of a lease.
//
// A directory in which kazoo's Semaphore has permits, or which is that of a lock, is refused
// with [coord.ErrForeign]. But kazoo does not refuse that of a semaphore of ours.
//
// # What it costs
//
// A permit that is free costs three round trips: the place at the gate (one request), n and
// the leases (two reads at a time), and the lease (one transaction); the gate is left
// afterwards, by one request, for which nobody waits. A release is one request. Holding
// costs a watch on the lease.
//
// A TryAcquire behind others reads the two as well, and lists the leases when they change.
//
// While no permit is free, the contender at the gate reads n once more, and then watches the
// leases, and each of the others the contender before it. A release costs the one at the
// gate an event, a listing, its lease and the deletion of its place in the queue; and that
// the next one an event, the two reads, and a watch.
package semaphore
