package watch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zkcoord/zkcoord/event"
)

// A key is what is followed: one kind of state of one znode.
type key struct {
	path         string // absolute
	kind         event.Kind
	untilDeleted bool // of Data and Children: only until the znode is deleted
}

func (k key) compare(o key) int {
	switch c := cmp.Or(strings.Compare(k.path, o.path), cmp.Compare(k.kind, o.kind)); {
	case c != 0 || k.untilDeleted == o.untilDeleted:
		return c
	case k.untilDeleted:
		return 1
	}
	return -1
}

// baton is a kind for this package alone: the data of a znode until it is deleted, with
// how that came about. See [Loop.WatchBaton].
const baton = event.Children + 1

// passed is the last snapshot of a baton that was written to. The version tells it from
// the other end.
var passed = event.Snapshot{Stat: event.Stat{Version: 1}}

func (k key) String() string {
	if k.kind == baton {
		return "baton " + k.path
	}
	if k.untilDeleted {
		return fmt.Sprint(k.kind, " of ", k.path, " until it is deleted")
	}
	return fmt.Sprint(k.kind, " of ", k.path)
}

// keysAt returns every key that there can be at path.
func keysAt(path string) [6]key {
	return [...]key{
		{path, event.Presence, false}, {path, event.Data, false}, {path, event.Children, false},
		{path, event.Data, true}, {path, event.Children, true}, {path, baton, true},
	}
}

// keys returns what is followed, in an order that is always the same, so that a simulation
// can be repeated. It is for when the connection has changed.
func (l *Loop) keys() []key { return slices.SortedFunc(maps.Keys(l.followed), key.compare) }
