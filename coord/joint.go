package coord

import (
	"cmp"
	"context"
	"errors"
	"slices"
)

// A Part is one of the things that [Kit.HoldAll] acquires.
type Part struct {
	Path    string                          // that of the Hold that Acquire returns
	Acquire func(ctx context.Context) *Hold // as the recipe's own Acquire
}

var errNoParts = errors.New("coord: nothing to acquire")

// HoldAll acquires parts, which are of this client and have different paths, and returns a
// Hold that is held while all of them are. They are acquired one after the other in the
// order of their full paths, the same for everybody. So two callers cannot each hold what
// the other waits for. The op is the verb for errors, as in [Kit.NewHold].
//
// ctx is that of each Acquire. If a part ends before all are held, so does the Hold, with
// the path and the cause of that part, and the others are released. Once the Hold is held,
// the first part that is lost ends it in the same way. The others then stay held until the
// Hold is released, so that nobody else has them while its owner stops; but Release of a
// part must be left to the Hold.
//
// Other errors have the path of the first part. Tokens, and the conditions of a Guard, are
// in the order of the arguments.
func (k *Kit) HoldAll(ctx context.Context, op string, parts ...Part) *Hold {
	if len(parts) == 0 {
		return EndedHold(op, "", errNoParts)
	}
	j := &joint{holds: make([]*Hold, len(parts))}
	order := make([]int, len(parts))
	for i, p := range parts {
		order[i] = i
		j.paths = append(j.paths, p.Path)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(k.c.FullPath(parts[a].Path), k.c.FullPath(parts[b].Path))
	})
	return k.newHold(ctx, op, parts[0].Path, j, func(keeper *Keeper) error {
		h := keeper.h
		defer h.awaitParts()
		for _, i := range order {
			part := parts[i].Acquire(ctx)
			h.add(i, part)
			select {
			case <-part.Acquired():
			case <-h.work.Done():
			}
			if h.work.Err() != nil {
				return nil // the cause is known
			}
		}
		first := j.holds[0]
		if err := keeper.Acquired(first.heldIn(), "", first.Token()); err != nil {
			h.giveUp(err)
			return nil
		}
		<-h.work.Done()
		return nil
	})
}

// EndedHold returns a Hold that is over and was never held. It is for a recipe that finds
// fault with what it is asked for before it has a client.
func EndedHold(op, path string, cause error) *Hold {
	h := &Hold{
		id:       holds.Add(1),
		op:       op,
		path:     path,
		ctx:      context.Background(),
		acquired: make(chan struct{}),
		release:  make(chan struct{}),
		done:     closed,
		err:      &Error{op, path, cause},
	}
	h.work, h.stop = context.WithCancelCause(h.ctx)
	h.stop(h.err)
	return h
}

// A joint is what a Hold has that is made of others, its parts. What happens to a part is
// told to the whole, and the other way round, by calls, so that both are known at once. No
// mutex of a Hold is held meanwhile.
type joint struct {
	paths []string
	holds []*Hold // nil as long as not asked for; guarded by the mutex of the Hold
}

// paths returns all paths that h is a Hold on.
func (h *Hold) paths() []string {
	if h.joint == nil {
		return []string{h.path}
	}
	return h.joint.paths
}

// parts returns those of h that have been asked for.
func (h *Hold) parts() []*Hold {
	if h.joint == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(h.joint.holds), func(part *Hold) bool { return part == nil })
}

// add makes part the i-th of h. From now on the end of part is the end of h.
func (h *Hold) add(i int, part *Hold) {
	part.mu.Lock()
	part.whole = h
	ended := part.err
	part.mu.Unlock()
	h.mu.Lock()
	h.joint.holds[i] = part
	over := h.err != nil
	h.mu.Unlock()
	if ended != nil {
		h.partEnded(ended)
	}
	if over { // and so its parts were released without this one, which may wait for that though it has ended
		part.giveUp(ErrReleased)
	}
}

// partEnded ends h because a part of it has ended, with err. If h is not held, it gives up
// the other parts.
func (h *Hold) partEnded(err error) {
	if h == nil {
		return
	}
	why := err.(*Error)
	h.mu.Lock()
	news, held := h.err == nil, h.session != nil
	whole := h.endLocked(why.Path, why.Err)
	err = h.err
	h.mu.Unlock()
	whole.partEnded(err)
	if news && !held {
		h.giveUp(ErrReleased)
	}
}

// giveUp ends h, for cause unless there has been one, and begins to release it. When it
// returns, the end of h is known, and so are those of its parts.
func (h *Hold) giveUp(cause error) {
	h.end(cause) // first of all, so that nothing else becomes the cause meanwhile
	h.mu.Lock()
	if !h.released {
		h.released = true
		close(h.release)
	}
	h.mu.Unlock()
	for _, part := range slices.Backward(h.parts()) {
		part.giveUp(ErrReleased)
	}
}

// awaitParts waits until the parts of h are over.
func (h *Hold) awaitParts() {
	for _, part := range h.parts() {
		<-part.Done()
		if err := part.leftover(); err != nil {
			h.mu.Lock()
			h.notRemoved = err
			h.mu.Unlock()
		}
	}
}

// heldIn returns the session in which h is held, or was.
func (h *Hold) heldIn() *Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.session
}
