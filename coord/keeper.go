package coord

import "context"

// A Keeper is the side of a [Hold] that moves it, for those who write recipes.
// One goroutine owns it.
type Keeper struct{ h *Hold }

// NewHold returns a Hold on path and has run move it, on a goroutine that
// [Client.Close] waits for. The op names what is done, for errors. When run
// returns, what it returns ends the Hold, and is its cause unless there has been
// one: see [Keeper.End]. So does a run that ends its goroutine instead.
//
// The ctx is that of the operation. Its values go to the functions of a [Trace] and
// to log handlers; its end is for run to heed, with [Keeper.GiveUp].
//
// If the client is closed, the Hold is over at once, with [ErrClosed].
func (k *Kit) NewHold(ctx context.Context, op, path string, run func(*Keeper) error) *Hold {
	h := &Hold{
		c:        k.c,
		op:       op,
		path:     path,
		ctx:      ctx,
		acquired: make(chan struct{}),
		lost:     make(chan struct{}),
		done:     make(chan struct{}),
		release:  make(chan struct{}),
	}
	h.work, h.stop = context.WithCancelCause(context.Background())
	ok := k.c.goHold(h, func() {
		cause := errExited
		defer func() { h.finish(cause) }() // run may not return
		cause = run(&Keeper{h})
	})
	if !ok {
		h.settle(ErrClosed)
		close(h.done)
	}
	return h
}

func (h *Hold) finish(cause error) {
	h.settle(cause)
	h.mu.Lock()
	s := h.session
	h.mu.Unlock()
	if s != nil {
		s.forget(h)
	}
	h.c.forget(h)
	h.mu.Lock()
	h.c.report.gone(h)
	h.mu.Unlock()
	close(h.done)
}

// Context returns a context that is canceled once the Hold has a cause, set by its
// owner's Release or by the Keeper.
func (k *Keeper) Context() context.Context { return k.h.work }

// Released returns a channel that is closed when the owner asks for release.
func (k *Keeper) Released() <-chan struct{} { return k.h.release }

// Await waits for a session that is connected, like [Kit.Await], for as long as the
// Hold is sought: until ctx, which bounds the seeking, ends, or the Hold does.
func (k *Keeper) Await(ctx context.Context) (*Session, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(k.Context(), func() { stop(ErrReleased) })()
	return k.h.c.kit.Await(ctx)
}

// Acquired says that the Hold is held in session s, where its Guard is to check the
// znode at the path node. That must be of this session, be gone before anybody else
// can hold the same, and have a name that is used once: a name alone does not tell
// whose the znode is. If node is empty the Guard lets nothing pass. Acquired returns
// an error, and the Hold is not held, if s is over or the cause of the Hold's end is
// settled; or if too much time has gone by since the last transaction that was
// carried out in s. A recipe that has made none just now uses [Session.Renew] before.
func (k *Keeper) Acquired(s *Session, node string, token Token) error {
	if err := s.check(); err != nil {
		return err
	}
	if node != "" {
		node = k.h.c.FullPath(node)
	}
	return s.grant(k.h, node, token)
}

// Renamed says that from now on the Guard of the Hold, which is held, checks the
// znode at the path node in place of the earlier one.
func (k *Keeper) Renamed(node string) {
	k.h.mu.Lock()
	defer k.h.mu.Unlock()
	k.h.node = k.h.c.FullPath(node)
}

// End says that the Hold ends because of cause, though traces of it may remain for a
// while. If it was held and is not released, that is its loss. Only the first cause
// counts.
func (k *Keeper) End(cause error) { k.h.settle(cause) }

// NotRemoved says that the Hold's znode could not be removed, because of err, and
// stays until the session ends.
func (k *Keeper) NotRemoved(err error) {
	h := k.h
	h.c.report.notRemoved(h, err)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leftover = err
}

// GiveUp says that the Hold is sought no more because of cause, which is the end
// of the ctx that governs the seeking, and reports whether it is over. If it is
// not, it has been acquired, and that ctx matters no more: a recipe must end a
// Hold for its ctx's sake in no other way.
func (k *Keeper) GiveUp(cause error) bool {
	k.h.mu.Lock()
	defer k.h.mu.Unlock()
	if k.h.err == nil && k.h.session != nil {
		return false
	}
	k.h.end(cause)
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

// forget notes that h is over.
func (c *Client) forget(*Hold) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holds--
}
