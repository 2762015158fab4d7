package main

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"path"
	"slices"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/lock"
)

// An Item is something to be done.
type Item struct {
	ID    string
	Data  []byte
	Token coord.Token // greater each time that the item is taken
}

// Work takes items and has f do them, until ctx ends or f fails. An item of which f has
// failed stays in the queue. The ctx of f ends when the item is lost, and then f should
// return; what it has made of the item does not count. A taker lists the queue once in a
// batch, or when something changes while it has nothing to do. If others were faster to
// take an item of the last batch, it begins the next one somewhere in the middle: among
// many takers the order is that of the batches.
func (q *Queue) Work(ctx context.Context, f func(context.Context, Item) ([]byte, error)) error {
	outrun := false
	for ctx.Err() == nil {
		items, _, err := q.c.Children(ctx, path.Join(q.dir, "items"))
		if err != nil {
			return err
		}
		taken, _, err := q.c.Children(ctx, path.Join(q.dir, "taken"))
		if err != nil {
			return err
		}
		names := free(items, taken)
		if len(names) == 0 {
			if names, err = q.await(ctx); err != nil {
				return err
			}
		}
		if outrun && len(names) > 0 {
			i := rand.IntN(len(names))
			names = slices.Concat(names[i:], names[:i])
		}
		step("listed", "")
		outrun = false
		for _, name := range names {
			if ctx.Err() != nil {
				break
			}
			err := q.do(ctx, name, f)
			switch {
			case errors.Is(err, coord.ErrLocked):
				outrun = true
			case err != nil:
				return err
			}
		}
	}
	return context.Cause(ctx)
}

// free returns the first items that nobody has taken, at most a batch, in the order in
// which they are to be done.
func free(items, taken []string) []string {
	held := make(map[string]bool, len(taken))
	for _, name := range taken {
		held[name] = true
	}
	names := slices.DeleteFunc(slices.Clone(items), func(name string) bool { return held[name] })
	slices.Sort(names)
	return names[:min(len(names), batch)]
}

// await waits until an item is free, and returns what free does.
func (q *Queue) await(ctx context.Context) ([]string, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	items := q.c.Watch(ctx, path.Join(q.dir, "items"), event.Children)
	taken := q.c.Watch(ctx, path.Join(q.dir, "taken"), event.Children)
	for {
		select {
		case <-items.Updates():
		case <-taken.Updates():
		case <-items.Done():
			return nil, items.Err()
		case <-taken.Done():
			return nil, taken.Err()
		}
		i, oki := items.Latest()
		t, okt := taken.Latest()
		if !oki || !okt || i.Suspended || t.Suspended {
			continue
		}
		if names := free(i.Children, t.Children); len(names) > 0 {
			return names, nil
		}
	}
}

// do takes an item, and has f do it. The error is ErrLocked if somebody else has it.
func (q *Queue) do(ctx context.Context, name string, f func(context.Context, Item) ([]byte, error)) error {
	h := lock.NewUnqueued(q.c, q.taken(name)).TryAcquire(ctx)
	defer q.giveBack(ctx, h, name)
	switch err := h.Wait(); {
	case err == nil:
	case coord.IsLost(err), ctx.Err() != nil:
		return nil // the next batch will tell
	default:
		return err
	}
	step("taken", name)
	work := h.Context(ctx)
	data, _, err := q.c.Get(work, q.item(name))
	switch {
	case errors.Is(err, coord.ErrNoNode):
		return nil // it was done before we took it
	case work.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	id, text, _ := bytes.Cut(data, []byte("\n"))
	step("read", string(id))
	result, err := f(work, Item{ID: string(id), Data: text, Token: h.Token()})
	switch {
	case work.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	step("done", string(id))
	return q.finish(work, h, name, string(id), result)
}

// finish puts the result in the place of an item, as its holder.
func (q *Queue) finish(ctx context.Context, h *coord.Hold, name, id string, result []byte) error {
	for {
		_, err := q.c.Txn(ctx, h.Guard(), coord.OpCreate(q.result(id), result, coord.Persistent), coord.OpDelete(q.item(name), -1))
		switch {
		case ctx.Err() != nil, errors.Is(err, coord.ErrNotHeld):
			return nil // if it is not done, it will be taken again
		case errors.Is(err, coord.ErrUnknown):
			continue
		case errors.Is(err, coord.ErrNodeExists), errors.Is(err, coord.ErrNoNode):
			return nil // by us, and the answer was lost
		case err == nil:
			step("finished", id)
		}
		return err
	}
}

// giveBack releases an item, and removes the directory of its lock's guards, which nobody
// will need again. If that fails, the servers remove it after a while.
func (q *Queue) giveBack(ctx context.Context, h *coord.Hold, name string) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer stop()
	held := h.Token() != 0
	if h.Release(ctx) == nil && held {
		step("released", name)
		_ = q.c.Delete(ctx, q.taken(name)+"-guard", -1)
	}
}
