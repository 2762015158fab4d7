// Package coord is a client of Apache ZooKeeper for programs that coordinate: it keeps
// a session, says at once when something held in it is lost, follows znodes, and makes
// requests that obey contexts. The recipes stand on it: see packages lock, rwlock,
// members and config.
//
//	servers, chroot, err := coord.ParseServers("zk1:2181,zk2:2181,zk3:2181/shop")
//	...
//	c, err := coord.Dial(ctx, servers, &coord.Options{Chroot: chroot})
//	...
//	defer c.Close()
//
// A program has one [Client], for all that it does; it is safe for concurrent use.
// Every path is the program's own, below the chroot.
//
// # Holding
//
// What is held in the ensemble, such as a lock or a place in a group, is a [Hold]. A
// recipe returns it at once, and its channels tell the rest: Acquired, Lost and Done.
//
//	h := lock.New(c, "/reports/lock").Acquire(ctx)
//	defer h.Release(ctx)
//	if err := h.Wait(); err != nil {
//		return err
//	}
//	work(h.Context(ctx)) // canceled when h is lost
//
// Lost is closed before anybody else can hold the same, if the program runs and nobody
// has meddled with the znodes: see [Hold.Lost]. What a program writes that may have
// stood still for a while, put behind the Guard or the Token of its Hold:
//
//	_, err = c.Txn(ctx, h.Guard(), coord.OpSet("/reports/last", data, -1))
//
// # Following
//
// [Client.Watch] follows a znode: whether it exists, its data, or the names of its
// children. It returns a stream of states, which never misses the last one: see
// package event. The stream outlives connections and sessions, and says when what it
// has may be out of date.
//
// # Reading and writing
//
// [Client.Get], [Client.Set] and their like are plain requests. All of them wait for a
// connection, and end when their ctx ends, whatever state the connection is in. Reads
// are repeated until they are answered. A write is sent once: if its answer is lost the
// error is [ErrUnknown]. Errors are of type [*Error], and say what was asked for, of
// which path, and why it failed; the causes are variables of this package.
//
// # Sessions
//
// The ensemble knows a client by its session, and deletes the ephemeral znodes of a
// session from which it has heard nothing for a while, the session timeout. A client
// that loses its connection is suspended: it looks for another server, and if it
// finds one in time, the session goes on and nothing is lost. If it does not, it must
// assume, before the timeout is over, that the others will go on without it. Then the
// session is expired, everything held in it is lost, and the client opens the next
// one, in which the streams go on. A program need not do anything about that, but ask
// again for what it held. [Client.State] and [Client.Expired] tell of it, and
// [Options].SessionTimeout is how long it takes.
//
// # How it fails
//
// A call fails for the reason that its ctx has ended, that the ensemble has refused it,
// or that the client was closed. It does not fail because a server cannot be reached,
// for another may be, or the same one later: so a ctx should bound each wait. Only
// [Dial] gives up if every server turns the client away for good, for instance because
// of its credentials. What is lost after it was held is lost for one of three reasons,
// for which [IsLost] tests; to acquire it again then makes sense.
//
// # Making recipes
//
// A recipe is made with [Kit.NewHold], if it holds something, or with [NewStream], if it
// follows something. Both run a function of the recipe on a goroutine that
// [Client.Close] waits for. [Client.Kit] has what such functions need: a [Session], in
// which they make their requests, and streams of their own.
//
// The requests of a Session belong to that one session: what was asked for in it cannot
// happen later in another. They return bare errors, and are of three kinds, by what
// becomes of them when an answer is lost. What can be repeated without harm is repeated
// until it is answered: reads, [Session.Set], [Session.Delete], and [Session.Create] of
// a name that nobody else uses. Everything else is a transaction, [Session.Multi],
// whose error tells whether it was refused, may have been carried out, or was not sent.
// And [Session.InDir] makes a directory when it is found missing.
//
// A recipe that has gained something calls [Keeper.Acquired], and when that ends,
// [Keeper.End], before it removes its znodes: so the owner hears of it before anybody
// else can hold the same. The example of Kit.NewHold is a recipe as a whole.
package coord
