package coordtest

import (
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// handle executes one request and sends the reply, after the events that it caused.
func (c *conn) handle(xid int32, o jute.Op, d *jute.Decoder) {
	r := c.replica
	if c.server.old && o >= jute.OpSetWatches2 {
		c.unknown(xid)
		return
	}
	switch o {
	case jute.OpPing:
		c.send(jute.NewReply(jute.XidPing, r.tree.zxid, jute.OK))
	case jute.OpAuth:
		c.auth(xid, d)
	case jute.OpClose:
		r.end(c.session)
		c.send(jute.NewReply(xid, r.tree.zxid, jute.OK))
		c.finish()
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL, jute.OpDelete, jute.OpSetData, jute.OpSetACL, jute.OpCheck:
		c.change(xid, o, d)
	case jute.OpMulti:
		c.multi(xid, d)
	case jute.OpExists, jute.OpGetData, jute.OpGetACL, jute.OpGetChildren, jute.OpGetChildren2, jute.OpSync,
		jute.OpSetWatches, jute.OpSetWatches2, jute.OpAddWatch, jute.OpRemoveWatches, jute.OpCheckWatches:
		e := jute.NewReply(xid, r.tree.zxid, jute.OK)
		result := c.look(o, d, e)
		if d.Bad() {
			result = jute.CodeMarshalling
		}
		if result != jute.OK {
			e = jute.NewReply(xid, r.tree.zxid, result)
		}
		c.send(e)
	default:
		if o.Known() {
			c.send(jute.NewReply(xid, r.tree.zxid, jute.CodeUnimplemented))
			return
		}
		c.unknown(xid)
	}
}

// unknown answers a request of a kind that the server has not heard of.
func (c *conn) unknown(xid int32) {
	c.send(jute.NewReply(xid, -1, jute.CodeUnimplemented))
	c.finish()
}

func (c *conn) auth(xid int32, d *jute.Decoder) {
	a := d.Auth()
	id, valid := authenticate(a.Scheme, a.Credential)
	if d.Bad() {
		c.drop()
		return
	}
	if !valid {
		c.send(jute.NewReply(xid, 0, jute.CodeAuthFailed))
		c.finish()
		return
	}
	c.ids = append(c.ids, id)
	c.send(jute.NewReply(xid, 0, jute.OK))
}

// change executes a transaction of one op.
func (c *conn) change(xid int32, o jute.Op, d *jute.Decoder) {
	r := c.replica
	x := r.begin(c.session.id, c.ids)
	req := decodeOp(o, d)
	var res result
	outcome := jute.CodeMarshalling
	if !d.Bad() {
		res, outcome = x.apply(req)
	}
	r.commit(x)
	e := jute.NewReply(xid, r.tree.zxid, outcome)
	if outcome == jute.OK {
		res.encode(e, o)
	}
	c.send(e)
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
func (c *conn) multi(xid int32, d *jute.Decoder) {
	r := c.replica
	x := r.begin(c.session.id, c.ids)
	ops := decodeMulti(d)
	if d.Bad() {
		c.send(jute.NewReply(xid, r.tree.zxid, jute.CodeMarshalling))
		return
	}
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
	r.commit(x)
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
	c.send(e)
}

func decodeMulti(d *jute.Decoder) []op {
	var ops []op
	for {
		h := d.MultiHeader()
		if h.Done || d.Bad() {
			return ops
		}
		if h.Op == jute.OpSetACL {
			d.Fail() // not in a multi
		}
		req := decodeOp(h.Op, d)
		// Within a multi the flags tell what to create, and the reply's layout.
		switch {
		case h.Op != jute.OpCreate && h.Op != jute.OpCreate2 && h.Op != jute.OpCreateContainer:
		case req.flags == zk.FlagContainer:
			req.code = jute.OpCreateContainer
		default:
			req.code = jute.OpCreate
		}
		ops = append(ops, req)
	}
}

// look executes a request that changes nothing and writes its result to e.
func (c *conn) look(o jute.Op, d *jute.Decoder, e *jute.Encoder) jute.Code {
	t := c.replica.tree
	if o == jute.OpSetWatches || o == jute.OpSetWatches2 {
		return c.rearm(o, d)
	}
	path := d.String()
	watch := false
	switch o {
	case jute.OpAddWatch, jute.OpRemoveWatches, jute.OpCheckWatches:
		kind := d.Int32()
		switch {
		case d.Bad():
			return jute.CodeMarshalling
		case o == jute.OpAddWatch:
			return c.addWatch(path, kind, e)
		}
		return c.removeWatches(path, kind, o == jute.OpRemoveWatches)
	case jute.OpExists, jute.OpGetData, jute.OpGetChildren, jute.OpGetChildren2:
		watch = d.Bool()
	}
	if d.Bad() {
		return jute.CodeMarshalling
	}
	switch o {
	case jute.OpSync:
		e.String(path)
		return jute.OK
	case jute.OpExists:
		if strings.Contains(path, "\x00") {
			return jute.CodeBadArguments
		}
		if watch {
			c.replica.watches.arm(c, watchKey{path, false}, once)
		}
		n := t.find(path)
		if n == nil {
			return jute.CodeNoNode
		}
		e.Stat(n.visible())
		return jute.OK
	}
	perms := int32(zk.PermRead)
	if o == jute.OpGetACL {
		perms |= zk.PermAdmin
	}
	n, failed := t.lookup(path, c.ids, perms)
	if failed != jute.OK {
		return failed
	}
	if watch {
		c.replica.watches.arm(c, watchKey{path, o != jute.OpGetData}, once)
	}
	switch o {
	case jute.OpGetData:
		e.Bytes(n.data)
		e.Stat(n.visible())
	case jute.OpGetACL:
		acl := n.acl
		if !permits(acl, c.ids, zk.PermAdmin) {
			acl = redact(acl)
		}
		e.ACLs(acl)
		e.Stat(n.visible())
	case jute.OpGetChildren, jute.OpGetChildren2:
		e.Strings(n.names())
		if o == jute.OpGetChildren2 {
			e.Stat(n.visible())
		}
	}
	return jute.OK
}

// rearm arms the watches of a client that had them on an earlier connection,
// or sends their events if they would have fired since.
func (c *conn) rearm(o jute.Op, d *jute.Decoder) jute.Code {
	since := d.SetWatches()
	var stay [2][]string // that are persistent, and that are recursive
	if o == jute.OpSetWatches2 {
		stay = [2][]string{d.Strings(), d.Strings()}
	}
	if d.Bad() {
		return jute.CodeMarshalling
	}
	t, w := c.replica.tree, c.replica.watches
	for _, path := range since.Data {
		switch n := t.find(path); {
		case n == nil:
			c.sendEvent(zk.EventNodeDeleted, path)
		case n.stat.Mzxid > since.Zxid:
			c.sendEvent(zk.EventNodeDataChanged, path)
		default:
			w.arm(c, watchKey{path, false}, once)
		}
	}
	for _, path := range since.Exist {
		if t.find(path) != nil {
			c.sendEvent(zk.EventNodeCreated, path)
		} else {
			w.arm(c, watchKey{path, false}, once)
		}
	}
	for _, path := range since.Child {
		switch n := t.find(path); {
		case n == nil:
			c.sendEvent(zk.EventNodeDeleted, path)
		case n.stat.Pzxid > since.Zxid:
			c.sendEvent(zk.EventNodeChildrenChanged, path)
		default:
			w.arm(c, watchKey{path, true}, once)
		}
	}
	for i, paths := range stay {
		for _, path := range paths {
			w.armBoth(c, path, persistent+watchMode(i))
		}
	}
	return jute.OK
}
