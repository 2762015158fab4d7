package coord

import (
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// A recursive watch tells of all that happens at and below a path, and stays armed. Servers
// before 3.6 do not know it, and hang up on a client that asks for one. So it is asked for
// only where much can be saved, and no more in a session that has met such a server.
//
// Many servers have one mode for all watches of a connection on one path, so that a
// recursive watch and others there get into each other's way:
//
//   - A recursive watch has no events of children, and one on the children that is there
//     before it has none from then on. One that is armed later is told.
//   - A watch on the data that is armed later ends the recursive one.
//
// Newer servers do not tell of a znode that the client may not read. And after a
// reconnect nothing is announced that has happened meanwhile. Therefore nobody relies on
// these events for more than speed: see package watch.

// maxHangUps is how many connections in a row may end with the request for a recursive
// watch unanswered. One may have been lost for another reason.
const maxHangUps = 2

// Plant implements [watch.Planter].
func (s source) Plant(path string) bool {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	session := s.c.session
	t := session.wire
	if session.Err() != nil || session.treeless || session.shared || t == nil || t.ended {
		return false // watches of the program might never be told
	}
	if session.armed.tree == nil {
		session.armed.tree = make(map[string]bool)
	}
	session.armed.tree[path] = false
	// What the session itself asks for goes before all that waits at the gate.
	t.send(&call{op: jute.OpAddWatch, frame: addWatchFrame(path), own: true, then: func(a answer) {
		session.askedForTrees(a)
		_, still := session.armed.tree[path]
		switch {
		case a.err != nil || !still:
			delete(session.armed.tree, path)
		case session.shared:
			// The program has armed a watch meanwhile, perhaps before this one. All are
			// armed again, in the right order, on the next connection.
			t.abort()
		default:
			session.armed.tree[path] = true
		}
	}})
	return true
}

// Uproot implements [watch.Planter].
func (s source) Uproot(path string) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	session := s.c.session
	if _, armed := session.armed.tree[path]; !armed {
		return // in an earlier session, perhaps
	}
	delete(session.armed.tree, path)
	if t := session.wire; session.Err() == nil && !t.ended {
		for _, table := range []map[string]struct{}{session.armed.data, session.armed.exist, session.armed.child} {
			delete(table, path)
		}
		t.send(&call{op: jute.OpRemoveWatches, frame: removeWatchesFrame(path), own: true})
	}
}

// askedForTrees takes note of the answer to a request for recursive watches. It is called
// with c.mu held.
func (s *Session) askedForTrees(a answer) {
	switch {
	case a.err == nil:
		s.refusals = 0
	case !a.sent:
	case errors.Is(a.err, zk.ErrConnectionClosed):
		s.refusals++
		s.treeless = s.treeless || s.refusals >= maxHangUps
	default:
		s.treeless = true
	}
	if s.treeless {
		s.armed.tree = nil
	}
}

// rearmTrees presents the recursive watches to the server, before all others: those on
// the same paths must come later. It is called with c.mu held.
func (t *tappedConn) rearmTrees() {
	s := t.s
	var trees []string
	for path, agreed := range s.armed.tree {
		if agreed {
			trees = append(trees, path)
		}
	}
	if len(trees) > 0 {
		t.send(&call{op: jute.OpSetWatches2, frame: setTreesFrame(trees), own: true, then: s.askedForTrees})
	}
}
