package coord

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

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
	n, err := s.read(ctx, "get", path, func(conn *zk.Conn, full string) (listed, *zk.Stat, error) {
		data, stat, err := conn.Get(full)
		return listed{Node: Node{Data: data}}, stat, err
	})
	return n.Node, err
}

// Exists reads the Stat of the znode at path. It needs no permission. Otherwise it is like
// [Session.Get].
func (s *Session) Exists(ctx context.Context, path string) (Node, error) {
	n, err := s.read(ctx, "exists", path, func(conn *zk.Conn, full string) (listed, *zk.Stat, error) {
		ok, stat, err := conn.Exists(full)
		if err == nil && !ok {
			err = ErrNoNode
		}
		return listed{}, stat, err
	})
	return n.Node, err
}

// Children returns the names of the children of the znode at path, in no order, and its
// Stat. Otherwise it is like [Session.Get].
func (s *Session) Children(ctx context.Context, path string) (names []string, dir Node, err error) {
	n, err := s.read(ctx, "children", path, func(conn *zk.Conn, full string) (listed, *zk.Stat, error) {
		names, stat, err := conn.Children(full)
		return listed{names: names}, stat, err
	})
	return n.names, n.Node, err
}

// read calls f until there is an answer. That there is no znode is one.
func (s *Session) read(ctx context.Context, op, path string, f func(conn *zk.Conn, full string) (listed, *zk.Stat, error)) (listed, error) {
	if err := zkpath.Check(path); err != nil {
		return listed{}, err
	}
	n, err := retry(ctx, s, purpose{op, path}, func(conn *zk.Conn) (listed, error) {
		n, stat, err := f(conn, s.c.FullPath(path))
		if err != nil {
			return listed{}, err
		}
		n.Exists, n.Stat = true, Stat(*stat)
		return n, nil
	})
	if errors.Is(err, ErrNoNode) {
		return listed{}, nil
	}
	return n, err
}

// Sync makes the server catch up with the leader, so that what is read in s afterwards is
// no older than the call; but see [Client.Sync] for an exception. Whether there is a znode
// at path does not matter.
func (s *Session) Sync(ctx context.Context, path string) error {
	if err := zkpath.Check(path); err != nil {
		return err
	}
	_, err := retry(ctx, s, purpose{"sync", path}, func(conn *zk.Conn) (string, error) { return conn.Sync(s.c.FullPath(path)) })
	return err
}

// Create creates the znode at path, repeatedly until there is an answer, and returns its
// path. [ErrNodeExists] may mean that an earlier attempt was carried out and its answer
// lost. A sequential znode is refused, because there might then be two of it: create it
// with [Session.Txn]. Its access list is acl or, if that is empty, [Options].ACL.
func (s *Session) Create(ctx context.Context, path string, data []byte, mode Mode, acl ...ACL) (string, error) {
	if mode.sequential() {
		return "", &refusal{fmt.Sprintf("coord: mode %v in a request that may be repeated", mode), zk.ErrInvalidFlags}
	}
	create, err := s.c.createRequest(path, data, mode, acl)
	if err != nil {
		return "", err
	}
	return retry(ctx, s, purpose{"create", path}, create)
}

// Set sets the data of the znode at path if it has the version, -1 for any, repeatedly
// until there is an answer, and returns its Stat. [ErrBadVersion] may mean that an earlier
// attempt was carried out and its answer lost. With -1 the data may be set once more, over
// those that another client has set since the first attempt.
func (s *Session) Set(ctx context.Context, path string, data []byte, version int32) (Stat, error) {
	set, err := s.c.setRequest(path, data, version)
	if err != nil {
		return Stat{}, err
	}
	return retry(ctx, s, purpose{"set", path}, set)
}

// Delete deletes the znode at path if it has the version, -1 for any, repeatedly until
// there is an answer. [ErrNoNode] may mean that an earlier attempt was carried out and its
// answer lost.
func (s *Session) Delete(ctx context.Context, path string, version int32) error {
	if err := zkpath.Check(path); err != nil {
		return err
	}
	_, err := retry(ctx, s, purpose{"delete", path}, s.c.deleteRequest(path, version))
	return err
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

// createRequest returns a request that creates a znode and returns its path. Like those
// below it copies the data: the request may still be under way when its caller has given
// up, and writes to them.
func (c *Client) createRequest(path string, data []byte, mode Mode, acl []ACL) (func(*zk.Conn) (string, error), error) {
	full, err := c.target(path, mode)
	if err != nil {
		return nil, err
	}
	flags, ttl, err := mode.parse()
	if err != nil {
		return nil, err
	}
	data, list := bytes.Clone(data), c.aclOr(acl)
	if err := checkRequest(&zk.CreateTTLRequest{Path: full, Data: data, Acl: list, Ttl: int64(ttl / time.Millisecond)}); err != nil {
		return nil, err
	}
	return func(conn *zk.Conn) (created string, err error) {
		switch {
		case flags == zk.FlagContainer:
			created, err = conn.CreateContainer(full, data, flags, list)
		case ttl > 0:
			created, err = conn.CreateTTL(full, data, flags, list, ttl)
		default:
			created, err = conn.Create(full, data, flags, list)
		}
		if err != nil {
			return "", err
		}
		return c.relative(created), nil
	}, nil
}

// setRequest returns a request that sets the data of a znode.
func (c *Client) setRequest(path string, data []byte, version int32) (func(*zk.Conn) (Stat, error), error) {
	if err := zkpath.Check(path); err != nil {
		return nil, err
	}
	full, data := c.FullPath(path), bytes.Clone(data)
	if err := checkRequest(&zk.SetDataRequest{Path: full, Data: data}); err != nil {
		return nil, err
	}
	return func(conn *zk.Conn) (Stat, error) {
		stat, err := conn.Set(full, data, version)
		if err != nil {
			return Stat{}, err
		}
		return Stat(*stat), nil
	}, nil
}

// deleteRequest returns a request that deletes a znode.
func (c *Client) deleteRequest(path string, version int32) func(*zk.Conn) (struct{}, error) {
	full := c.FullPath(path)
	return func(conn *zk.Conn) (struct{}, error) { return struct{}{}, conn.Delete(full, version) }
}

// relative returns the full path as the program knows it, below the chroot.
func (c *Client) relative(full string) string { return zkpath.Rel(c.opts.Chroot, full) }
