package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/zkcoord/zkcoord/coord"
)

// A Queue is a work queue in a directory, which has these:
//
//	items/005-0000000042   an item: its priority and the number that the server gives it;
//	                       its data are its ID, a newline, and what was put
//	ids/ID                 that there was an item of this ID
//	taken/005-0000000042   who does the item: the znode of a lock.Unqueued
//	results/ID             what has become of the item
type Queue struct {
	c   *coord.Client
	dir string
}

// batch is how many items are taken, one after the other, before the queue is listed
// again. An item that is put meanwhile waits for that, however urgent it is.
const batch = 16

// Open returns the queue in the directory dir, which is created if it is not there.
func Open(ctx context.Context, c *coord.Client, dir string) (*Queue, error) {
	q := &Queue{c, dir}
	for _, sub := range []string{"items", "ids", "taken", "results"} {
		if err := mkdirs(ctx, c, path.Join(dir, sub)); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// mkdirs creates dir, and what is missing above it.
func mkdirs(ctx context.Context, c *coord.Client, dir string) error {
	_, err := c.Create(ctx, dir, nil, coord.Persistent)
	switch {
	case errors.Is(err, coord.ErrUnknown):
		return mkdirs(ctx, c, dir)
	case errors.Is(err, coord.ErrNodeExists):
		return nil
	case errors.Is(err, coord.ErrNoNode):
		if err := mkdirs(ctx, c, path.Dir(dir)); err != nil {
			return err
		}
		return mkdirs(ctx, c, dir)
	}
	return err
}

func (q *Queue) item(name string) string  { return path.Join(q.dir, "items", name) }
func (q *Queue) taken(name string) string { return path.Join(q.dir, "taken", name) }
func (q *Queue) id(id string) string      { return path.Join(q.dir, "ids", id) }
func (q *Queue) result(id string) string  { return path.Join(q.dir, "results", id) }

// Put puts an item, unless there was one of this ID whose result has not been removed. So
// a program that does not know whether it has put an item, because it was killed or had no
// answer, puts it again.
func (q *Queue) Put(ctx context.Context, id string, priority int, data []byte) error {
	switch {
	case id == "" || strings.ContainsAny(id, "/\n"):
		return fmt.Errorf("no ID: %q", id)
	case priority < 0 || priority > 999:
		return fmt.Errorf("priority %d is not between 0 and 999", priority)
	}
	step("put", id)
	for {
		_, err := q.c.Txn(ctx,
			coord.OpCreate(q.id(id), nil, coord.Persistent),
			coord.OpCreate(q.item(fmt.Sprintf("%03d-", priority)), append([]byte(id+"\n"), data...), coord.Persistent|coord.Sequential))
		switch {
		case errors.Is(err, coord.ErrUnknown) && ctx.Err() == nil:
			continue
		case errors.Is(err, coord.ErrNodeExists):
			return nil
		case err == nil:
			step("was put", id)
		}
		return err
	}
}

// Results calls f with each result there is, and removes it. If it is killed in between, f
// is called with the last one again by the next that asks.
func (q *Queue) Results(ctx context.Context, f func(id string, result []byte)) error {
	ids, _, err := q.c.Children(ctx, path.Join(q.dir, "results"))
	if err != nil {
		return err
	}
	slices.Sort(ids)
	for _, id := range ids {
		result, _, err := q.c.Get(ctx, q.result(id))
		if errors.Is(err, coord.ErrNoNode) {
			continue // somebody else has it
		}
		if err != nil {
			return err
		}
		step("fetched", id)
		f(id, result)
		step("collected", id)
		_, err = q.c.Txn(ctx, coord.OpDelete(q.result(id), -1), coord.OpDelete(q.id(id), -1))
		if err != nil && !errors.Is(err, coord.ErrNoNode) {
			return err // with ErrUnknown it may be removed
		}
		step("removed", id)
	}
	return nil
}

// step is called at each step that something can die after; the tests die there.
var step = func(at, what string) {}
