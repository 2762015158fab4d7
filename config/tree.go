package config

import (
	"context"
	"errors"
	"maps"
	"strings"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/subtree"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// A Tree is all the values below a path: configuration that is kept as one znode
// for each key. Its methods are safe for concurrent use. Each fails at once, with an
// [*coord.Error], if the path or the codec's Default is invalid, or the codec lacks a
// function that the method needs.
//
// Every znode below the path is a key, except directories, whose data are null, or
// are empty while there are znodes below, and except what belongs to the ensemble
// or to this package. A path that does not exist has no keys.
type Tree[T any] struct{ target[T] }

// NewTree returns the tree of the values below path, below the chroot of c. It asks
// nothing of the ensemble.
func NewTree[T any](c *coord.Client, path string, codec Codec[T]) *Tree[T] {
	return &Tree[T]{newTarget(c, path, codec)}
}

// Values is all the values of a [Tree] as they were at one moment.
type Values[T any] struct {
	// Keys has an Update for each key: the path of its znode from that of the tree,
	// such as "port" or "db/host". It must not be modified. An Update whose Err is
	// not nil has the last good value of its key. A key that has been removed is not
	// in Keys.
	Keys map[string]Update[T]

	// Suspended means that the connection is down, and this is what was last known.
	Suspended bool
}

// Watch follows the tree until ctx ends.
//
// Each Values is a state that there was, between one transaction and the next. So
// of what is stored together, as by [Tree.Publish], it has everything or nothing,
// even when the connection breaks in the middle. A state shorter than the time
// needed to read it may be skipped. Under constant change the stream is therefore
// silent: with a round trip of 10 ms, at some 100 changes a second or more.
//
// The first listing of each directory, and each value, costs a request, as does
// every change of a value. When keys come or go in a directory of 128 znodes or more, it
// takes two small requests to know which. A smaller one, and any one on servers before
// 3.6, is listed: at the first change at once, and then, if it has n znodes, at intervals
// of n times 50 µs, no matter what happens in between. There are two watches for each
// znode.
//
// Decode is called as [Value.Watch] does. The stream ends with an [*coord.Error]
// whose cause is ctx's, [coord.ErrClosed], or the ensemble's refusal to list the
// path. If it refuses to show a znode below, the Err of that key says so.
func (t *Tree[T]) Watch(ctx context.Context) *event.Stream[Values[T]] {
	return t.follow(ctx, "watch")
}

// Read returns all values as they were at one moment, no older than the call: Values
// is one state of the tree, as in [Tree.Watch]. Under constant change there is none
// that can be read, and Read waits for one until ctx ends.
//
// It costs two requests for each znode, and leaves two watches for each on the
// server; a tree that a stream of the same client follows is not read again.
//
// It fails with an [*coord.Error]: the ensemble's refusal to list the path,
// [coord.ErrClosed] or, when ctx ends first, its cause. What is wrong with one key
// is no error of Read, but the Err of that key.
func (t *Tree[T]) Read(ctx context.Context) (Values[T], error) {
	fail := func(err error) (Values[T], error) {
		return Values[T]{}, &coord.Error{Op: "read", Path: t.path, Err: err}
	}
	if err := t.check(true, false); err != nil {
		return fail(err)
	}
	// What is followed from now on is no older than what the server knows when it
	// has caught up: streams say nothing older than any answer before they began.
	err := repeat(ctx, t.c, func(s *coord.Session) error { return s.Sync(ctx, t.path) })
	if err != nil {
		return fail(err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	states := t.follow(ctx, "read")
	for now := range states.All() {
		if !now.Suspended {
			return now, nil
		}
	}
	return Values[T]{}, states.Err()
}

// follow returns a stream of the states of t. Its errors name op.
func (t *Tree[T]) follow(ctx context.Context, op string) *event.Stream[Values[T]] {
	if err := t.check(true, false); err != nil {
		return event.Ended[Values[T]](&coord.Error{Op: op, Path: t.path, Err: err})
	}
	f := treeFollower[T]{target: t.target, op: op}
	return subtree.Watch(ctx, t.c, t.path, subtree.Recipe[Values[T]]{
		Op:    op,
		Whole: true,
		Skip:  func(name string) bool { return skip(t.c.FullPath(t.path), name) },
		Fold:  f.fold,
		Suspend: func(last Values[T]) Values[T] {
			last.Suspended = true
			last.Keys = maps.Clone(last.Keys)
			for name, u := range last.Keys {
				u.Suspended = true
				last.Keys[name] = u
			}
			return last
		},
	})
}

// A treeFollower folds the nodes of a subtree into values.
type treeFollower[T any] struct {
	target[T]
	op   string // for errors
	keys map[string]*follower[T]
}

func (f *treeFollower[T]) fold(nodes []*subtree.Node) (Values[T], bool) {
	were := f.keys
	f.keys = make(map[string]*follower[T], len(nodes))
	values := make(map[string]Update[T], len(nodes))
	news := false
	for _, n := range nodes {
		if n.Err == nil && (n.Data == nil || len(n.Data) == 0 && n.Children > 0) {
			continue
		}
		key := were[n.Name]
		if key == nil {
			at := f.target
			at.path = zkpath.Join(f.path, n.Name)
			key = newFollower(f.op, at)
		}
		f.keys[n.Name] = key
		if n.Err != nil {
			cause := errors.Unwrap(n.Err)
			news = news || key.has || !errors.Is(key.now.Err, cause)
			key.fail(cause)
			key.has = false // what can be read again is news
		} else {
			news = key.update(n.Snapshot) || news
		}
		values[n.Name] = key.now
	}
	return Values[T]{Keys: values}, news || len(f.keys) != len(were)
}

// skip reports whether the znode with this name below the full path is not the
// program's, but the ensemble's, or serves this package.
func skip(path, name string) bool {
	return path == "/" && name == "zookeeper" || "/"+name[strings.LastIndexByte(name, '/')+1:] == witnessDir
}
