// Package event turns ZooKeeper's one-shot watches into streams.
//
// A ZooKeeper watch fires once and is gone, and says only that something
// changed, not what. A client hides both facts: it reads again, arms the watch
// again, and puts what it read on a [Stream]. However many streams follow a
// znode, the ensemble sees one watch of each kind, and a stream costs no
// goroutine.
//
// # What a stream promises
//
//   - It delivers states, not steps. A receive yields the newest value; values
//     that nobody received in time are dropped. So no buffer can overflow, and
//     a reader that never reads delays nobody.
//   - It ends on the newest state. Changes that were missed while the connection was
//     down are made up for by reading again at every reconnect and in every new
//     session; until that has happened the value says Suspended.
//   - It never goes back in one session, and no value comes twice running.
package event

// A Kind says what of a znode a stream follows. The zero Kind is none.
type Kind uint8

const (
	Presence Kind = iota + 1 // whether it exists
	Data                     // its bytes and version
	Children                 // the names of its children
)

// String returns the name of k.
func (k Kind) String() string {
	switch k {
	case Presence:
		return "presence"
	case Data:
		return "data"
	case Children:
		return "children"
	}
	return "invalid"
}

// A Snapshot is a znode as it was at one moment.
type Snapshot struct {
	Path      string   // as it was given to Watch
	Exists    bool     // whether there was such a znode
	Data      []byte   // only of kind Data; not to be modified
	Children  []string // only of kind Children; sorted; not to be modified
	Suspended bool     // the connection is down, and this is what was last known

	// Stat is the znode's bookkeeping, zero unless Exists. Streams of kind Presence do
	// not keep it current: there it dates from the last time the znode appeared.
	Stat
}
