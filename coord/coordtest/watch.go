package coordtest

import "github.com/go-zookeeper/zk"

// A watchKey names a watch of one connection. getData and exists share a
// table: after both on one path a connection has one watch.
type watchKey struct {
	path  string
	child bool
}

// watches has the armed watches of all connections. The server's mutex guards it.
type watches struct {
	armed map[watchKey]map[*conn]struct{}
	of    map[*conn]map[watchKey]struct{}
}

func newWatches() *watches {
	return &watches{make(map[watchKey]map[*conn]struct{}), make(map[*conn]map[watchKey]struct{})}
}

func (w *watches) arm(c *conn, k watchKey) {
	if w.armed[k] == nil {
		w.armed[k] = make(map[*conn]struct{})
	}
	if w.of[c] == nil {
		w.of[c] = make(map[watchKey]struct{})
	}
	w.armed[k][c] = struct{}{}
	w.of[c][k] = struct{}{}
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
	told := w.trigger(watchKey{ch.path, false}, ch.kind, nil)
	if ch.kind == zk.EventNodeDataChanged {
		return
	}
	if ch.kind == zk.EventNodeDeleted {
		// One event to a connection that watches the node both ways.
		w.trigger(watchKey{ch.path, true}, zk.EventNodeDeleted, told)
	}
	dir, _ := split(ch.path)
	w.trigger(watchKey{dir, true}, zk.EventNodeChildrenChanged, nil)
}

// trigger disarms the watches under k and tells their connections, except
// those told already. It returns whom it found.
func (w *watches) trigger(k watchKey, kind zk.EventType, told map[*conn]struct{}) map[*conn]struct{} {
	found := w.armed[k]
	delete(w.armed, k)
	for c := range found {
		delete(w.of[c], k)
		if len(w.of[c]) == 0 {
			delete(w.of, c)
		}
		if _, done := told[c]; !done {
			c.sendEvent(kind, k.path)
		}
	}
	return found
}
