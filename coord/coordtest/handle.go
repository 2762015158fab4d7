package coordtest

import (
	"strings"

	"github.com/go-zookeeper/zk"
)

// handle executes one request and sends the reply, after the events that it caused.
func (c *conn) handle(xid int32, o opcode, d *decoder) {
	r := c.replica
	switch o {
	case opPing:
		c.send(newReply(xidPing, r.tree.zxid, ok))
	case opAuth:
		c.auth(xid, d)
	case opClose:
		r.end(c.session)
		c.send(newReply(xid, r.tree.zxid, ok))
		c.finish()
	case opCreate, opCreate2, opCreateContainer, opCreateTTL, opDelete, opSetData, opSetACL, opCheck:
		c.change(xid, o, d)
	case opMulti:
		c.multi(xid, d)
	case opExists, opGetData, opGetACL, opGetChildren, opGetChildren2, opSync, opSetWatches, opSetWatches2:
		e := newReply(xid, r.tree.zxid, ok)
		result := c.look(o, d, e)
		if d.bad {
			result = errMarshalling
		}
		if result != ok {
			e = newReply(xid, r.tree.zxid, result)
		}
		c.send(e)
	default:
		if _, known := opNames[o]; known {
			c.send(newReply(xid, r.tree.zxid, errUnimplemented))
			return
		}
		c.send(newReply(xid, -1, errUnimplemented))
		c.finish()
	}
}

func (c *conn) auth(xid int32, d *decoder) {
	d.int32() // type: unused
	scheme, credential := d.string(), d.bytes()
	id, valid := authenticate(scheme, credential)
	if d.bad {
		c.drop()
		return
	}
	if !valid {
		c.send(newReply(xid, 0, errAuthFailed))
		c.finish()
		return
	}
	c.ids = append(c.ids, id)
	c.send(newReply(xid, 0, ok))
}

// change executes a transaction of one op.
func (c *conn) change(xid int32, o opcode, d *decoder) {
	r := c.replica
	x := r.begin(c.session.id, c.ids)
	req := decodeOp(o, d)
	var res result
	outcome := errMarshalling
	if !d.bad {
		res, outcome = x.apply(req)
	}
	r.commit(x)
	e := newReply(xid, r.tree.zxid, outcome)
	if outcome == ok {
		e.result(o, res)
	}
	c.send(e)
}

// result writes what an op that succeeded replies.
func (e *encoder) result(o opcode, r result) {
	switch o {
	case opCreate:
		e.string(r.path)
	case opCreate2, opCreateContainer, opCreateTTL:
		e.string(r.path)
		e.stat(r.stat)
	case opSetData, opSetACL:
		e.stat(r.stat)
	}
}

// multi executes all ops or none.
func (c *conn) multi(xid int32, d *decoder) {
	r := c.replica
	x := r.begin(c.session.id, c.ids)
	ops := decodeMulti(d)
	if d.bad {
		c.send(newReply(xid, r.tree.zxid, errMarshalling))
		return
	}
	var results []result
	failed := ok
	for _, o := range ops {
		var res result
		if res, failed = x.apply(o); failed != ok {
			x.rollback()
			break
		}
		results = append(results, res)
	}
	r.commit(x)
	e := newReply(xid, r.tree.zxid, ok) // the outcome is with the ops
	for i, o := range ops {
		if failed == ok {
			e.multiHeader(o.code, false, 0)
			e.result(o.code, results[i])
			continue
		}
		outcome := ok // of those rolled back
		switch {
		case i == len(results):
			outcome = failed
		case i > len(results):
			outcome = errInconsistency
		}
		e.multiHeader(opError, false, outcome)
		e.int32(int32(outcome))
	}
	e.multiHeader(-1, true, -1)
	c.send(e)
}

func (e *encoder) multiHeader(o opcode, done bool, c code) {
	e.int32(int32(o))
	e.bool(done)
	e.int32(int32(c))
}

func decodeMulti(d *decoder) []op {
	var ops []op
	for {
		o, done, _ := opcode(d.int32()), d.bool(), d.int32()
		if done || d.bad {
			return ops
		}
		if o == opSetACL {
			d.bad = true // not in a multi
		}
		req := decodeOp(o, d)
		// Within a multi the flags tell what to create, and the reply's layout.
		switch {
		case o != opCreate && o != opCreate2 && o != opCreateContainer:
		case req.flags == zk.FlagContainer:
			req.code = opCreateContainer
		default:
			req.code = opCreate
		}
		ops = append(ops, req)
	}
}

// look executes a request that changes nothing and writes its result to e.
func (c *conn) look(o opcode, d *decoder, e *encoder) code {
	t := c.replica.tree
	if o == opSetWatches || o == opSetWatches2 {
		return c.rearm(o, d)
	}
	path := d.string()
	watch := false
	switch o {
	case opExists, opGetData, opGetChildren, opGetChildren2:
		watch = d.bool()
	}
	if d.bad {
		return errMarshalling
	}
	switch o {
	case opSync:
		e.string(path)
		return ok
	case opExists:
		if strings.Contains(path, "\x00") {
			return errBadArguments
		}
		if watch {
			c.replica.watches.arm(c, watchKey{path, false})
		}
		n := t.find(path)
		if n == nil {
			return errNoNode
		}
		e.stat(n.visible())
		return ok
	}
	perms := int32(zk.PermRead)
	if o == opGetACL {
		perms |= zk.PermAdmin
	}
	n, failed := t.lookup(path, c.ids, perms)
	if failed != ok {
		return failed
	}
	if watch {
		c.replica.watches.arm(c, watchKey{path, o != opGetData})
	}
	switch o {
	case opGetData:
		e.bytes(n.data)
		e.stat(n.visible())
	case opGetACL:
		acl := n.acl
		if !permits(acl, c.ids, zk.PermAdmin) {
			acl = redact(acl)
		}
		e.acls(acl)
		e.stat(n.visible())
	case opGetChildren, opGetChildren2:
		e.strings(n.names())
		if o == opGetChildren2 {
			e.stat(n.visible())
		}
	}
	return ok
}

// rearm arms the watches of a client that had them on an earlier connection,
// or sends their events if they would have fired since.
func (c *conn) rearm(o opcode, d *decoder) code {
	since := d.int64()
	data, exist, child := d.strings(), d.strings(), d.strings()
	if o == opSetWatches2 {
		persistent, recursive := d.strings(), d.strings()
		if len(persistent)+len(recursive) > 0 {
			return errUnimplemented
		}
	}
	if d.bad {
		return errMarshalling
	}
	t, w := c.replica.tree, c.replica.watches
	for _, path := range data {
		switch n := t.find(path); {
		case n == nil:
			c.sendEvent(zk.EventNodeDeleted, path)
		case n.stat.Mzxid > since:
			c.sendEvent(zk.EventNodeDataChanged, path)
		default:
			w.arm(c, watchKey{path, false})
		}
	}
	for _, path := range exist {
		if t.find(path) != nil {
			c.sendEvent(zk.EventNodeCreated, path)
		} else {
			w.arm(c, watchKey{path, false})
		}
	}
	for _, path := range child {
		switch n := t.find(path); {
		case n == nil:
			c.sendEvent(zk.EventNodeDeleted, path)
		case n.stat.Pzxid > since:
			c.sendEvent(zk.EventNodeChildrenChanged, path)
		default:
			w.arm(c, watchKey{path, true})
		}
	}
	return ok
}
