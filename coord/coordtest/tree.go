package coordtest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/jute"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// containerOwner marks a container where an ephemeral node names its session.
// Clients do not see it.
const containerOwner = math.MinInt64

// A node is one znode.
type node struct {
	data     []byte // replaced, never changed in place
	acl      []zk.ACL
	children map[string]struct{}

	// stat has the stored values; Cversion counts the creates below the node
	// and numbers the next sequential one. See visible.
	stat zk.Stat
}

// visible returns the Stat that clients see.
func (n *node) visible() zk.Stat {
	s := n.stat
	s.NumChildren = int32(len(n.children))
	s.DataLength = int32(len(n.data))
	s.Cversion = s.Cversion*2 - s.NumChildren // creates and deletes, whatever the order
	if s.EphemeralOwner == containerOwner {
		s.EphemeralOwner = 0
	}
	return s
}

func (n *node) ephemeral() bool {
	return n.stat.EphemeralOwner != 0 && n.stat.EphemeralOwner != containerOwner
}

// A tree is the data of a server. It does no I/O and reads no clock. The server's
// mutex guards it.
type tree struct {
	zxid       int64 // of the last transaction
	nodes      map[string]*node
	ephemerals map[int64]map[string]struct{} // session → paths
	containers map[string]struct{}
}

func newTree() *tree {
	t := &tree{
		nodes:      make(map[string]*node),
		ephemerals: make(map[int64]map[string]struct{}),
		containers: make(map[string]struct{}),
	}
	open := zk.WorldACL(zk.PermAll)
	t.nodes["/"] = &node{data: []byte{}, acl: open, children: make(map[string]struct{})}
	t.attach("/zookeeper", &node{data: []byte{}, acl: open})
	t.attach("/zookeeper/quota", &node{data: []byte{}, acl: open})
	t.attach("/zookeeper/config", &node{data: []byte{}, acl: zk.WorldACL(zk.PermRead), stat: zk.Stat{Aversion: -1}})
	return t
}

// clone returns a copy of t.
func (t *tree) clone() *tree {
	c := &tree{
		zxid:       t.zxid,
		nodes:      make(map[string]*node, len(t.nodes)),
		ephemerals: make(map[int64]map[string]struct{}, len(t.ephemerals)),
		containers: maps.Clone(t.containers),
	}
	for path, n := range t.nodes {
		copied := *n
		copied.children = maps.Clone(n.children)
		c.nodes[path] = &copied
	}
	for session, paths := range t.ephemerals {
		c.ephemerals[session] = maps.Clone(paths)
	}
	return c
}

// attach puts n at path. The parent exists and path is free.
func (t *tree) attach(path string, n *node) {
	dir, name := zkpath.Split(path)
	if n.children == nil {
		n.children = make(map[string]struct{})
	}
	t.nodes[path] = n
	t.nodes[dir].children[name] = struct{}{}
	switch owner := n.stat.EphemeralOwner; {
	case owner == containerOwner:
		t.containers[path] = struct{}{}
	case owner != 0:
		if t.ephemerals[owner] == nil {
			t.ephemerals[owner] = make(map[string]struct{})
		}
		t.ephemerals[owner][path] = struct{}{}
	}
}

// detach is the inverse of attach.
func (t *tree) detach(path string) *node {
	n := t.nodes[path]
	dir, name := zkpath.Split(path)
	delete(t.nodes, path)
	delete(t.nodes[dir].children, name)
	delete(t.containers, path)
	if owned := t.ephemerals[n.stat.EphemeralOwner]; owned != nil {
		delete(owned, path)
		if len(owned) == 0 {
			delete(t.ephemerals, n.stat.EphemeralOwner)
		}
	}
	return n
}

// names returns the names below n, sorted. (The real server has them in no order.)
func (n *node) names() []string { return slices.Sorted(maps.Keys(n.children)) }

// find returns the node at path, or nil. The server has the root under the empty path, too.
func (t *tree) find(path string) *node {
	if path == "" {
		path = "/"
	}
	return t.nodes[path]
}

// lookup finds the node at path for a request that needs one of perms.
func (t *tree) lookup(path string, ids []identity, perms int32) (*node, jute.Code) {
	n := t.find(path)
	switch {
	case n == nil:
		return nil, jute.CodeNoNode
	case !permits(n.acl, ids, perms):
		return nil, jute.CodeNoAuth
	}
	return n, jute.OK
}

// String lists the nodes for a person to read.
func (t *tree) String() string {
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(t.nodes)) {
		if path == "/" || path == "/zookeeper" || strings.HasPrefix(path, "/zookeeper/") {
			continue
		}
		n := t.nodes[path]
		data := n.data
		more := ""
		if len(data) > 64 {
			data, more = data[:64], fmt.Sprintf("... (%d bytes)", len(data))
		}
		fmt.Fprintf(&b, "%s %q%s", path, data, more)
		switch {
		case n.ephemeral():
			fmt.Fprintf(&b, " ephemeral %#x", n.stat.EphemeralOwner)
		case n.stat.EphemeralOwner == containerOwner:
			b.WriteString(" container")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// validPath reports whether the server would accept path as the name of a node.
func validPath(path string) bool {
	if path == "/" {
		return true
	}
	if !strings.HasPrefix(path, "/") {
		return false
	}
	for name := range strings.SplitSeq(path[1:], "/") {
		if name == "" || name == "." || name == ".." || strings.ContainsFunc(name, forbidden) {
			return false
		}
	}
	return true
}

// forbidden reports whether r may not stand in a name. Characters beyond U+FFFF
// may not, as the server sees them as surrogates.
func forbidden(r rune) bool {
	return r <= 0x1f || 0x7f <= r && r <= 0x9f || 0xd800 <= r && r <= 0xf8ff || r >= 0xfff0
}
