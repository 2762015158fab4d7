package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/history"
	"github.com/zkcoord/zkcoord/lock"
)

// The queue is that of examples/queue in small, in the directory queuePath: an item is a
// znode in items, with its ID for data. It is taken by the lock.Unqueued of its name in
// taken, and done by one transaction that puts its result into results. There is a znode
// in ids for each ID, so that an item that was perhaps put can be put again.

// work puts an item, or takes one and does it.
func (a *actor) work() bool {
	if a.rng.IntN(2) == 0 {
		return a.put()
	}
	ctx, cancel := context.WithTimeout(a.working, requestTime)
	defer cancel()
	items, _, err := a.session.Children(ctx, queuePath+"/items")
	if err != nil {
		return false
	}
	taken, _, err := a.session.Children(ctx, queuePath+"/taken")
	if err != nil {
		return false
	}
	slices.Sort(items)
	for _, name := range items {
		if !slices.Contains(taken, name) {
			return a.take(name)
		}
	}
	return true
}

// put puts an item.
func (a *actor) put() bool {
	ctx, cancel := context.WithTimeout(context.Background(), requestTime)
	defer cancel()
	e := a.event(history.Queue, queuePath)
	id := fmt.Sprintf("%s-%d", processName(a.ID, a.Life), a.op)
	e.F, e.Value = history.Put, id
	a.note(e, history.Call, nil)
	unknown := false
	for {
		_, err := a.session.Txn(ctx,
			coord.OpCreate(queuePath+"/ids/"+id, nil, coord.Persistent),
			coord.OpCreate(queuePath+"/items/item-", []byte(id), coord.Persistent|coord.Sequential))
		if errors.Is(err, coord.ErrUnknown) && ctx.Err() == nil {
			unknown = true
			continue
		}
		switch {
		case errors.Is(err, coord.ErrNodeExists):
			err = nil // that was the time before
		case err != nil && unknown:
			err = errors.Join(coord.ErrUnknown, err)
		}
		a.note(e, outcome(err), err)
		return err == nil
	}
}

// take takes an item and does it. That somebody else was faster is a success as well.
func (a *actor) take(name string) bool {
	path := queuePath + "/taken/" + name
	done := true
	a.hold(lock.NewUnqueued(a.session, path).TryAcquire, func(h *holding) {
		ctx := h.Context(context.Background())
		item, _, err := a.session.Get(ctx, queuePath+"/items/"+name)
		if err != nil {
			done = errors.Is(err, coord.ErrNoNode) // it was done before
			return
		}
		a.pause(ctx, 10, 100)
		done = a.finish(h, name, string(item))
	}, a.event(history.Unqueued, path))
	return done
}

// finish puts the result in the place of an item.
func (a *actor) finish(h *holding, name, id string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), requestTime)
	defer cancel()
	e := a.event(history.Queue, queuePath)
	e.F, e.Value, e.Token = history.Done, id, int64(h.Token())
	a.note(e, history.Call, nil)
	unknown := false
	for {
		_, err := a.session.Txn(ctx, h.Guard(),
			coord.OpCreate(queuePath+"/results/"+id, []byte(a.name), coord.Persistent),
			coord.OpDelete(queuePath+"/items/"+name, -1))
		if errors.Is(err, coord.ErrUnknown) && ctx.Err() == nil {
			unknown = true
			continue
		}
		switch {
		case err == nil, !unknown:
		case errors.Is(err, coord.ErrNodeExists):
			err = nil // that was the time before
		default:
			err = errors.Join(coord.ErrUnknown, err)
		}
		a.note(e, outcome(err), err)
		return err == nil
	}
}
