package coord

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// A Kit has what recipes are made with, together with [NewStream]. A program that only
// uses recipes does not need it.
type Kit struct{ c *Client }

// Kit returns what recipes are made with. See "Making recipes" in the package comment.
func (c *Client) Kit() *Kit {
	if c == nil {
		panic("coord: the client is nil: a lock, a group or a value must come from its New, with a client")
	}
	return &c.kit
}

// Session returns the present session, which may not be established yet. After
// [Client.Close] that is the last one, which is over.
func (k *Kit) Session() *Session { return k.c.present() }

// Await waits until the present session is connected, and returns it. If ctx ends first,
// the error is ctx's cause, and has what the servers say if they refuse the client. If
// the client is closed, it is [ErrClosed].
func (k *Kit) Await(ctx context.Context) (*Session, error) {
	c := k.c
	for {
		c.mu.Lock()
		s, state, changed := c.session, c.state, c.changed
		c.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return nil, c.ctxErr(ctx)
		case state == Connected:
			return s, nil
		case state == Closed:
			return nil, s.Err()
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// Retry calls f with the present session, and with the next one when that expires,
// until f returns nil or an error that is [Session.Refused]. It ends with ctx's cause
// when ctx ends, and with [ErrClosed] when the client is closed. The requests of f must
// not depend on a session, and must do no harm when they are carried out more than
// once.
func (k *Kit) Retry(ctx context.Context, f func(*Session) error) error {
	for {
		s := k.c.present()
		err := s.Retry(ctx, func() error { return f(s) })
		if err == nil || !errors.Is(s.Err(), ErrExpired) || refused(err) || ctx.Err() != nil {
			return err
		}
	}
}

// Go runs f on a goroutine that [Client.Close] waits for, and reports whether it
// does: if the client is closed, f is not run. The context that f is given ends when
// the client is closed.
func (k *Kit) Go(f func(ctx context.Context)) bool {
	c := k.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return false
	}
	c.tasks.Go(func() { f(c.ctx) })
	return true
}

// Values returns a map for what all uses of a recipe with the same client share. Its keys
// follow the rule for the keys of a context: their type belongs to the recipe alone.
func (k *Kit) Values() *sync.Map { return &k.c.local }

// IsPastSession reports whether id is that of an earlier session of the client. The
// ensemble may keep such a session, with its ephemeral znodes, for a while. Only the last
// few sessions are remembered.
func (k *Kit) IsPastSession(id SessionID) bool {
	k.c.mu.Lock()
	defer k.c.mu.Unlock()
	return slices.Contains(k.c.past, id)
}

// WatchUntilDeleted follows the data of the znode at path until it is deleted. It is for
// a znode that is not created again, such as one with an id in its name. It leaves no
// watch behind for a creation that will not come. So the stream says nothing more after
// the deletion, unless somebody else begins to follow the znode.
func (k *Kit) WatchUntilDeleted(ctx context.Context, path string) *event.Stream[event.Snapshot] {
	if err := zkpath.Check(path); err != nil {
		return event.Ended[event.Snapshot](&Error{"watch", path, err})
	}
	return k.c.loop.WatchUntilDeleted(ctx, k.c.FullPath(path), path)
}

// WatchBaton is like [Kit.WatchUntilDeleted], for a znode that nobody writes to but in
// the transaction that deletes it. If it was deleted so, the last value, of a znode that
// does not exist, has Version 1. It has Version 0 if the znode was deleted without, or
// the connection was lost meanwhile. It is for the recipes of this module.
func (k *Kit) WatchBaton(ctx context.Context, path string) *event.Stream[event.Snapshot] {
	if err := zkpath.Check(path); err != nil {
		return event.Ended[event.Snapshot](&Error{"watch", path, err})
	}
	return k.c.loop.WatchBaton(ctx, k.c.FullPath(path), path)
}

// Nested reports whether ctx comes from the [Hold.Context] of a Hold on path, of the same
// client, that has not ended. A recipe whose holds exclude each other does not acquire
// with such a ctx: the caller would wait for itself.
func (k *Kit) Nested(ctx context.Context, path string) bool {
	in, _ := ctx.Value(contextKey{k.c, path}).(*enclosing)
	for in != nil && in.h.Err() != nil {
		in = in.outer
	}
	return in != nil
}

// ACL returns a copy of [Options].ACL, or of its default.
func (k *Kit) ACL() []ACL { return slices.Clone(k.c.opts.ACL) }

// CheckSize returns the error with which a transaction of ops would be refused without
// being sent, or nil. It is [ErrTooLarge] if they are more than a server takes. It is for
// data that will be stored only later.
func (k *Kit) CheckSize(ops ...Op) error {
	all, _ := flat(ops)
	requests := make([]any, len(all))
	for i, op := range all {
		var err error
		if requests[i], err = op.request(k.c); err != nil {
			return err
		}
	}
	return checkMulti(requests...)
}
