package subtree

import (
	"context"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/watch"
)

// A Node is one znode below the path.
type Node struct {
	Name           string // its path from there: "a", or "a/b"
	event.Snapshot        // of its data; Exists is set
	Children       int    // how many it has; only of a whole subtree
	Err            error  // why it cannot be followed, if it cannot
}

// A Recipe says what is followed and what is made of it. Its functions are called
// on the goroutine that follows.
type Recipe[T any] struct {
	Op string // for errors
	// Whole follows the whole subtree, and not only the children of the path, and
	// passes Fold only consistent states: of a transaction on several znodes it sees
	// everything or nothing. While changes never pause for the length of a read,
	// there is no such state.
	//
	// Otherwise a state may be composed of moments that are a read apart, and a znode
	// just created may be missing in it until it has been read.
	Whole bool
	// Skip, if not nil, reports whether a name is not to be followed, nor what is
	// below it.
	Skip func(name string) bool
	// Check, if not nil, returns for the names of all children why the path is not to be
	// followed any more, which ends the stream, or nil.
	Check func(names []string) error
	// Changing, if not nil, tells for the names of all children which of them have
	// data that may still change. The others are read once and followed no further,
	// which saves a request for each at every reconnect. It is not for whole subtrees.
	Changing func(names []string) map[string]bool
	// Stat makes known the Stat of a child whose data may not be read: of such a Node,
	// Exists and Stat are set beside Err.
	Stat bool
	// Fold returns what the subscriber is to see for the nodes, in the order of
	// their names, and whether it is new. It must not keep the slice.
	Fold func(nodes []*Node) (T, bool)
	// Suspend returns last, what was published before, with the mark that the
	// connection is down.
	Suspend func(last T) T
}

// Watch follows what is below path until ctx ends or c is closed.
func Watch[T any](ctx context.Context, c *coord.Client, path string, r Recipe[T]) *event.Stream[T] {
	return coord.NewStream(ctx, c, r.Op, path, func(ctx context.Context, p event.Publisher[T]) error {
		f := &follower[T]{Recipe: r, kit: c.Kit(), root: path, out: p, set: watch.SetOf(c), stats: make(chan answer),
			nodes: map[string]*node{"": {}}, gone: make(map[string]*node)}
		defer f.set.Close()
		return f.run(ctx)
	})
}
