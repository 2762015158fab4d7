package coord

import "time"

// A Contender is a client that holds a lock or waits for it, as the others see it.
type Contender struct {
	Label   string    // what it says of itself, such as a host name; empty if that is not known
	Node    string    // the name of its znode
	Session SessionID // its session; zero for a znode that belongs to none
	// Token is its fencing token, once it holds. A reader that was a writer before a
	// downgrade holds with a lesser one, the writer's.
	Token Token
	Since time.Time // when it joined the queue or was downgraded, by the ensemble's clock
	Reads bool      // it shares the lock with others that read

	// Revoked says that it has been asked to give way: see [ErrRevoked]. The request
	// is written over the label, which is then known only to those who read it before.
	Revoked bool
}

// A Contention is what a stream of contenders delivers: the clients that hold something,
// and those that wait for it.
type Contention struct {
	Contenders []Contender // in their order, the holder first; not to be modified
	// Suspended says that the connection is down, and that this is what was last
	// known. The holder may be another by now, or there may be none: do not act on
	// it, for instance by redirecting anyone there.
	Suspended bool
}
