package coordtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/jute"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// A change is what a transaction did to one node, in the terms of watch events.
type change struct {
	kind        zk.EventType // created, deleted or data changed
	path        string
	acl, dirACL []zk.ACL // of the node, and of that above it
}

// An op is one request to change the tree, or one part of a multi.
type op struct {
	code    jute.Op
	path    string
	data    []byte
	acl     []zk.ACL
	flags   int32
	version int32
}

// A result is what an op that succeeded replies. Which parts count depends on the op.
type result struct {
	path string
	stat zk.Stat
}

// decodeOp reads the fields of a request to change the tree.
func decodeOp(c jute.Op, d *jute.Decoder) op {
	o := op{code: c}
	switch c {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		r := d.Create()
		o.path, o.data, o.acl, o.flags = r.Path, r.Data, r.ACL, r.Flags
		if c == jute.OpCreateTTL {
			d.Int64()
		}
	case jute.OpDelete, jute.OpCheck:
		r := d.Versioned()
		o.path, o.version = r.Path, r.Version
	case jute.OpSetData:
		r := d.SetData()
		o.path, o.data, o.version = r.Path, r.Data, r.Version
	case jute.OpSetACL:
		o.path, o.acl, o.version = d.String(), d.ACLs(), d.Int32()
	default:
		d.Fail()
	}
	return o
}

// decodeMulti reads the ops of a multi.
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

// A txn is a transaction in progress. Its ops take effect at once and can be undone.
type txn struct {
	*tree
	session int64
	ids     []identity
	now     int64 // milliseconds since 1970
	changes []change
	undo    []func()

	// counters has the parents' next sequence numbers as this transaction
	// sees them, which may have wrapped around: the tree never stores a
	// smaller one (see create).
	counters map[*node]int32
}

// begin starts a transaction; it uses up a zxid even if it fails.
func (t *tree) begin(session int64, ids []identity, now int64) *txn {
	t.zxid++
	return &txn{tree: t, session: session, ids: ids, now: now, counters: make(map[*node]int32)}
}

func (x *txn) rollback() {
	for _, f := range slices.Backward(x.undo) {
		f()
	}
	x.undo, x.changes = nil, nil
}

// apply carries out one op. If it fails it has changed nothing.
func (x *txn) apply(o op) (result, jute.Code) {
	switch o.code {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		return x.create(o)
	case jute.OpDelete:
		return x.delete(o)
	}
	if !validPath(o.path) {
		return result{}, jute.CodeBadArguments
	}
	switch o.code {
	case jute.OpSetData:
		return x.setData(o)
	case jute.OpSetACL:
		return x.setACL(o)
	case jute.OpCheck:
		n, c := x.lookup(o.path, x.ids, zk.PermRead)
		if c == jute.OK {
			c = agree(o.version, n.stat.Version)
		}
		return result{}, c
	}
	return result{}, jute.CodeUnimplemented
}

func (x *txn) create(o op) (result, jute.Code) {
	if o.flags < 0 || o.flags > 6 {
		return result{}, jute.CodeBadArguments
	}
	if o.code == jute.OpCreateTTL || o.flags >= zk.FlagTTL { // off in a server as installed
		return result{}, jute.CodeUnimplemented
	}
	if !strings.Contains(o.path, "/") || strings.Contains(o.path, "\x00") {
		return result{}, jute.CodeBadArguments
	}
	acl, c := resolve(o.acl, x.ids)
	if c != jute.OK {
		return result{}, c
	}
	dir := zkpath.Parent(o.path)
	parent, c := x.lookup(dir, x.ids, zk.PermCreate)
	if c != jute.OK {
		return result{}, c
	}
	seq, seen := x.counters[parent]
	if !seen {
		seq = parent.stat.Cversion
	}
	path := o.path
	if o.flags == zk.FlagSequence || o.flags == zk.FlagEphemeralSequential {
		path += fmt.Sprintf("%010d", seq)
	}
	switch {
	case !validPath(path):
		return result{}, jute.CodeBadArguments
	case x.nodes[path] != nil:
		return result{}, jute.CodeNodeExists
	case parent.ephemeral():
		return result{}, jute.CodeNoChildrenEphemerals
	}

	n := &node{data: o.data, acl: acl}
	n.stat = zk.Stat{Czxid: x.zxid, Mzxid: x.zxid, Pzxid: x.zxid, Ctime: x.now, Mtime: x.now}
	switch {
	case o.code == jute.OpCreateContainer:
		n.stat.EphemeralOwner = containerOwner
	case o.flags == zk.FlagEphemeral || o.flags == zk.FlagEphemeralSequential:
		n.stat.EphemeralOwner = x.session
	}
	old := parent.stat
	x.undo = append(x.undo, func() {
		x.detach(path)
		parent.stat = old
	})
	x.attach(path, n)
	x.counters[parent] = seq + 1
	if seq+1 > old.Cversion { // not when it has wrapped: the last number sticks
		parent.stat.Cversion, parent.stat.Pzxid = seq+1, x.zxid
	}
	x.changes = append(x.changes, change{zk.EventNodeCreated, path, acl, parent.acl})
	return result{path, n.visible()}, jute.OK
}

func (x *txn) delete(o op) (result, jute.Code) {
	if !strings.Contains(o.path, "/") || strings.Contains(o.path, "\x00") {
		return result{}, jute.CodeBadArguments
	}
	switch o.path {
	case "/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config":
		return result{}, jute.CodeBadArguments
	}
	dir := zkpath.Parent(o.path)
	if _, c := x.lookup(dir, x.ids, zk.PermDelete); c != jute.OK {
		return result{}, c
	}
	n := x.nodes[o.path]
	if n == nil {
		return result{}, jute.CodeNoNode
	}
	if c := agree(o.version, n.stat.Version); c != jute.OK {
		return result{}, c
	}
	if len(n.children) > 0 {
		return result{}, jute.CodeNotEmpty
	}
	x.remove(o.path)
	return result{}, jute.OK
}

// remove deletes a node that has no children.
func (x *txn) remove(path string) {
	dir := zkpath.Parent(path)
	parent := x.nodes[dir]
	n, old := x.detach(path), parent.stat.Pzxid
	parent.stat.Pzxid = x.zxid
	x.undo = append(x.undo, func() {
		parent.stat.Pzxid = old
		x.attach(path, n)
	})
	x.changes = append(x.changes, change{zk.EventNodeDeleted, path, n.acl, parent.acl})
}

func (x *txn) setData(o op) (result, jute.Code) {
	n, c := x.lookup(o.path, x.ids, zk.PermWrite)
	if c == jute.OK {
		c = agree(o.version, n.stat.Version)
	}
	if c != jute.OK {
		return result{}, c
	}
	data, stat := n.data, n.stat
	x.undo = append(x.undo, func() {
		n.data = data
		n.stat.Version, n.stat.Mtime, n.stat.Mzxid = stat.Version, stat.Mtime, stat.Mzxid
	})
	n.data = o.data
	n.stat.Version, n.stat.Mtime, n.stat.Mzxid = stat.Version+1, x.now, x.zxid
	x.changes = append(x.changes, change{zk.EventNodeDataChanged, o.path, n.acl, nil})
	return result{o.path, n.visible()}, jute.OK
}

// setACL is never part of a multi, so it need not be undone.
func (x *txn) setACL(o op) (result, jute.Code) {
	acl, c := resolve(o.acl, x.ids)
	if c != jute.OK {
		return result{}, c
	}
	n, c := x.lookup(o.path, x.ids, zk.PermAdmin)
	if c == jute.OK {
		c = agree(o.version, n.stat.Aversion)
	}
	if c != jute.OK {
		return result{}, c
	}
	n.acl = acl
	n.stat.Aversion++
	return result{o.path, n.visible()}, jute.OK
}

// end deletes the ephemeral nodes of the session.
func (x *txn) end() {
	for _, path := range slices.Sorted(maps.Keys(x.ephemerals[x.session])) {
		x.remove(path)
	}
}

// agree compares the version that a request expects with what there is.
func agree(want, have int32) jute.Code {
	if want != -1 && want != have {
		return jute.CodeBadVersion
	}
	return jute.OK
}
