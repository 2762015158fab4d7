package coord

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/jute"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// A Node is what was read of a znode. The zero Node says that there is no such znode.
type Node struct {
	Data   []byte // nil if null, or not asked for
	Exists bool
	Stat
}

// listed is a Node and the names of its children.
type listed struct {
	Node
	names []string
}

// Get reads the znode at path, repeatedly until there is an answer. A znode that does
// not exist is no error. As with all requests of a Session, the error is
// [Session.Refused], or ctx's cause, or s's Err.
func (s *Session) Get(ctx context.Context, path string) (Node, error) {
	n, err := s.read(ctx, "get", jute.OpGetData, path)
	return n.Node, err
}

// Exists reads the Stat of the znode at path. It needs no permission. Otherwise it is like
// [Session.Get].
func (s *Session) Exists(ctx context.Context, path string) (Node, error) {
	n, err := s.read(ctx, "exists", jute.OpExists, path)
	return n.Node, err
}

// Children returns the names of the children of the znode at path, in no order, and its
// Stat. Otherwise it is like [Session.Get].
func (s *Session) Children(ctx context.Context, path string) (names []string, dir Node, err error) {
	n, err := s.read(ctx, "children", jute.OpGetChildren2, path)
	return n.names, n.Node, err
}

// read reads until there is an answer. That there is no znode is one.
func (s *Session) read(ctx context.Context, name string, op jute.Op, path string) (listed, error) {
	if err := zkpath.Check(path); err != nil {
		return listed{}, err
	}
	a := s.untilAnswered(ctx, purpose{name, path}, readFrame(op, s.c.FullPath(path), false))
	if errors.Is(a.err, ErrNoNode) {
		return listed{}, nil
	}
	return parse(a, asRead(op))
}

// asRead returns what takes a znode from the answer to a request of the kind op, which
// reads it.
func asRead(op jute.Op) func(d *jute.Decoder) listed {
	return func(d *jute.Decoder) (n listed) {
		switch op {
		case jute.OpGetData:
			n.Data = d.Bytes()
		case jute.OpGetChildren2:
			n.names = d.Strings()
		}
		n.Exists, n.Stat = true, Stat(d.Stat())
		return n
	}
}

// Sync makes the server catch up with the leader, so that what is read in s afterwards is
// no older than the call; but see [Client.Sync] for an exception. Whether there is a znode
// at path does not matter.
func (s *Session) Sync(ctx context.Context, path string) error {
	if err := zkpath.Check(path); err != nil {
		return err
	}
	return s.untilAnswered(ctx, purpose{"sync", path}, syncFrame(s.c.FullPath(path))).err
}

// Create creates the znode at path, repeatedly until there is an answer, and returns its
// path. [ErrNodeExists] may mean that an earlier attempt was carried out and its answer
// lost. A sequential znode is refused, because there might then be two of it: create it
// with [Session.Txn]. Its access list is acl or, if that is empty, [Options].ACL.
func (s *Session) Create(ctx context.Context, path string, data []byte, mode Mode, acl ...ACL) (string, error) {
	if mode.sequential() {
		return "", &refusal{fmt.Sprintf("coord: mode %v in a request that may be repeated", mode), zk.ErrInvalidFlags}
	}
	create, err := s.c.createFrame(path, data, mode, acl)
	if err != nil {
		return "", err
	}
	return parse(s.untilAnswered(ctx, purpose{"create", path}, create), s.c.asCreated)
}

// Set sets the data of the znode at path if it has the version, -1 for any, repeatedly
// until there is an answer, and returns its Stat. [ErrBadVersion] may mean that an earlier
// attempt was carried out and its answer lost. With -1 the data may be set once more, over
// those that another client has set since the first attempt.
func (s *Session) Set(ctx context.Context, path string, data []byte, version int32) (Stat, error) {
	set, err := s.c.setFrame(path, data, version)
	if err != nil {
		return Stat{}, err
	}
	return parse(s.untilAnswered(ctx, purpose{"set", path}, set), asStat)
}

// Delete deletes the znode at path if it has the version, -1 for any, repeatedly until
// there is an answer. [ErrNoNode] may mean that an earlier attempt was carried out and its
// answer lost.
func (s *Session) Delete(ctx context.Context, path string, version int32) error {
	if err := zkpath.Check(path); err != nil {
		return err
	}
	return s.untilAnswered(ctx, purpose{"delete", path}, s.c.deleteFrame(path, version)).err
}

// maxMakes bounds how often a directory is made for one request that finds it missing.
// With a server that removes empty containers all the time, it was never missing twice in
// a row. The bound is for one that misbehaves.
const maxMakes = 8

// InDir calls f. When f returns [ErrNoNode], which it must do only because the directory
// dir is missing, InDir makes dir, and what is missing above it, and calls f again. They
// are made as containers, which the server removes some time after their last child, or as
// persistent znodes if the server is too old for containers. InDir returns what f returns,
// or why the directory could not be made.
func (s *Session) InDir(ctx context.Context, dir string, f func() error) error {
	if err := zkpath.Check(dir); err != nil {
		return err
	}
	for range maxMakes {
		if err := f(); !errors.Is(err, ErrNoNode) || !refused(err) {
			return err
		}
		if err := s.makeDir(ctx, s.c.FullPath(dir), Container); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: the directory is removed as soon as it is made", ErrNoNode)
}

// createFrame returns the frame of a request that creates a znode.
func (c *Client) createFrame(path string, data []byte, mode Mode, acl []ACL) ([]byte, error) {
	full, err := c.target(path, mode)
	if err != nil {
		return nil, err
	}
	flags, ttl, err := mode.parse()
	if err != nil {
		return nil, err
	}
	var r any = &zk.CreateRequest{Path: full, Data: data, Acl: c.aclOr(acl), Flags: flags}
	if ttl > 0 || flags == zk.FlagContainer {
		r = &zk.CreateTTLRequest{Path: full, Data: data, Acl: c.aclOr(acl), Flags: flags, Ttl: int64(ttl / time.Millisecond)}
	}
	if err := checkRequest(r); err != nil {
		return nil, err
	}
	return frameOf(r), nil
}

// asCreated takes the path from the answer to the creation of a znode.
func (c *Client) asCreated(d *jute.Decoder) string { return c.relative(d.String()) }

// setFrame returns the frame of a request that sets the data of a znode.
func (c *Client) setFrame(path string, data []byte, version int32) ([]byte, error) {
	if err := zkpath.Check(path); err != nil {
		return nil, err
	}
	r := &zk.SetDataRequest{Path: c.FullPath(path), Data: data, Version: version}
	if err := checkRequest(r); err != nil {
		return nil, err
	}
	return frameOf(r), nil
}

// asStat takes the Stat from the answer to such a request.
func asStat(d *jute.Decoder) Stat { return Stat(d.Stat()) }

// deleteFrame returns the frame of a request that deletes a znode.
func (c *Client) deleteFrame(path string, version int32) []byte {
	return frameOf(&zk.DeleteRequest{Path: c.FullPath(path), Version: version})
}

// relative returns the full path as the program knows it, below the chroot.
func (c *Client) relative(full string) string { return zkpath.Rel(c.opts.Chroot, full) }
