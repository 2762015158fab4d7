package coord

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// Get returns the data of the znode at path, nil if they are null. If there is no
// such znode the error is [ErrNoNode].
//
// Get, [Client.Exists], [Client.Children] and [Client.Sync] wait for a connection
// as long as ctx allows and are repeated until they are answered, in the next
// session if need be. The error is an [*Error] with ctx's cause as soon as ctx ends,
// with [ErrClosed] when c is closed, or with a refusal: see [ErrNoNode] and what
// stands beside it.
//
// What is read is no older than what c has read or written before, but other clients
// may have written since: see [Client.Sync].
func (c *Client) Get(ctx context.Context, path string) ([]byte, Stat, error) {
	n, err := c.read(ctx, "get", path, func(ctx context.Context, s *Session) (listed, error) {
		n, err := s.Get(ctx, path)
		return listed{Node: n}, err
	})
	return n.Data, n.Stat, err
}

// Exists reports whether there is a znode at path, and returns its Stat. Otherwise
// it is like [Client.Get].
func (c *Client) Exists(ctx context.Context, path string) (Stat, bool, error) {
	n, err := c.read(ctx, "exists", path, func(ctx context.Context, s *Session) (listed, error) {
		n, err := s.Exists(ctx, path)
		return listed{Node: n}, err
	})
	if errors.Is(err, ErrNoNode) {
		err = nil
	}
	return n.Stat, n.Exists, err
}

// Children returns the names of the children of the znode at path, sorted, and its
// Stat. Otherwise it is like [Client.Get].
func (c *Client) Children(ctx context.Context, path string) ([]string, Stat, error) {
	n, err := c.read(ctx, "children", path, func(ctx context.Context, s *Session) (n listed, err error) {
		n.names, n.Node, err = s.Children(ctx, path)
		return n, err
	})
	slices.Sort(n.names)
	return n.names, n.Stat, err
}

// read calls f with the present session, until there is an answer. That there is no
// znode is an error.
func (c *Client) read(ctx context.Context, op, path string, f func(context.Context, *Session) (listed, error)) (n listed, err error) {
	err = c.kit.Retry(ctx, func(s *Session) (err error) {
		if err = s.catchUp(ctx); err == nil {
			n, err = f(ctx, s)
		}
		return err
	})
	if err == nil && !n.Exists {
		err = ErrNoNode
	}
	if err != nil {
		return listed{}, &Error{op, path, err}
	}
	return n, nil
}

// Sync makes sure that what c reads from then on is no older than the call. Without
// it, what another client has written may take a moment to arrive at the server that
// c is connected to. A leader that has been cut off from the other servers, and does
// not know it yet, may still answer from the past; no watch and no lock depends on
// that. Whether there is a znode at path does not matter. Otherwise it is like
// [Client.Get].
func (c *Client) Sync(ctx context.Context, path string) error {
	if err := c.kit.Retry(ctx, func(s *Session) error { return s.Sync(ctx, path) }); err != nil {
		return &Error{"sync", path, err}
	}
	return nil
}

// Create creates the znode at path with the data, and returns its path, which for a
// sequential one has a number at the end. Its access list is acl or, without that,
// [Options].ACL. An ephemeral znode lives as long as the session in which it is
// created: see [Client.Expired].
//
// Create, [Client.Set], [Client.Delete] and [Client.Txn] wait for a connection as
// long as ctx allows, in the next session if need be, and then send the request
// once. The error is an [*Error]. If it is a refusal, such as [ErrNodeExists], or
// nothing of what follows, the request was not carried out and never will be. If it
// is [ErrUnknown], the request was sent, and ctx has ended or the connection was
// lost before the answer came: it may have been carried out, or may still be. The
// error then has the reason as well. What would be more than a server takes is not
// sent; see [ErrTooLarge].
//
// If [Options].Chroot itself is missing, Create and Txn create it.
func (c *Client) Create(ctx context.Context, path string, data []byte, mode Mode, acl ...ACL) (string, error) {
	f, err := c.createRequest(path, data, mode, acl)
	if err != nil {
		return "", &Error{"create", path, err}
	}
	return write(ctx, c, "create", func(s *Session) (created string, at string, err error) {
		err = c.withRoot(ctx, s, func() (bool, error) {
			created, err = once(ctx, s, purpose{"create", path}, f)
			return inRoot(path, mode), err
		})
		return created, path, err
	})
}

// Set sets the data of the znode at path if it has the version, -1 for any, and
// returns its Stat. Otherwise it is like [Client.Create].
func (c *Client) Set(ctx context.Context, path string, data []byte, version int32) (Stat, error) {
	f, err := c.setRequest(path, data, version)
	if err != nil {
		return Stat{}, &Error{"set", path, err}
	}
	return write(ctx, c, "set", func(s *Session) (Stat, string, error) {
		stat, err := once(ctx, s, purpose{"set", path}, f)
		return stat, path, err
	})
}

// Delete deletes the znode at path if it has the version, -1 for any, and no
// children. Otherwise it is like [Client.Create].
func (c *Client) Delete(ctx context.Context, path string, version int32) error {
	if err := zkpath.Check(path); err != nil {
		return &Error{"delete", path, err}
	}
	f := c.deleteRequest(path, version)
	_, err := write(ctx, c, "delete", func(s *Session) (struct{}, string, error) {
		_, err := once(ctx, s, purpose{"delete", path}, f)
		return struct{}{}, path, err
	})
	return err
}

// Txn carries out all ops in one transaction, in order, or none of them, and returns
// one result for each. If one of them is refused, the [Error] has its path, and its
// result says why. To write only while something is held, put the Guard of its
// [Hold] among the ops:
//
//	_, err := c.Txn(ctx, h.Guard(), coord.OpSet("/balance", data, -1))
//
// Otherwise Txn is like [Client.Create].
func (c *Client) Txn(ctx context.Context, ops ...Op) ([]OpResult, error) {
	return write(ctx, c, "txn", func(s *Session) (results []OpResult, at string, err error) {
		err = c.withRoot(ctx, s, func() (bool, error) {
			results, err = s.Multi(ctx, ops...)
			bad := slices.IndexFunc(results, func(r OpResult) bool { return r.Err != nil })
			if bad < 0 {
				return false, err
			}
			at = cmp.Or(ops[bad].hold, ops[bad].path)
			return ops[bad].verb == toCreate && inRoot(at, ops[bad].mode), err
		})
		return results, at, err
	})
}

// write calls f, which makes a request once, with the present session, and with the
// next if it has not been sent before that expired. With an error f returns the path
// that it concerns, if it is one.
func write[T any](ctx context.Context, c *Client, op string, f func(*Session) (v T, path string, err error)) (T, error) {
	for {
		s := c.present()
		v, path, err := f(s)
		switch {
		case err == nil:
			return v, nil
		case ctx.Err() == nil && !Refused(err) && !errors.Is(err, ErrUnknown) && errors.Is(s.Err(), ErrExpired):
			continue // it was not sent
		}
		return v, &Error{op, path, err}
	}
}

// withRoot calls f, and if f says that a znode could not be created because the
// chroot is missing, creates that and calls f again.
func (c *Client) withRoot(ctx context.Context, s *Session, f func() (inRoot bool, err error)) error {
	var err error
	unmade := s.InDir(ctx, "/", func() error {
		var inRoot bool
		if inRoot, err = f(); inRoot && c.opts.Chroot != "/" {
			return err
		}
		return nil
	})
	return cmp.Or(unmade, err)
}

// inRoot reports whether the znode that is created at path is to be a child of the
// client's root.
func inRoot(path string, mode Mode) bool {
	return strings.LastIndexByte(path, '/') == 0 && (path != "/" || mode.sequential())
}
