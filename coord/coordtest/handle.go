package coordtest

import (
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// handle executes a request that needs no quorum, and replies.
func (c *conn) handle(q *request) {
	zxid := c.replica.tree.zxid
	if c.server.old && q.op >= jute.OpSetWatches2 {
		c.unknown(q.xid)
		return
	}
	switch q.op {
	case jute.OpPing:
		c.send(jute.NewReply(jute.XidPing, zxid, jute.OK))
	case jute.OpExists, jute.OpGetData, jute.OpGetACL, jute.OpGetChildren, jute.OpGetChildren2, jute.OpSync,
		jute.OpSetWatches, jute.OpSetWatches2, jute.OpAddWatch, jute.OpRemoveWatches, jute.OpCheckWatches:
		e := jute.NewReply(q.xid, zxid, jute.OK)
		result := c.look(q.op, q.fields, e)
		if q.fields.Bad() {
			result = jute.CodeMarshalling
		}
		if result != jute.OK {
			e = jute.NewReply(q.xid, zxid, result)
		}
		c.send(e)
	default:
		if q.op.Known() {
			c.send(jute.NewReply(q.xid, zxid, jute.CodeUnimplemented))
			return
		}
		c.unknown(q.xid)
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
