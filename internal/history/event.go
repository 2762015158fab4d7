package history

import "time"

// An Event is one line of a history.
type Event struct {
	At     time.Duration `json:"at"`               // since the history began, by one clock for all processes
	Proc   string        `json:"proc"`             // the actor: one process, or one goroutine that does one thing after another
	Kind   Kind          `json:"kind"`             // what happened
	Recipe string        `json:"recipe,omitempty"` // one of the recipes below
	Path   string        `json:"path,omitempty"`   // of the lock, the value and so on; of a member with its ID
	Op     int64         `json:"op,omitempty"`     // number that ties the events of one operation of Proc together
	F      string        `json:"f,omitempty"`      // what is asked: see the functions below; or the name of a fault
	Token  int64         `json:"token,omitempty"`  // of the hold; of that which guards or fences an operation; of that which Delete ends
	Value  string        `json:"value,omitempty"`  // that is written or read; of a fault what it hits: a process or a server
	Was    string        `json:"was,omitempty"`    // of Modify: the value that it replaces
	Zxid   int64         `json:"zxid,omitempty"`   // of Seen: the change that it shows, zero if not known
	N      int           `json:"n,omitempty"`      // permits of a semaphore, size of a barrier
	Err    string        `json:"err,omitempty"`
}

// A Kind says what happened.
type Kind string

// The events of a hold. They have the same Proc and Op, and Recipe, Path, F and N are those
// of Ask if they have none.
const (
	Ask       Kind = "ask"       // a contender begins to wait
	Acquired  Kind = "acquired"  // it holds, with Token; At is read after Acquired was closed
	Downgrade Kind = "downgrade" // it holds for reading only from now on; At is read before the call
	Lost      Kind = "lost"      // it has been told of the loss; At is read after Lost was closed
	Release   Kind = "release"   // it stops acting as holder, and begins to release; At is read before the call
	Released  Kind = "released"  // Release has returned; Err says what is left behind
	GaveUp    Kind = "gave up"   // the wait ended without a hold
)

// The events of an operation. They have the same Proc and Op, and Recipe, Path, F, Token and
// N are those of Call if they have none. Value is that of Call unless the answer has one.
const (
	Call    Kind = "call"    // an operation F on Path begins
	OK      Kind = "ok"      // it was done
	Refused Kind = "refused" // it was certainly not done: a stale token, a guard that failed, another version
	Unknown Kind = "unknown" // it may have been done, or may yet be
)

// The other events.
const (
	Seen      Kind = "seen"      // a stream, Op of Proc, showed Value of Path, as of Zxid
	Suspended Kind = "suspended" // the stream said that what it shows may be out of date; F is Expired if the session is over
	Died      Kind = "died"      // Proc was killed; At is read before. It acts no more, until its next event
	Fault     Kind = "fault"     // F began; Proc is the nemesis
	Healed    Kind = "healed"    // F ended; Op, F and Value are those of its Fault
)

// Recipes.
const (
	Lock      = "lock"
	Unqueued  = "unqueued"
	RWLock    = "rwlock" // F is Reading or Writing
	Leader    = "leader"
	Semaphore = "semaphore"
	Barrier   = "barrier"
	Members   = "members" // Path is the group's and the ID
	Queue     = "queue"
	Config    = "config"
	Counter   = "counter"
)

// Functions, which are what Call asks for, and how a shared lock is held.
const (
	Reading = "read"  // share the lock
	Writing = "write" // do not

	Get    = "get"    // read the register at Path; the Value of OK is what was read, "" if nothing is stored
	Set    = "set"    // make its value Value, whatever it was
	Modify = "modify" // replace its value by one made of it; OK and Unknown say that it was Was, and becomes Value
	Add    = "add"    // add Value, a decimal number, to the counter at Path; the Value of OK is the sum
	Sum    = "sum"    // read the counter at Path; the Value of OK is the sum
	Final  = "final"  // read Path when nothing writes to it any more; Seen must have come to its Value
	Put    = "put"    // put the item Value into the queue at Path
	Done   = "done"   // the work of the item Value is done
	Fenced = "fenced" // write to the store at Path, which compares tokens

	// Guarded writes to Path in a transaction with the Guard of the hold of Proc that has Token.
	Guarded = "guarded"
)

// Faults of which a holder cannot know in time. Of Pause and Expire, Value is the Proc, or the
// process of those that are called "process/actor"; of Delete, Path is that of the recipe, and
// Token that of the one hold that is hit, if it is only one.
const (
	Pause  = "pause"  // it was stopped, from the Fault to its Healed
	Delete = "delete" // its znode was deleted by hand
	Expire = "expire" // its session was closed by hand
)

// Isolate is the fault of a leader that is cut off from the other servers, not from its
// clients: until it notices, what it answers to Get and Sum may be old.
const Isolate = "isolate"

// Expired is the F of a Suspended after which a stream may go back, since a session that
// begins may be that of a server behind.
const Expired = "expired"
