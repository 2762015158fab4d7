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

// A Node is a znode as it was read. The zero Node says that there is none.
type Node struct {
	Data   []byte // nil if it is null, or was not asked for
	Exists bool
	Stat
}

// listed is a Node and the names of its children.
type listed struct {
	Node
	names []string
}

// Get reads the znode at path, until there is an answer. That there is none is no
// error. Like those of all requests of a Session the error is [Refused], or ctx's
// cause, or s's Err.
func (s *Session) Get(ctx context.Context, path string) (Node, error) {
	n, err := s.read(ctx, "get", path, func(conn *zk.Conn, full string) (listed, *zk.Stat, error) {
		data, stat, err := conn.Get(full)
		return listed{Node: Node{Data: data}}, stat, err
	})
	return n.Node, err
}

// Exists reads the Stat of the znode at path, as [Session.Get] does. It needs no
// permission.
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

// Children lists the children of the znode at path, in no order, as [Session.Get] does.
func (s *Session) Children(ctx context.Context, path string) (names []string, dir Node, err error) {
	n, err := s.read(ctx, "children", path, func(conn *zk.Conn, full string) (listed, *zk.Stat, error) {
		names, stat, err := conn.Children(full)
		return listed{names: names}, stat, err
	})
	return n.names, n.Node, err
}

// read calls f until there is an answer.
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

// Sync makes the server catch up with the leader, so that what is read in s from
// then on is no older than the call. A leader that is cut off from the other
// servers, and does not know it yet, may still answer from the past. Whether there
// is a znode at path does not matter.
func (s *Session) Sync(ctx context.Context, path string) error {
	if err := zkpath.Check(path); err != nil {
		return err
	}
	_, err := retry(ctx, s, purpose{"sync", path}, func(conn *zk.Conn) (string, error) { return conn.Sync(s.c.FullPath(path)) })
	return err
}

// Create creates the znode at path, repeatedly until there is an answer, and returns
// its path. [ErrNodeExists] may mean that an earlier try was carried out whose
// answer was lost. So a sequential znode, of which there might then be two, is
// refused: create it by [Session.Multi]. Without acl, [Options].ACL is used.
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

// Set sets the data of the znode at path if it has the version, -1 for any,
// repeatedly until there is an answer, and returns its Stat. [ErrBadVersion] may
// mean that an earlier try was carried out whose answer was lost; with -1 the data
// may be set late, over those that another has set since the first try.
func (s *Session) Set(ctx context.Context, path string, data []byte, version int32) (Stat, error) {
	set, err := s.c.setRequest(path, data, version)
	if err != nil {
		return Stat{}, err
	}
	return retry(ctx, s, purpose{"set", path}, set)
}

// Delete deletes the znode at path if it has the version, -1 for any, repeatedly
// until there is an answer. [ErrNoNode] may mean that an earlier try was carried out
// whose answer was lost.
func (s *Session) Delete(ctx context.Context, path string, version int32) error {
	if err := zkpath.Check(path); err != nil {
		return err
	}
	_, err := retry(ctx, s, purpose{"delete", path}, s.c.deleteRequest(path, version))
	return err
}

// maxMakes bounds how often a directory that is missing is made for one request.
// Even under constant cleaning it was never missing twice in a row.
const maxMakes = 8

// InDir calls f, and again each time after it has found that the directory dir is
// missing, which is when it returns [ErrNoNode], and dir has been made: as a
// container, where the server has those, which it removes some time after its last
// child; and what is missing above it as well. It returns what f returns, or why the
// directory could not be made.
func (s *Session) InDir(ctx context.Context, dir string, f func() error) error {
	if err := zkpath.Check(dir); err != nil {
		return err
	}
	for range maxMakes {
		if err := f(); !errors.Is(err, ErrNoNode) || !Refused(err) {
			return err
		}
		if err := s.makeDir(ctx, s.c.FullPath(dir), Container); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: the directory is removed as soon as it is made", ErrNoNode)
}

// createRequest returns a request that creates a znode and returns its path.
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
