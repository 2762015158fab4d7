// Package queue is the machinery of the locks whose contenders queue in a directory:
// lock.Mutex, rwlock.RWMutex, and the elections of lock/leader.
//
// A contender is an ephemeral sequential znode. It waits for those before it that it
// cannot hold together with, and watches the nearest of them. A machine decides what
// a contender does. It is a pure function of its inputs: an exhaustive walk takes it
// through all orders of events, and finds the faults of nearly fifty mutants. A driver
// feeds the machine, makes its requests, and moves the [coord.Hold].
//
// # What it guarantees
//
//   - Of contenders that exclude each other at most one holds, as long as holders stop
//     when they are told of the loss.
//   - They hold in the order of the numbers that the server has given to their znodes.
//   - One that gives up, fails, or is told to give way removes its znode, or says that
//     it could not. A create whose answer was lost is found again by its id.
//   - A contender never waits for one behind it, and a release wakes one contender, or
//     the readers up to the next writer.
//   - Nobody is told that it holds before its znode was seen, in the transaction that
//     created it or, if the connection was lost since, by a watch that is armed; and not
//     before the session was renewed.
//   - A znode that somebody else deletes, or writes a revocation to, is missed by its owner
//     for at most 50 ms of holding, or a sixth of the session timeout of waiting.
//     Before that it is not watched, for most are gone by then.
//
// Where many wait, a hand-over costs the one that gets the lock no request: see baton.go.
//
// # How it fails
//
// A contender lives and dies with one session. While the connection is down it asks
// again for what can be asked twice, and looks for what cannot. A directory without
// write permission, a znode without read permission and a missing directory are coped
// with; any other refusal ends the contender, with the refusal as the cause.
//
// A LeaderLatch of Curator and the leases of a semaphore look at no contender. Where a
// listing shows one of them, a contender ends with [coord.ErrForeign], and so does a question
// for the contenders. One that comes to a directory that is in use is not seen by a
// contender that holds already.
//
// # Many of one session
//
// The contenders of one session in one directory are neighbors. One that waits for a
// neighbor is told by it how it has left, and needs no watch. One listing serves all whose
// znodes were asked for before it began. So a crowd of them costs the ensemble little more
// than their znodes.
//
// # Goroutines and locks
//
// The driver's goroutine owns the machine and everything else of a contender. Its requests
// are started in the session and cost no goroutine, but for those that are rare and may
// block, such as making a directory. There is one at a time, and a listing that is begun
// together with a create. What the holds of one client must know of each other is in the
// client's values: see [Stake], [Downgrade], and the neighborhood. A neighborhood's mutex
// is held while a listing begins, which takes the client's; otherwise no lock is held while
// another is taken.
package queue
