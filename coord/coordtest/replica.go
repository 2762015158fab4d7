package coordtest

import (
	"maps"
	"slices"
	"time"
)

// A replica is what servers know that are in touch with each other, and which clients
// are connected to them. There is one, and while a leader is isolated another of its
// own. The server's mutex guards it.
type replica struct {
	server   *Server
	tree     *tree
	watches  *watches
	conns    map[*conn]struct{}
	sessions map[int64]*session
	last     int64 // newest session
	isolated bool  // has no quorum
}

func newReplica(s *Server) *replica {
	return &replica{
		server:   s,
		tree:     newTree(),
		watches:  newWatches(),
		conns:    make(map[*conn]struct{}),
		sessions: make(map[int64]*session),
		last:     1 << 56, // as real ids are: large, and with the server's own id in front
	}
}

func (r *replica) reap() {
	for _, path := range slices.Sorted(maps.Keys(r.tree.containers)) {
		if n := r.tree.nodes[path]; n.stat.Cversion != 0 && len(n.children) == 0 {
			x := r.begin(0, nil)
			x.remove(path)
			r.commit(x)
		}
	}
}

// begin starts a transaction on behalf of a session.
func (r *replica) begin(session int64, ids []identity) *txn {
	return r.tree.begin(session, ids, time.Now().UnixMilli())
}

// commit sends the events of a transaction.
func (r *replica) commit(x *txn) {
	for _, ch := range x.changes {
		r.watches.fire(ch)
		if _, found := r.tree.containers[ch.path]; found {
			r.server.wake() // it is perhaps the first one
		}
	}
}
