package coord

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// The servers forget a client's watches with the connection. So the session keeps a list
// of what is armed, and presents it to the next server: behind the handshake, before
// anything else is asked for.

// An armory is what is armed in a session: the paths in each of the three tables that
// servers keep as well. One watch a path is enough, whoever wants it. The paths in tree
// are those below which all events are to be told; true if the server has agreed.
type armory struct {
	data, exist, child map[string]struct{}
	tree               map[string]bool
}

// arm notes that the answer to q has this code, if q was to arm a watch. It is called with
// c.mu held.
func (s *Session) arm(q *call, code jute.Code) {
	if q.watch == "" {
		return
	}
	table := &s.armed.data
	switch {
	case code == jute.CodeNoNode && q.op == jute.OpExists:
		table = &s.armed.exist
	case code != jute.OK:
		return
	case q.op == jute.OpGetChildren2, q.op == jute.OpSetWatches:
		table = &s.armed.child
	}
	if *table == nil {
		*table = make(map[string]struct{})
	}
	(*table)[q.watch] = struct{}{}
}

// fired takes note of an event, and so of which watches it has used up.
func (a *armory) fired(t zk.EventType, path string) {
	switch t {
	case zk.EventNodeCreated:
		delete(a.exist, path)
	case zk.EventNodeDataChanged:
		delete(a.exist, path)
		delete(a.data, path)
	case zk.EventNodeChildrenChanged:
		delete(a.child, path)
	case zk.EventNodeDeleted:
		delete(a.exist, path)
		delete(a.data, path)
		delete(a.child, path)
	}
}

// event takes an event, and returns what go-zookeeper is to see of it: nothing, unless a
// program has armed watches with the library. It is passed on before any answer that
// comes behind it.
func (t *tappedConn) event(frame []byte, d *jute.Decoder) ([]byte, error) {
	ev := d.Event()
	if d.Bad() {
		return nil, fmt.Errorf("%w: event of %d bytes", errMangled, len(frame))
	}
	s, kind := t.s, zk.EventType(ev.Type)
	if kind == zk.EventSession {
		return frame, nil
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.armed.fired(kind, ev.Path)
	if s.Err() == nil {
		s.c.loop.Event(zk.Event{Type: kind, Path: ev.Path})
	}
	if !s.shared {
		return nil, nil
	}
	return frame, nil
}

// maxSetWatches is how many bytes of paths are presented in one request.
const maxSetWatches = 128 << 10

// rearm presents to the server what is armed. The requests are on their way before any
// that the program makes on this connection.
func (t *tappedConn) rearm() {
	s := t.s
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if s.Err() != nil || s.wire != t || t.ended {
		return
	}
	t.rearmTrees()
	var w jute.SetWatches
	size := 0
	flush := func() {
		if size == 0 {
			return
		}
		these := w
		these.Zxid = t.seen
		t.send(&call{op: jute.OpSetWatches, frame: setWatchesFrame(these), own: true, then: func(a answer) {
			if a.err == nil {
				s.c.loop.Rearmed(these.Data, these.Exist, these.Child)
			}
		}})
		w, size = jute.SetWatches{}, 0
	}
	for _, x := range []struct {
		from map[string]struct{}
		to   *[]string
	}{{s.armed.data, &w.Data}, {s.armed.exist, &w.Exist}, {s.armed.child, &w.Child}} {
		for _, path := range slices.Sorted(maps.Keys(x.from)) {
			*x.to = append(*x.to, path)
			if size += 4 + len(path); size >= maxSetWatches {
				flush()
			}
		}
	}
	flush()
}
