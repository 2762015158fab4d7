package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/history"
	"github.com/zkcoord/zkcoord/lock"
)

// This file has the operations on values, and on items that are put and taken.

func (a *actor) value() *config.Value[string] { return config.New(a.Client, a.path(), config.Text()) }

func (a *actor) set() {
	e := history.Event{Recipe: history.Config, F: history.Set, Path: a.path(), Value: a.id()}
	_ = a.call(e, func(ctx context.Context, end *history.Event) error {
		u, err := a.value().Store(ctx, a.id())
		end.Zxid = u.Mzxid
		return err
	})
}

func (a *actor) modify() {
	e := history.Event{Recipe: history.Config, F: history.Modify, Path: a.path()}
	_ = a.call(e, func(ctx context.Context, end *history.Event) error {
		u, err := a.value().Modify(ctx, func(was string) (string, error) {
			end.Was, end.Value = was, a.id()
			return end.Value, nil
		})
		end.Zxid = u.Mzxid
		return err
	})
}

func (a *actor) get() {
	e := history.Event{Recipe: history.Config, F: history.Get, Path: a.path()}
	_ = a.call(e, func(ctx context.Context, end *history.Event) error {
		u, err := a.value().Read(ctx)
		if errors.Is(err, config.ErrMissing) {
			err = nil
		}
		end.Value = u.Value
		return err
	})
}

// leaves are the keys of a tree, which are published together.
var leaves = []string{"left", "right"}

func (a *actor) publish() {
	set := make(map[string]string)
	for _, key := range leaves {
		set[key] = a.id()
	}
	ctx, cancel := context.WithTimeout(a.ctx, patience)
	defer cancel()
	_, err := config.NewTree(a.Client, a.path(), config.Text()).Publish(ctx, set, nil)
	a.expect(err, coord.ErrUnknown, context.DeadlineExceeded)
}

func (a *actor) add() {
	n := config.NewCounter(a.Client, a.path())
	e := history.Event{Recipe: history.Counter, F: history.Add, Path: a.path(), Value: a.param("N", 0)}
	_ = a.call(e, func(ctx context.Context, end *history.Event) error {
		add := n.Add
		if a.w.plant.Add != nil {
			add = func(ctx context.Context, delta int64, _ ...coord.Op) (int64, error) {
				return a.w.plant.Add(ctx, a.Client, a.path(), delta)
			}
		}
		sum, err := add(ctx, int64(a.number()))
		end.Value = strconv.FormatInt(sum, 10)
		return err
	})
}

func (a *actor) sum() {
	e := history.Event{Recipe: history.Counter, F: history.Sum, Path: a.path()}
	_ = a.call(e, func(ctx context.Context, end *history.Event) error {
		sum, err := config.NewCounter(a.Client, a.path()).Get(ctx)
		end.Value = strconv.FormatInt(sum, 10)
		return err
	})
}

// put puts an item into a queue. There is a znode for each ID, so that an item whose answer
// was lost is not put twice.
func (a *actor) put() {
	e := history.Event{Recipe: history.Queue, F: history.Put, Path: a.path(), Value: a.id()}
	_ = a.call(e, func(ctx context.Context, end *history.Event) error {
		end.Value = a.id()
		for sent := false; ; sent = true {
			_, err := a.Txn(ctx, coord.OpCreate(a.path()+"/ids/"+a.id(), nil, coord.Persistent),
				coord.OpCreate(a.path()+"/items/", []byte(a.id()), coord.Persistent|coord.Sequential))
			if errors.Is(err, coord.ErrNodeExists) && sent {
				return nil
			}
			if !errors.Is(err, coord.ErrUnknown) || ctx.Err() != nil {
				return err
			}
		}
	})
}

// take takes the first item that nobody has, and does it.
func (a *actor) take() {
	ctx, cancel := context.WithTimeout(a.ctx, patience)
	defer cancel()
	items, _, err := a.Children(ctx, a.path()+"/items")
	if err != nil {
		a.expect(err, context.DeadlineExceeded)
		return
	}
	for _, name := range items {
		taken := false
		x := &stake{recipe: history.Unqueued, paths: []string{a.path() + "/taken/" + name}, refusals: []error{coord.ErrLocked}}
		x.halfway = func(h *coord.Hold) {
			taken = true
			a.do(h, name)
		}
		a.hold(a.dur(0), x, lock.NewUnqueued(a.Client, x.paths[0]).TryAcquire)
		if taken {
			return
		}
	}
}

// do does an item, as its holder.
func (a *actor) do(h *coord.Hold, name string) {
	ctx, cancel := context.WithTimeout(a.ctx, patience)
	defer cancel()
	item := a.path() + "/items/" + name
	data, _, err := a.Get(ctx, item)
	if err != nil { // it was done before
		return
	}
	e := history.Event{Recipe: history.Queue, F: history.Done, Path: a.path(), Value: string(data)}
	_ = a.call(e, func(ctx context.Context, end *history.Event) error {
		end.Value = string(data)
		_, err := a.Txn(ctx, h.Guard(), coord.OpDelete(item, -1), coord.OpDelete(a.path()+"/ids/"+string(data), -1))
		if errors.Is(err, coord.ErrNoNode) && !errors.Is(err, coord.ErrNotHeld) {
			return fmt.Errorf("done by another: %w", coord.ErrNotHeld)
		}
		return err
	})
}

// follow follows a path, by the recipe that its first part names, until its time is over or,
// if that is beyond the end of the script, until the world ends.
func (a *actor) follow() {
	ctx, cancel := context.WithTimeout(a.ctx, a.dur(0))
	defer cancel()
	recipe, _, _ := strings.Cut(a.path()[1:], "/")
	switch recipe {
	case "config":
		seen(ctx, a, history.Config, a.value().Watch(ctx), func(s string) string { return s })
	case "counter":
		seen(ctx, a, history.Counter, config.NewCounter(a.Client, a.path()).Watch(ctx), func(n int64) string { return strconv.FormatInt(n, 10) })
	case "tree":
		a.followTree(ctx)
	default:
		a.followView(ctx, recipe)
	}
}

// seen records what a stream shows of a value.
func seen[T any](ctx context.Context, a *actor, recipe string, s *event.Stream[config.Update[T]], text func(T) string) {
	op := a.next()
	suspended := false
	for u := range s.All() {
		e := history.Event{Kind: history.Seen, Recipe: recipe, Path: a.path(), Op: op, Value: text(u.Value), Zxid: u.Mzxid}
		if errors.Is(u.Err, config.ErrMissing) { // an operator has deleted it
			var none T
			e.Value, e.Zxid = text(none), 0
		}
		switch {
		case u.Suspended && !suspended:
			a.record(history.Event{Kind: history.Suspended, Recipe: recipe, Path: a.path(), Op: op})
		case !u.Suspended && (u.Err == nil || errors.Is(u.Err, config.ErrMissing)):
			a.record(e)
		}
		suspended = u.Suspended
	}
	a.ends(ctx, s.Err())
}

// ends checks why a stream has ended.
func (a *actor) ends(ctx context.Context, err error) {
	if ctx.Err() == nil {
		a.expect(err)
	}
}

// followTree checks that what is published together is seen together.
func (a *actor) followTree(ctx context.Context) {
	s := config.NewTree(a.Client, a.path(), config.Text()).Watch(ctx)
	last := int64(0)
	for v := range s.All() {
		if v.Suspended || len(v.Keys) == 0 {
			continue
		}
		left, right := v.Keys[leaves[0]], v.Keys[leaves[1]]
		if left.Value != right.Value || left.Mzxid != right.Mzxid {
			a.w.violate("torn tree", "%s: %q of %#x and %q of %#x", a.Line, left.Value, left.Mzxid, right.Value, right.Mzxid)
		}
		if left.Mzxid < last {
			a.w.violate("view went back", "%s: from %#x to %#x", a.Line, last, left.Mzxid)
		}
		last = left.Mzxid
	}
	a.ends(ctx, s.Err())
}
