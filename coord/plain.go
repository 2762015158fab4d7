package coord

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// Get returns the data of the znode at path, nil if they are null. If there is no such
// znode, the error is [ErrNoNode].
//
// Get, [Client.Exists], [Client.Children] and [Client.Sync] wait for a connection until
// ctx ends, and are repeated until they are answered, in the next session if necessary.
// The error is an [*Error]. Its cause is ctx's as soon as ctx ends, [ErrClosed] when c is
// closed, or a refusal, such as [ErrNoNode] or [ErrNoAuth].
//
// What is read is no older than what c has read or written before. But it may be older
// than what other clients have written: see [Client.Sync].
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

// read calls f with the present session until there is an answer. A znode that is missing
// is an error, unlike in the methods of a Session.
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

// Sync makes sure that what c reads afterwards is no older than the call. Without it,
// what another client has written may take a moment to reach the server that c is
// connected to. There is one exception, on which no watch and no lock depends: a leader
// that has been cut off from the other servers, and has not noticed yet, answers with what
// it has. Whether there is a znode at path does not matter. Otherwise Sync is like
// [Client.Get].
func (c *Client) Sync(ctx context.Context, path string) error {
	if err := c.kit.Retry(ctx, func(s *Session) error { return s.Sync(ctx, path) }); err != nil {
		return &Error{"sync", path, err}
	}
	return nil
}

// Create creates the znode at path with the data, and returns its path, which for a
// sequential one has a number at the end. Its access list is acl or, if that is empty,
// [Options].ACL. An ephemeral znode lives as long as the session in which it is created. To
// learn of its end, take the channel of [Client.Expired] before Create: one that is taken
// afterwards may be that of the next session.
//
// Create, [Client.Set], [Client.Delete] and [Client.Txn] wait for a connection until ctx
// ends, in the next session if necessary, and then send the request once. The error is an
// [*Error]. If it is [ErrUnknown], the request was sent, and ctx has ended or the
// connection was lost before the answer came: the request may have been carried out, or
// may still be. The error then has the reason as well. With any other error, such as
// [ErrNodeExists], the request was not carried out and never will be. A request that is
// more than a server takes is not sent: see [ErrTooLarge].
//
// If [Options].Chroot itself is missing, Create and Txn create it.
func (c *Client) Create(ctx context.Context, path string, data []byte, mode Mode, acl ...ACL) (string, error) {
	frame, err := c.createFrame(path, data, mode, acl)
	if err != nil {
		return "", &Error{"create", path, err}
	}
	return write(ctx, c, "create", func(s *Session) (created string, at string, err error) {
		err = c.withRoot(ctx, s, func() (bool, error) {
			created, err = parse(s.once(ctx, purpose{"create", path}, frame), c.asCreated)
			return inRoot(path, mode), err
		})
		return created, path, err
	})
}

// Set sets the data of the znode at path if it has the version, -1 for any, and
// returns its Stat. Otherwise it is like [Client.Create].
func (c *Client) Set(ctx context.Context, path string, data []byte, version int32) (Stat, error) {
	frame, err := c.setFrame(path, data, version)
	if err != nil {
		return Stat{}, &Error{"set", path, err}
	}
	return write(ctx, c, "set", func(s *Session) (Stat, string, error) {
		stat, err := parse(s.once(ctx, purpose{"set", path}, frame), asStat)
		return stat, path, err
	})
}

// Delete deletes the znode at path if it has the version, -1 for any, and no
// children. Otherwise it is like [Client.Create].
func (c *Client) Delete(ctx context.Context, path string, version int32) error {
	if err := zkpath.Check(path); err != nil {
		return &Error{"delete", path, err}
	}
	frame := c.deleteFrame(path, version)
	_, err := write(ctx, c, "delete", func(s *Session) (struct{}, string, error) {
		return struct{}{}, path, s.once(ctx, purpose{"delete", path}, frame).err
	})
	return err
}

// Txn carries out all ops in one transaction, in order, or none of them, and returns one
// result for each. If one of them is refused, the [Error] has its path, and its result
// says why. To write only while something is held, put the Guard of its [Hold] among the
// ops:
//
//	_, err := c.Txn(ctx, h.Guard(), coord.OpSet("/balance", data, -1))
//
// Otherwise Txn is like [Client.Create].
func (c *Client) Txn(ctx context.Context, ops ...Op) ([]OpResult, error) {
	return write(ctx, c, "txn", func(s *Session) (results []OpResult, at string, err error) {
		err = c.withRoot(ctx, s, func() (bool, error) {
			at = "" // of the try before
			results, err = s.Txn(ctx, ops...)
			bad := slices.IndexFunc(results, func(r OpResult) bool { return r.Err != nil })
			if bad < 0 {
				return false, err
			}
			at = ops[bad].at()
			if not, ok := err.(notHeld); ok {
				at, err = not.path, ErrNotHeld
			}
			return ops[bad].verb == toCreate && inRoot(at, ops[bad].mode), err
		})
		return results, at, err
	})
}

// write calls f, which makes a request once, with the present session; and with the next,
// if the session has expired before the request was sent. With an error f returns the
// path that the error is about, or "" if there is none.
func write[T any](ctx context.Context, c *Client, op string, f func(*Session) (v T, path string, err error)) (T, error) {
	for {
		s := c.present()
		v, path, err := f(s)
		switch {
		case err == nil:
			return v, nil
		case ctx.Err() == nil && !refused(err) && !errors.Is(err, ErrUnknown) && errors.Is(s.Err(), ErrExpired):
			continue // it was not sent
		}
		return v, &Error{op, path, err}
	}
}

// withRoot calls f. If f reports that a znode in the root of the client could not be
// created, because the chroot is missing, withRoot creates the chroot and calls f again.
// What is missing above other znodes is for the program to create.
func (c *Client) withRoot(ctx context.Context, s *Session, f func() (inRoot bool, err error)) error {
	var err error // of the last f, while InDir sees only what concerns the chroot
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
