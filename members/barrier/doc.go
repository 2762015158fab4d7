// Package barrier has the barriers of ZooKeeper's recipes: the double barrier, which n
// programs enter and leave together, and the gate, in front of which everybody waits.
//
//	b := barrier.New(c, "/jobs/17", 5)
//	h := b.Enter(ctx, "worker-3")
//	if err := h.Wait(); err != nil {
//		return err
//	}
//	compute(h.Context(ctx)) // all five have begun
//	return h.Release(ctx)   // all five are done
//
// # Guarantees
//
// A round opens when n are in at the same moment. Everybody who is in then is let in,
// however late it hears of it. One that has given up or whose session has ended by then
// does not count.
//
// A barrier can be used again and again. Nobody enters a round that is open: who comes
// then waits until the last of it has left, and is in the next.
//
// A release that returns nil means that all of the round have left, or have died; or that
// its own session has ended meanwhile: with that it has left, and hears no more of the
// others. One that dies inside keeps the others until the ensemble has ended its session, and
// no longer. If all die, the round is ended by the next one that enters.
//
// There may be more than n: the round has all who are in when it opens, and the others
// wait for the next.
//
// # How it fails
//
// One that enters belongs to one session. When that is over, it ends with
// [coord.ErrExpired], and if its znode is deleted by hand with [coord.ErrDeleted]; if it was
// inside, its Hold is lost. Those who are inside are not told of it: a round is not a
// lock, and goes on. A missing permission ends it with [coord.ErrNoAuth].
//
// While the connection is down nothing is granted. What has happened meanwhile is made up
// for when it is back.
//
// # In the ensemble
//
// Each member is an ephemeral znode in the directory, with its ID for a name. Beside the
// directory, in one with "-guard" appended to its name, it has another, with a name that
// is used once: for [coord.Hold.Guard], and to find out what became of a request whose
// answer was lost. While a round is open the directory has a child "ready", which belongs
// to no session. To open a round and to end it writes to the directory, so that its version
// tells one round from the next: nothing that was asked for in one round can be carried
// out in another.
//
// To enter costs five small requests and two watches, on ready and on the own znode; the
// one that completes the n lists the directory and makes ready, in a transaction that
// checks that n are there. That costs each other one event and one read. To leave is done
// as in ZooKeeper's recipe: the lowest in the order of the IDs waits for the highest, and
// the others remove their znodes and wait for the lowest. So each has one watch, and lists
// the directory once before and once after. The lowest lists it whenever the highest of
// those that are left leaves: it lists n times if they leave in descending order.
//
// # Beside other clients
//
// The znodes are those of Apache Curator's DistributedDoubleBarrier and of kazoo's
// DoubleBarrier. docs/other-clients.md says how far they can share a round. A gate is their
// DistributedBarrier and Barrier, and can be shared.
package barrier
