package coord

import (
	"context"
	"errors"

	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// errAcquired is the answer to a second Acquired.
var errAcquired = errors.New("coord: Keeper.Acquired called twice for one Hold")

// A Keeper is the side of a [Hold] that its recipe has: with it, the recipe says when the
// Hold is acquired and when it ends. One goroutine owns it.
type Keeper struct{ h *Hold }

// NewHold returns a Hold on path, and calls run to acquire and keep it, on a goroutine
// that [Client.Close] waits for. The op is the verb for errors, such as "acquire". When
// run returns, the Hold is over. The error that it returns is the cause, unless there
// has been one: see [Keeper.End]. A run that ends its goroutine ends the Hold, too.
//
// The ctx is that of the operation. Its values go to the functions of a [Trace] and to
// log handlers. Its end does nothing by itself: run must see to it, with
// [Keeper.GiveUp].
//
// If the client is closed, or path is invalid, run is not called, and the Hold is over at
// once, with [ErrClosed] or [ErrInvalidPath].
func (k *Kit) NewHold(ctx context.Context, op, path string, run func(*Keeper) error) *Hold {
	return k.newHold(ctx, op, path, nil, run)
}

func (k *Kit) newHold(ctx context.Context, op, path string, parts *joint, run func(*Keeper) error) *Hold {
	h := &Hold{
		c:        k.c,
		id:       holds.Add(1),
		op:       op,
		path:     path,
		ctx:      ctx,
		joint:    parts,
		acquired: make(chan struct{}),
		release:  make(chan struct{}),
	}
	h.work, h.stop = context.WithCancelCause(context.Background())
	ok := k.c.goHold(h, func() {
		cause := errExited
		defer func() { h.finish(cause) }() // run may not return
		if cause = zkpath.Check(path); cause == nil {
			cause = errExited
			cause = run(&Keeper{h})
		}
	})
	if !ok {
		h.end(ErrClosed)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.shut(&h.done)
	}
	return h
}

// finish ends h, for cause unless there has been one, and closes Done last: then nothing
// of h is left in the client, and all about it has been reported.
func (h *Hold) finish(cause error) {
	h.end(cause)
	h.mu.Lock()
	s := h.session
	h.mu.Unlock()
	if s != nil {
		s.forget(h)
	}
	h.c.forget(h)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.c.report.gone(h)
	h.shut(&h.done)
}

// Context returns a context that is canceled once the Hold has a cause, set by its
// owner's Release or by the Keeper.
func (k *Keeper) Context() context.Context { return k.h.work }

// Released returns a channel that is closed when the owner asks for release.
func (k *Keeper) Released() <-chan struct{} { return k.h.release }

// Await waits for a session that is connected, as [Kit.Await] does, until ctx ends, which
// bounds the wait for the Hold, or the Hold does.
func (k *Keeper) Await(ctx context.Context) (*Session, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	// Most often nothing is to be waited for. Then the contexts that are made below, and
	// what the Hold's keeps of them, would be for nothing.
	if s := k.h.c.connected(); s != nil && k.h.work.Err() == nil {
		return s, nil
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(k.Context(), func() { stop(ErrReleased) })()
	return k.h.c.kit.Await(ctx)
}

// connected returns the present session, nil if it is not connected.
func (c *Client) connected() *Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != Connected {
		return nil
	}
	return c.session
}

// Acquired makes the Hold held, in session s. From now on its Guard checks the znode at
// the path node. That znode must belong to s, and be gone before anybody else can hold
// the same thing. Its name must be used only once, because the check is of a name and
// does not say whose the znode is. If node is empty, the Guard lets nothing pass.
//
// Acquired returns an error, and the Hold is not held, if s is over, if the Hold has
// ended, or if the last transaction that was carried out in s is too long ago. A recipe
// that has made none just now calls [Session.Renew] first. A second call returns an
// error, too, and changes nothing.
//
// Such a Hold has one znode that its Guard checks. What is held by several znodes is
// several Holds, which are acquired by [Kit.HoldAll].
func (k *Keeper) Acquired(s *Session, node string, token Token) error {
	if err := s.check(); err != nil {
		return err
	}
	if node != "" {
		node = k.h.c.FullPath(node)
	}
	return s.grant(k.h, node, token)
}

// Renamed makes the Guard of the Hold, which is held, check the znode at the path node
// from now on, in place of the earlier one.
func (k *Keeper) Renamed(node string) {
	k.h.mu.Lock()
	defer k.h.mu.Unlock()
	k.h.node = k.h.c.FullPath(node)
}

// End says that the Hold has ended, because of cause, though its znodes may still be
// there. If it was held and is not released, it is lost by this. Only the first cause
// counts.
func (k *Keeper) End(cause error) { k.h.end(cause) }

// NotRemoved says that the Hold's znode could not be removed, because of err, and stays
// until the session ends. [Hold.Release] then returns err.
func (k *Keeper) NotRemoved(err error) {
	h := k.h
	h.c.report.notRemoved(h, err)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notRemoved = err
}

// GiveUp ends the Hold because its ctx has ended, with that ctx's cause, unless the Hold
// is held, and reports whether it has ended. If not, the ctx no longer matters. A recipe
// must not end a Hold for the end of its ctx in any other way: a Hold that has been
// acquired would be lost by that.
func (k *Keeper) GiveUp(cause error) bool {
	h := k.h
	h.mu.Lock()
	if h.err == nil && h.session != nil {
		h.mu.Unlock()
		return false
	}
	whole := h.endLocked(h.path, cause)
	err := h.err
	h.mu.Unlock()
	whole.partEnded(err)
	return true
}

// goHold runs f for h, as [Kit.Go] does, and counts h as one that is not over.
func (c *Client) goHold(h *Hold, f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return false
	}
	c.holds++
	h.counted = true
	c.report.asked(h)
	c.tasks.Go(f)
	return true
}

// forget notes that one Hold fewer is not over.
func (c *Client) forget(*Hold) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holds--
}
