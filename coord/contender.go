package coord

import "time"

// A Contender is a client that holds a lock or waits for it, as the others see it.
type Contender struct {
	Label   string    // what it says of itself, such as a host name; empty if that is not known
	Node    string    // the name of its znode
	Session SessionID // its session; zero for a znode that belongs to none
	// Token is the fencing token that it has once it holds. But a reader that was a writer
	// before a downgrade keeps the writer's token, which is less than this one.
	Token Token
	Since time.Time // when it joined the queue or was downgraded, by the ensemble's clock
	Reads bool      // it shares the lock with others that read

	// Holds says that none is before it for which it must wait. It holds, or will as soon
	// as it knows; a holder that has lost its session counts until the ensemble ends that.
	Holds bool

	// Revoked says that it has been asked to give way: see [ErrRevoked]. The request is
	// written over the label, so that Label is empty unless it was read before.
	Revoked bool
}

// A Contention is what a stream of contenders delivers: the clients that hold something,
// and those that wait for it.
type Contention struct {
	Contenders []Contender // in their order, those that hold first; not to be modified
	// Suspended says that the connection is down, and that this is what was last known.
	// There may be another holder now, or none: do not act on it, for instance by sending
	// requests to the holder.
	Suspended bool
}
