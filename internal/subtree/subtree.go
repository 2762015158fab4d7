// Package subtree follows the znodes below a path: the children of a directory
// with their data, or all that is below it. What a recipe makes of them goes to a
// stream.
package subtree

import (
	"context"
	"errors"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
)

// A Node is one znode below the path.
type Node struct {
	Name           string // its path from there: "a", or "a/b"
	event.Snapshot        // of its data; Exists is set
	Children       int    // how many it has; only of a whole subtree
	Err            error  // why it can not be followed, if it can not
}

// A Recipe says what is followed and what is made of it. Its functions are called
// on the goroutine that follows.
type Recipe[T any] struct {
	Op string // for errors
	// Whole has all levels followed, and not only the children of the path. And it
	// has Fold given only the states that there have been: of a transaction on
	// several znodes it sees everything or nothing. While changes never cease for
	// the time of a read there is no such state to be had.
	//
	// Otherwise a state may be composed of moments that are a read apart, and what
	// has just been created may be missing in it until it has been read.
	Whole bool
	// Skip, if not nil, names those that are not to be followed, nor what is below.
	Skip func(name string) bool
	// Fold returns what the subscriber is to see for the nodes, in the order of
	// their names, and whether it is news. It must not keep the slice.
	Fold func(nodes []*Node) (T, bool)
	// Suspend returns last, what was published before, with the mark that the
	// connection is down.
	Suspend func(last T) T
}

// errExit is why a stream ends whose goroutine a function of the program has
// ended.
var errExit = errors.New("subtree: a function called runtime.Goexit")

// Watch follows what is below path until ctx ends or c is closed.
func Watch[T any](ctx context.Context, c *coord.Client, path string, r Recipe[T]) *event.Stream[T] {
	out, p := event.NewStream[T]()
	end := func(err error) { p.Close(&coord.Error{Op: r.Op, Path: path, Err: err}) }
	if err := coord.CheckPath(path); err != nil {
		end(err)
		return out
	}
	if ctx.Err() != nil {
		end(context.Cause(ctx))
		return out
	}
	ok := c.Go(func(life context.Context) {
		f := &follower[T]{Recipe: r, root: path, out: p, bundle: c.Bundle(),
			nodes: map[string]*node{"": {}}, gone: make(map[string]*node)}
		err := errExit
		defer func() {
			f.bundle.Close()
			end(err)
		}()
		err = f.run(ctx, life)
	})
	if !ok {
		end(coord.ErrClosed)
	}
	return out
}
