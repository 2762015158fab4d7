package config

import (
	"context"
	"maps"
	"strings"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/subtree"
)

// Keys is all values below a path as they were at one moment.
type Keys[T any] struct {
	// Values has an Update for each key: the path of its znode from the path that
	// is followed, such as "port" or "db/host". It is not to be modified. An Update
	// whose Err is not nil has the last good value of its key. A key that has been
	// removed is not in Values.
	Values map[string]Update[T]

	Suspended bool // the connection is down, and this is what was last known
}

// Tree follows all values below path until ctx ends: for configuration that is
// kept as one znode for each key.
//
// Each Keys is a state that there was, between one transaction and the next. So of
// what is stored together, as by [Publish], it has everything or nothing, also when
// the connection breaks in the middle. A state that lasted for less time than it
// takes to read what has changed may not be seen. So while something below path
// changes again and again before it can be read, the stream says nothing new: with
// 10 ms from here to the server and back, at some 100 changes a second or more.
//
// Every znode below path is a key, but for those whose data are null, or are empty
// while there are znodes below: these are directories. A path that is not there has
// no keys, and what belongs to the ensemble or to this package is none.
//
// The first listing of each directory, and each value, costs a request, as does
// every change of a value. A directory of n znodes is listed at the first change at
// once, and then at intervals of n times 50 µs, whatever happens in between. There
// are two watches for each znode.
//
// decode is called as [Watch] does. The stream ends with an [*coord.Error] whose
// cause is ctx's, or [coord.ErrClosed], or the ensemble's refusal to list path. Of
// a znode below that may not be read the Err says so.
func Tree[T any](ctx context.Context, c *coord.Client, path string, decode func([]byte) (T, error)) *event.Stream[Keys[T]] {
	if decode == nil {
		return event.Ended[Keys[T]](&coord.Error{Op: "watch all below", Path: path, Err: errNil("decode")})
	}
	t := tree[T]{path: path, decode: decode}
	return subtree.Watch(ctx, c, path, subtree.Recipe[Keys[T]]{
		Op:    "watch all below",
		Whole: true,
		Skip:  func(name string) bool { return skip(c.FullPath(path), name) },
		Fold:  t.fold,
		Suspend: func(last Keys[T]) Keys[T] {
			last.Suspended = true
			last.Values = maps.Clone(last.Values)
			for name, u := range last.Values {
				u.Suspended = true
				last.Values[name] = u
			}
			return last
		},
	})
}

// A tree folds the nodes of a subtree into keys.
type tree[T any] struct {
	path   string
	decode func([]byte) (T, error)
	keys   map[string]*follower[T]
}

func (t *tree[T]) fold(nodes []*subtree.Node) (Keys[T], bool) {
	were := t.keys
	t.keys = make(map[string]*follower[T])
	values := make(map[string]Update[T])
	news := false
	for _, n := range nodes {
		if n.Err == nil && (n.Data == nil || len(n.Data) == 0 && n.Children > 0) {
			continue
		}
		key := were[n.Name]
		if key == nil {
			key = &follower[T]{path: coord.Child(t.path, n.Name), decode: t.decode}
		}
		t.keys[n.Name] = key
		if n.Err != nil {
			news = news || key.now.Err != n.Err
			key.now.Err, key.any = n.Err, false // what can be read again is news
		} else {
			news = key.take(n.Snapshot) || news
		}
		values[n.Name] = key.now
	}
	return Keys[T]{Values: values}, news || len(t.keys) != len(were)
}

// skip reports whether the znode with this name below the full path is not the
// program's, but the ensemble's, or serves this package.
func skip(path, name string) bool {
	return path == "/" && name == "zookeeper" || "/"+name[strings.LastIndexByte(name, '/')+1:] == marksDir
}
