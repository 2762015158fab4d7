package watch

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
)

// A Source is where a [Loop] reads.
type Source interface {
	// Read calls r.Do with a connection of the present session, as soon as there
	// is one, and returns what that returns; or an error, if the session ends
	// first. It is called on a goroutine of its own, and blocks.
	Read(r *Read) (*Answer, error)
	// Refused reports whether err is the ensemble's answer, and no accident of
	// the connection after which it makes sense to ask again.
	Refused(err error) bool
	// Ended returns the error with which a stream on path, as its subscriber
	// wrote it, ends because of cause.
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

// A Directory is a [Conn] that can tell whether a znode exists, and arm a watch on its
// children before, without listing them.
type Directory interface {
	Count(path string, arm bool) (bool, *zk.Stat, error)
}

// A Planter is a [Source] that can ask for the events of all that is below a path.
type Planter interface {
	// Plant asks for them, and reports whether it has. They may not come all the same. The
	// watches on the path itself may be lost with it; what is read afterwards arms new
	// ones. It does not block, and neither does Uproot.
	Plant(path string) bool
	// Uproot wants them no longer. The watches on the path may be lost as well.
	Uproot(path string)
}

// A watch is one of the three tables in which the session, like the server, keeps what is
// armed. An event empties some of them for its path. Which ones must be known exactly: an
// entry that relied on a watch which is not armed would miss every change from then on.
type watch uint8

const (
	unarmed watch = iota
	onData        // by GetW, or ExistsW on a znode that is there
	onExist       // by ExistsW on a znode that is not
	onChild       // by ChildrenW
)

var watches = [...]string{"unarmed", "on data", "on existence", "on children"}

func (w watch) String() string { return watches[w] }

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

// canFire reports whether an event of type t can use up the watch that a read of kind k
// arms. While the read is under way it is not known whether the znode exists, and so not
// in which table that is.
func canFire(k event.Kind, t zk.EventType) bool {
	there := onData
	if k == event.Children {
		there = onChild
	}
	return there.firedBy(t) || onExist.firedBy(t)
}

// A Read says what is to be read.
type Read struct {
	key
	arm bool // leave a watch behind
	// known, if it Exists, is what was read before. Data that are still the same are not
	// asked for again: after a reconnect everything is read, and little has changed.
	known event.Snapshot
	// brief says that the Stat of the directory will do instead of its children.
	brief bool
}

func (r *Read) String() string {
	if r.arm {
		return fmt.Sprint("read and arm ", r.key)
	}
	return fmt.Sprint("read ", r.key)
}

// Lists reports whether the Loop is to learn of the answer when it comes from the server,
// by [Loop.Replied].
func (r *Read) Lists() bool { return r.kind == event.Children }

// Path returns the absolute path of what is to be read.
func (r *Read) Path() string { return r.path }

// An Answer is what has been read.
type Answer struct {
	snap  event.Snapshot // of a missing znode if it does not Exist
	armed watch          // the one left behind
	brief bool           // snap is without children
}

// Do reads through c, in one request or in several. Of several the last is what counts,
// and it is the one that arms the watch.
func (r *Read) Do(c Conn) (*Answer, error) {
	if d, ok := c.(Directory); ok && r.brief {
		there, stat, err := d.Count(r.path, r.arm)
		switch {
		case err != nil:
			return nil, err
		case there && r.arm:
			return &Answer{event.Snapshot{Exists: true, Stat: event.Stat(*stat)}, onChild, true}, nil
		case there:
			return &Answer{event.Snapshot{Exists: true, Stat: event.Stat(*stat)}, unarmed, true}, nil
		}
	}
	snap, armed, err := r.do(c)
	if err != nil {
		return nil, err
	}
	return &Answer{snap, armed, false}, nil
}

func (r *Read) do(c Conn) (event.Snapshot, watch, error) {
	// Only for a read that arms nothing, because its watch is still armed, as after a
	// reconnect: the data are then most likely what they were.
	if r.known.Exists && !r.arm && r.kind == event.Data {
		snap, _, err := readOnce(c, r.path, event.Presence, false)
		if err != nil || !snap.Exists {
			return snap, unarmed, err
		}
		if snap.Czxid == r.known.Czxid && snap.Mzxid == r.known.Mzxid {
			snap.Data = r.known.Data
			return snap, unarmed, nil
		}
	}
	for {
		snap, armed, err := readOnce(c, r.path, r.kind, r.arm)
		if !errors.Is(err, zk.ErrNoNode) {
			return snap, armed, err
		}
		if !r.arm || r.untilDeleted {
			return event.Snapshot{}, unarmed, nil
		}
		// Reading a missing znode arms nothing; asking whether it exists does.
		// If it has come in the meantime, read it after all: each turn of this
		// loop takes a create and a delete by someone else.
		snap, armed, err = readOnce(c, r.path, event.Presence, true)
		if err != nil || !snap.Exists {
			return snap, armed, err
		}
	}
}

// readOnce makes one request. It returns the watch that the request has armed, if it was
// to arm one: which table that is in depends, for Presence, on whether the znode exists.
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
		snap.Stat = event.Stat(*stat)
	}
	if !arm {
		w = unarmed
	}
	return snap, w, nil
}

// unsuspended returns s as an answer would have it.
func unsuspended(s event.Snapshot) event.Snapshot {
	s.Suspended = false
	return s
}

// same reports whether a and b are the same to a subscriber of kind. It compares
// transaction ids and not versions: a znode deleted and created anew starts again
// at version zero.
func same(kind event.Kind, a, b event.Snapshot) bool {
	if a.Exists != b.Exists || a.Suspended != b.Suspended || a.Czxid != b.Czxid {
		return false
	}
	switch kind {
	case event.Data:
		return a.Mzxid == b.Mzxid
	case event.Children:
		// The names are compared too: a server that is asked in the middle of a
		// burst may give the parent's ids and its children of two moments.
		return a.Pzxid == b.Pzxid && a.Cversion == b.Cversion && slices.Equal(a.Children, b.Children)
	}
	return true
}
