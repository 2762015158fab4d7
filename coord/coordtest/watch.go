package coordtest

import (
	"maps"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/jute"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// A watchKey names a watch of one connection. getData and exists share a
// table: after both on one path a connection has one watch.
type watchKey struct {
	path  string
	child bool
}

// A watchMode is how a watch fires. A connection has one mode for each watch, and the
// last that it has asked for counts, as in the real server: so a watch that fires once,
// armed after one that is recursive, takes its place.
type watchMode uint8

const (
	once       watchMode = iota
	persistent           // it stays when it has fired
	recursive            // and it fires for what is below the path as well
)

// watches has the armed watches of all connections. The server's mutex guards it.
type watches struct {
	armed map[watchKey]map[*conn]watchMode
	of    map[*conn]map[watchKey]struct{}
}

func newWatches() *watches {
	return &watches{make(map[watchKey]map[*conn]watchMode), make(map[*conn]map[watchKey]struct{})}
}

func (w *watches) arm(c *conn, k watchKey, mode watchMode) {
	if w.armed[k] == nil {
		w.armed[k] = make(map[*conn]watchMode)
	}
	if w.of[c] == nil {
		w.of[c] = make(map[watchKey]struct{})
	}
	w.armed[k][c] = mode
	w.of[c][k] = struct{}{}
}

// armBoth arms a watch that stays.
func (w *watches) armBoth(c *conn, path string, mode watchMode) {
	w.arm(c, watchKey{path, false}, mode)
	w.arm(c, watchKey{path, true}, mode)
}

func (w *watches) disarm(c *conn, k watchKey) {
	delete(w.armed[k], c)
	if len(w.armed[k]) == 0 {
		delete(w.armed, k)
	}
	delete(w.of[c], k)
	if len(w.of[c]) == 0 {
		delete(w.of, c)
	}
}

// drop disarms all watches of a connection.
func (w *watches) drop(c *conn) {
	for k := range w.of[c] {
		w.disarm(c, k)
	}
}

func (w *watches) count() int {
	n := 0
	for _, keys := range w.of {
		n += len(keys)
	}
	return n
}

// fire sends the events of one change to those who watch for it.
func (w *watches) fire(ch change) {
	told := w.trigger(ch.path, false, ch.kind, ch.acl, nil)
	if ch.kind == zk.EventNodeDataChanged {
		return
	}
	if ch.kind == zk.EventNodeDeleted {
		// One event to a connection that watches the node both ways.
		w.trigger(ch.path, true, zk.EventNodeDeleted, ch.acl, told)
	}
	dir := zkpath.Parent(ch.path)
	w.trigger(dir, true, zk.EventNodeChildrenChanged, ch.dirACL, nil)
}

// trigger tells the connections that have a watch for an event of this kind at path in
// one of the two tables, except those told already and those that may not read the node,
// and disarms the watches that fire once. It returns whom it found.
func (w *watches) trigger(path string, child bool, kind zk.EventType, acl []zk.ACL, told map[*conn]struct{}) map[*conn]struct{} {
	found := make(map[*conn]struct{})
	for at := path; ; at = zkpath.Parent(at) {
		k := watchKey{at, child}
		for c, mode := range w.armed[k] {
			switch {
			case mode == recursive && kind != zk.EventNodeChildrenChanged, mode == persistent && at == path:
				found[c] = struct{}{}
			case mode == once && at == path:
				found[c] = struct{}{}
				w.disarm(c, k)
			}
		}
		if at == "/" {
			break
		}
	}
	for _, c := range slices.SortedFunc(maps.Keys(found), compareConns) {
		if _, done := told[c]; !done && permits(acl, c.ids, zk.PermRead) {
			c.sendEvent(kind, path)
		}
	}
	return found
}

// addWatch executes an AddWatch.
func (c *conn) addWatch(path string, mode int32, e *jute.Encoder) jute.Code {
	if mode != 0 && mode != 1 {
		return jute.CodeMarshalling
	}
	c.replica.watches.armBoth(c, path, persistent+watchMode(mode))
	e.Int32(0)
	return jute.OK
}

// removeWatches executes a RemoveWatches, or a CheckWatches.
func (c *conn) removeWatches(path string, kind int32, remove bool) jute.Code {
	if kind < 1 || kind > 3 {
		return jute.CodeMarshalling
	}
	w, code := c.replica.watches, jute.CodeNoWatcher
	for _, k := range []watchKey{{path, true}, {path, false}} {
		if _, armed := w.of[c][k]; !armed || kind == 1 && !k.child || kind == 2 && k.child {
			continue
		}
		if code = jute.OK; remove {
			w.disarm(c, k)
		}
	}
	return code
}
