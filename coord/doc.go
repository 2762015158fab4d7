// Package coord is a client of Apache ZooKeeper for programs that coordinate with each
// other. It keeps a session, says at once when something held in it is lost, follows
// znodes, and makes requests that obey contexts. The recipes are built on it: see
// packages lock, rwlock, members and config.
//
//	servers, chroot, err := coord.ParseServers("zk1:2181,zk2:2181,zk3:2181/shop")
//	...
//	c, err := coord.Dial(ctx, servers, &coord.Options{Chroot: chroot})
//	...
//	defer c.Close()
//
// A program needs one [Client], which is safe for concurrent use. Every path that it is
// given is taken below the chroot.
//
// # Holding
//
// A [Hold] is something held in the ensemble, such as a lock or a membership. A recipe
// returns one at once, and its channels, Acquired, Lost and Done, say what becomes of
// it.
//
//	h := lock.New(c, "/reports/lock").Acquire(ctx)
//	defer h.Release(context.WithoutCancel(ctx))
//	if err := h.Wait(); err != nil {
//		return err
//	}
//	work(h.Context(ctx)) // canceled when h is lost
//
// Lost is closed before anybody else can hold the same thing, as long as the program is
// running and nobody meddles with the znodes: see [Hold.Lost]. A program that was
// stopped for a while may write something before it notices the loss. The Guard of a
// Hold, or its Token, rejects such a write:
//
//	_, err = c.Txn(ctx, h.Guard(), coord.OpSet("/reports/last", data, -1))
//
// # Following
//
// [Client.Watch] follows a znode: whether it exists, its data, or the names of its
// children. It returns a stream of states, which always ends on the newest one: see
// package event. The stream outlives connections and sessions, and says when its last
// state may be out of date.
//
// # Reading and writing
//
// [Client.Get], [Client.Set] and the like are plain requests. They wait for a
// connection, and they end when their ctx ends, connected or not. Reads are repeated
// until they are answered. A write is sent once; if its answer is lost, the error is
// [ErrUnknown]. Errors are of type [*Error] and have the operation, the path and the
// cause. Test for a cause with [errors.Is] and the variables of this package.
//
// # Sessions
//
// The ensemble knows a client by its session. When it has heard nothing from a session
// for some time, the session timeout, it ends the session and deletes its ephemeral
// znodes. A client that loses its connection is suspended: it looks for another server,
// and if it finds one in time, the session goes on and nothing is lost. If it does not,
// it must assume, before the timeout has passed, that others will take its place. The
// session then counts as expired, and everything held in it is lost. The client opens
// the next session, in which its streams go on, and the program has to acquire again
// what it held. [Client.State] and [Client.Expired] tell of all this, and
// [Options].SessionTimeout sets the timeout.
//
// # How it fails
//
// A call fails because its ctx has ended, because the ensemble has refused it, or
// because the client was closed. It does not fail because a server cannot be reached,
// since another may be, or the same one later; so give each call a ctx that ends.
// [Dial] alone gives up earlier, when every server refuses the client for good, for
// instance because of its credentials. A Hold is lost for one of three reasons, for
// which [IsLost] tests. After a loss it makes sense to acquire again.
//
// # Making recipes
//
// The rest is for authors of recipes. A recipe that holds something is made with
// [Kit.NewHold], one that follows something with [NewStream]. Both run a function of the
// recipe on a goroutine that [Client.Close] waits for. [Client.Kit] has what such a
// function needs: a [Session], in which it makes its requests, and streams.
//
// A request of a Session belongs to that one session: it cannot be carried out later, in
// another. Its error is not wrapped in an Error. A request that does no harm when it is
// carried out twice is repeated until it is answered: reads, [Session.Set],
// [Session.Delete], and [Session.Create] of a name that nobody else uses. Anything else
// is a transaction, [Session.Txn], whose error says whether it was refused, may have
// been carried out, or was not sent. [Session.InDir] makes a directory that turns out to
// be missing.
//
// A recipe calls [Keeper.Acquired] when its Hold is held. When that ends, it calls
// [Keeper.End] before it removes its znodes, so that the owner hears of the end before
// anybody else can hold the same thing. The example of Kit.NewHold is a whole recipe.
// [Kit.HoldAll] makes one Hold of several.
package coord
