// Package watch keeps up with znodes for one client: it turns ZooKeeper's
// one-shot watches into streams of states, and does so once for everybody who
// follows the same znode.
//
// A [Loop] belongs to a client. One goroutine owns every watch of it, so that a
// stream costs none: [Loop.Watch] and [Loop.WatchUntilDeleted] return a stream,
// and a [Set] collects any number of znodes for one receiver, whom it also tells
// when the states that it has are those of one moment.
//
// What a stream promises stands in the documentation of package event. The loop
// keeps it like this:
//
//   - An event is only a hint. On any event that may concern a znode, on every
//     reconnect and in every new session it is read again, and the watch armed
//     again by the same request where there is none.
//   - Whatever may have been overtaken is read once more: a read that was under
//     way when an event came, or when somebody began to follow the znode, and
//     an answer that arms a watch on a connection that is gone by then.
//   - A read that fails is repeated until the ensemble answers. If it refuses,
//     every stream of that znode ends with the refusal.
//
// Lock order: the mutex of a Set comes before that of the loop's inbox. The
// loop's goroutine holds no lock when it takes that of a Set or of a stream.
package watch
