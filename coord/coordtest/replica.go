package coordtest

import (
	"maps"
	"slices"
	"time"
)

// A kind says how servers are in touch with the leader.
type kind uint8

const (
	current  kind = iota // the leader, and those that have done all that it has
	lagging              // they do what the leader has done later
	isolated             // a former leader, without followers
)

// A replica is what servers of one kind know, and which clients are connected to them.
// One stands for all that are current, and one for each other server. The server's
// mutex guards it.
type replica struct {
	server   *Server
	kind     kind
	addr     string // of the one server, unless it is current
	tree     *tree
	watches  *watches
	conns    map[*conn]struct{}
	sessions map[int64]*session

	behind []func(*replica) // what others have done and it has not; of one that lags
	lags   int              // Lags not yet healed
}

func newReplica(s *Server) *replica {
	return &replica{
		server:   s,
		tree:     newTree(),
		watches:  newWatches(),
		conns:    make(map[*conn]struct{}),
		sessions: make(map[int64]*session),
	}
}

// fork returns a server that knows what r does. It has those connections of r for which
// clients have dialed addr.
func (r *replica) fork(k kind, addr string) *replica {
	one := newReplica(r.server)
	one.kind, one.addr = k, addr
	one.copy(r)
	for _, c := range r.connections() {
		if c.live() && c.addr == addr {
			one.take(c)
		}
	}
	return one
}

// copy makes r know what from does. It has no connections.
func (r *replica) copy(from *replica) {
	r.tree = from.tree.clone()
	clear(r.sessions)
	for id, ss := range from.sessions {
		known := *ss
		r.sessions[id] = &known
	}
	r.behind = nil
}

// connections returns the connections to r in a fixed order.
func (r *replica) connections() []*conn {
	return slices.SortedFunc(maps.Keys(r.conns), compareConns)
}

// take makes c, with its watches, a connection to r.
func (r *replica) take(c *conn) {
	from := c.replica
	delete(from.conns, c)
	r.conns[c] = struct{}{}
	for k := range maps.Clone(from.watches.of[c]) {
		mode := from.watches.armed[k][c]
		from.watches.disarm(c, k)
		r.watches.arm(c, k, mode)
	}
	c.replica = r
	if c.session != nil && !c.over {
		c.session = r.sessions[c.session.id]
	}
}

// hangUp drops the connections of a session to r but the one given, which may be nil.
func (r *replica) hangUp(session int64, but *conn) {
	var theirs []*conn
	for c := range r.conns {
		if c.live() && c.session.id == session && c != but {
			theirs = append(theirs, c)
		}
	}
	slices.SortFunc(theirs, compareConns)
	for _, c := range theirs {
		c.drop()
	}
}

// reap deletes the containers that are done with.
func (s *Server) reap() {
	now := time.Now().UnixMilli()
	for _, path := range slices.Sorted(maps.Keys(s.tree.containers)) {
		if n := s.tree.nodes[path]; n.stat.Cversion != 0 && len(n.children) == 0 {
			s.commit(func(r *replica) {
				x := r.begin(0, nil, now)
				x.remove(path)
				r.announce(x)
			})
		}
	}
}

// begin starts a transaction on behalf of a session, in milliseconds since 1970.
func (r *replica) begin(session int64, ids []identity, now int64) *txn {
	return r.tree.begin(session, ids, now)
}

// announce sends the events of a transaction.
func (r *replica) announce(x *txn) {
	for _, ch := range x.changes {
		r.watches.fire(ch)
		if _, found := r.tree.containers[ch.path]; found {
			r.server.wake() // it is perhaps the first one
		}
	}
}
