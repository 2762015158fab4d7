package coordtest

import (
	"time"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// opOpen stands for the request to open a session.
const opOpen jute.Op = -10

// A request is one that has come on a connection with a session.
type request struct {
	conn   *conn
	xid    int32
	op     jute.Op
	fields *jute.Decoder
}

// commits reports whether requests of kind o are carried out by r only after the
// leader and a quorum have agreed to them. A server that lags learns of the end of a
// sync in the same order.
func (r *replica) commits(o jute.Op) bool {
	switch o {
	case opOpen, jute.OpCheck, jute.OpClose:
		return true
	case jute.OpSync:
		return r.kind == lagging
	}
	return o.Writes()
}

// submit carries out a request, or has it wait: for the servers, if it is one of those
// that commit, or for such a one of the same session before it. The latter is so on
// whatever connection to this server.
func (r *replica) submit(q *request) {
	ss, commits := q.conn.session, r.commits(q.op)
	if r.kind != current && (commits || len(ss.queue) > 0) {
		ss.queue = append(ss.queue, q)
	}
	switch {
	case commits && r.kind != isolated:
		r.server.propose(q)
	case r.kind == current && !r.server.entitled(q):
		q.conn.finish() // as a leader does, which looks at reads, too
	case len(ss.queue) == 0:
		q.conn.handle(q)
	}
}

// next goes on with what waits behind q, which has been carried out.
func (r *replica) next(q *request) {
	if r.kind == current {
		return
	}
	ss := q.conn.session
	for ss.queue = ss.queue[1:]; len(ss.queue) > 0 && !r.commits(ss.queue[0].op); ss.queue = ss.queue[1:] {
		if q := ss.queue[0]; !q.conn.over {
			q.conn.handle(q)
		}
	}
}

// commit makes do the next thing that the servers do: those that are current now, and
// the others when they get to it.
func (s *Server) commit(do func(r *replica)) {
	do(s.replica)
	for _, r := range s.lagging {
		r.behind = append(r.behind, do)
	}
}

// propose has the servers carry out a request. The one that it has come to replies when
// it gets to it.
func (s *Server) propose(q *request) {
	c := q.conn
	do := q.transaction()
	if !s.entitled(q) {
		do = func(r *replica) *jute.Encoder {
			r.tree.zxid++
			return nil
		}
	}
	s.commit(func(r *replica) {
		reply := do(r)
		if c.replica != r {
			return
		}
		switch {
		case reply == nil:
			c.finish()
		case q.op == jute.OpClose:
			c.send(reply)
			c.finish()
		default:
			c.send(reply)
		}
		r.next(q)
	})
}

// entitled reports whether the leader lets a request pass: the session lives, and has
// not gone on to another connection. The end of a session needs neither, nor does a sync
// that a follower passes on.
func (s *Server) entitled(q *request) bool {
	if q.op == jute.OpClose || q.op == jute.OpSync && q.conn.replica.kind == lagging {
		return true
	}
	ss := s.sessions[q.conn.session.id]
	return ss != nil && ss.owner == q.conn
}

// transaction returns what every server does to carry out q, each at its time. It
// returns the reply, of which only one server makes use.
func (q *request) transaction() func(r *replica) *jute.Encoder {
	c, ids, now := q.conn, q.conn.ids, time.Now().UnixMilli()
	session := c.session.id
	switch q.op {
	case jute.OpClose:
		return func(r *replica) *jute.Encoder {
			r.end(session, c, now)
			return jute.NewReply(q.xid, r.tree.zxid, jute.OK)
		}
	case jute.OpSync:
		path := q.fields.String()
		return func(r *replica) *jute.Encoder {
			if q.fields.Bad() {
				return jute.NewReply(q.xid, r.tree.zxid, jute.CodeMarshalling)
			}
			e := jute.NewReply(q.xid, r.tree.zxid, jute.OK)
			e.String(path)
			return e
		}
	case jute.OpMulti:
		ops := decodeMulti(q.fields)
		return func(r *replica) *jute.Encoder {
			x := r.begin(session, ids, now)
			if q.fields.Bad() {
				return jute.NewReply(q.xid, r.tree.zxid, jute.CodeMarshalling)
			}
			return r.multi(q.xid, x, ops)
		}
	case jute.OpReconfig, jute.OpDeleteContainer:
		return func(r *replica) *jute.Encoder { return jute.NewReply(q.xid, r.tree.zxid, jute.CodeUnimplemented) }
	}
	o := decodeOp(q.op, q.fields)
	return func(r *replica) *jute.Encoder {
		x := r.begin(session, ids, now)
		var res result
		outcome := jute.CodeMarshalling
		if !q.fields.Bad() {
			res, outcome = x.apply(o)
		}
		r.announce(x)
		e := jute.NewReply(q.xid, r.tree.zxid, outcome)
		if outcome == jute.OK {
			res.encode(e, o.code)
		}
		return e
	}
}

// encode appends what an op that succeeded replies.
func (r result) encode(e *jute.Encoder, o jute.Op) {
	switch o {
	case jute.OpCreate:
		e.String(r.path)
	case jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		e.String(r.path)
		e.Stat(r.stat)
	case jute.OpSetData, jute.OpSetACL:
		e.Stat(r.stat)
	}
}

// multi executes all ops or none.
func (r *replica) multi(xid int32, x *txn, ops []op) *jute.Encoder {
	var results []result
	failed := jute.OK
	for _, o := range ops {
		var res result
		if res, failed = x.apply(o); failed != jute.OK {
			x.rollback()
			break
		}
		results = append(results, res)
	}
	r.announce(x)
	e := jute.NewReply(xid, r.tree.zxid, jute.OK) // the outcome is with the ops
	for i, o := range ops {
		if failed == jute.OK {
			e.MultiHeader(jute.MultiHeader{Op: o.code})
			results[i].encode(e, o.code)
			continue
		}
		outcome := jute.OK // of those rolled back
		switch {
		case i == len(results):
			outcome = failed
		case i > len(results):
			outcome = jute.CodeInconsistency
		}
		e.MultiHeader(jute.MultiHeader{Op: jute.OpError, Code: outcome})
		e.Int32(int32(outcome))
	}
	e.MultiHeader(jute.MultiHeader{Op: -1, Done: true, Code: -1})
	return e
}
