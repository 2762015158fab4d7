// Package watch follows znodes for one client. It turns ZooKeeper's one-shot
// watches into streams of states, once for everybody who follows the same znode.
//
// A [Loop] belongs to a client, and one goroutine owns all its watches. A stream
// comes from [Loop.Watch] or [Loop.WatchUntilDeleted], and costs no goroutine. A
// [Set] collects many znodes for one receiver, and tells it when their states are
// of one moment. What a stream promises stands in package event.
//
// # How it works
//
// For each znode and kind that is followed there is an entry: a machine that does
// no I/O, reads no clock, and decides everything. Its states and the rules by which
// they follow each other are in entry.go; testdata shows it at work. The Loop gives
// it inputs and does what it asks for. All inputs come by one queue, in the order in
// which they happened.
//
// An event says that something has changed, not what. So an entry reads again, and
// the same request arms the watch again. Four facts decide when that is enough:
//
//   - On one connection the server sends the event of a watch before any answer that
//     shows the change, and events reach the Loop on a shorter way than answers. So
//     when an answer reaches an entry, all events of the changes that it shows have
//     been there. This is what makes a Set consistent.
//   - For the same reason an event may overtake the answer that armed its watch. A
//     watch that may have been used up like this is not relied on.
//   - After a reconnect the session presents its watches to the server, which
//     announces what has changed since and arms the rest. Only when it has confirmed
//     that does a watch count, so that a change between the reconnect and then cannot
//     pass unnoticed. And everything followed is read again, even if nothing is announced.
//   - A new session has no watches. What was asked for in the last one is void.
//
// A subscriber may have written the znode before it came, and seen that acknowledged.
// So the first state that it gets is from a read that began after it came, or is known
// to be up to date.
//
// # Large directories
//
// To list a directory costs as much as it is large. So where a [Set] follows much of what
// is below a path, and a large directory there has changed, the server is asked to tell
// what comes and goes below (a recursive watch, of servers from 3.6 on; see root.go). That
// says nothing of what was missed, of what may not be read, or after a reconnect; servers
// mix such a watch up with others on the same path; and some tell other things than
// ZooKeeper does. Therefore nothing depends on it but the cost. The directory has its
// one-shot watch as always. When that has fired, the read that arms it again asks for the
// directory's Stat alone, which counts what has come and gone. If the count is that of
// what was told, the children are known; if not, they are listed, and the server is asked
// once more (see roster.go).
//
// # How it fails
//
// A read that gets no answer is made again, in the next connection or session, for
// as long as somebody follows the znode. If the ensemble refuses it, the streams that
// were waiting for it end with the refusal. [Loop.Close] ends everything.
//
// # Locks
//
// A Set's mutex comes before the inbox's. The Loop's goroutine holds no lock when it
// takes that of a Set or of a stream. No function of the program runs on it.
package watch
