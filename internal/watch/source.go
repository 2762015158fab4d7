package watch

import (
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
)

// A Source is where a [Loop] reads.
type Source interface {
	// Request calls f with a connection once a session is established, and
	// returns its error; or an error of its own if there can be no connection
	// any more. It may block; each call is on a goroutine of its own. If it
	// returns an error, f may be running still.
	Request(f func(Conn) error) error
	// Refused reports whether err is the ensemble's answer, and no accident of
	// the connection after which it makes sense to ask again.
	Refused(err error) bool
	// Ended returns what a stream on path, as its subscriber wrote it, shall
	// say of its end for the reason cause.
	Ended(path string, cause error) error
}

// A Conn is what a [Loop] needs of a connection. *zk.Conn is one.
type Conn interface {
	Exists(path string) (bool, *zk.Stat, error)
	ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error)
	Get(path string) ([]byte, *zk.Stat, error)
	GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error)
	Children(path string) ([]string, *zk.Stat, error)
	ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error)
}

// A watch is one of the three tables in which go-zookeeper, like the server,
// keeps what is armed. An event empties some of them for its path, and which
// ones must be known exactly: an entry thought armed that is not would be deaf.
type watch uint8

const (
	unarmed watch = iota
	onData        // by GetW, or ExistsW on a znode that is there
	onExist       // by ExistsW on a znode that is not
	onChild       // by ChildrenW
)

// firedBy reports whether an event of type t uses up w.
func (w watch) firedBy(t zk.EventType) bool {
	switch t {
	case zk.EventNodeCreated:
		return w == onExist
	case zk.EventNodeDataChanged:
		return w == onExist || w == onData
	case zk.EventNodeChildrenChanged:
		return w == onChild
	case zk.EventNodeDeleted:
		return w != unarmed
	}
	return false
}

// canFire reports whether a watch of kind k, on a znode that is there or not,
// can be used up by an event of type t.
func canFire(k event.Kind, t zk.EventType) bool {
	there := onData
	if k == event.Children {
		there = onChild
	}
	return there.firedBy(t) || onExist.firedBy(t)
}

// A readRequest is what is to be read.
type readRequest struct {
	key
	arm bool // leave a watch behind
	// known, if it Exists, is what was read before. The bytes are not asked for
	// again if they are the same.
	known event.Snapshot
}

// read takes a snapshot. If a watch is to be left behind, it says which. A
// snapshot of a missing znode is no error.
func (w readRequest) read(c Conn) (event.Snapshot, watch, error) {
	if w.known.Exists && !w.arm && w.kind == event.Data {
		snap, _, err := readOnce(c, w.path, event.Presence, false)
		if err != nil || !snap.Exists {
			return snap, unarmed, err
		}
		if snap.Czxid == w.known.Czxid && snap.Mzxid == w.known.Mzxid {
			snap.Data = w.known.Data
			return snap, unarmed, nil
		}
	}
	for {
		snap, armed, err := readOnce(c, w.path, w.kind, w.arm)
		if !errors.Is(err, zk.ErrNoNode) {
			return snap, armed, err
		}
		if !w.arm || w.untilDeleted {
			return event.Snapshot{}, unarmed, nil
		}
		// Reading a missing znode arms nothing; asking whether it exists does.
		// If it has come in the meantime, read it after all: each turn of this
		// loop takes a create and a delete by someone else.
		snap, armed, err = readOnce(c, w.path, event.Presence, true)
		if err != nil || !snap.Exists {
			return snap, armed, err
		}
	}
}

func readOnce(c Conn, path string, kind event.Kind, arm bool) (event.Snapshot, watch, error) {
	var (
		snap event.Snapshot
		stat *zk.Stat
		w    watch
		err  error
	)
	switch kind {
	case event.Presence:
		w = onData
		if arm {
			snap.Exists, stat, _, err = c.ExistsW(path)
		} else {
			snap.Exists, stat, err = c.Exists(path)
		}
		if !snap.Exists {
			w, stat = onExist, nil
		}
	case event.Children:
		w, snap.Exists = onChild, true
		if arm {
			snap.Children, stat, _, err = c.ChildrenW(path)
		} else {
			snap.Children, stat, err = c.Children(path)
		}
		slices.Sort(snap.Children)
	default:
		w, snap.Exists = onData, true
		if arm {
			snap.Data, stat, _, err = c.GetW(path)
		} else {
			snap.Data, stat, err = c.Get(path)
		}
	}
	if err != nil {
		return event.Snapshot{}, unarmed, err
	}
	if stat != nil {
		snap.Stat = *stat
	}
	if !arm {
		w = unarmed
	}
	return snap, w, nil
}
