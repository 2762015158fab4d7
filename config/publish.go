package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// Publish stores the values of set and removes other keys, in one transaction.
// A reader finds all of it or nothing, and never a part of it beside a part of what
// another publishes at the same time. (Of several streams each is told of
// its own key, one after the other.) Keys are paths relative to that of the tree,
// such as "db/host".
//
// What is stored is replaced without being read: of two publications, the last wins.
// What does not exist is created. What is missing above it is created first, and
// stays even if the transaction is refused. To remove a key that does not exist is
// no error; to remove one that has children is one, [coord.ErrNotEmpty], unless they
// are removed as well. Among several keys, the same transaction makes sure that a key
// does not exist: a znode is created in its place and deleted again. That needs the
// permission for both, makes clients that follow the directory look at it again, and is
// refused below an ephemeral znode, which can have no keys.
//
// The conditions in when are part of the transaction: [coord.Hold.Guard], so that only the
// leader publishes, say, or [coord.OpCheck]. If one fails, that is the error, such as
// [coord.ErrNotHeld], and nothing is changed. Another op among them is refused.
//
// Publish returns an Update for each key of set, with what was stored and its Version, as
// [Value.Store] does. Only if the answer was lost, and another has stored the key since, is
// the Version unknown. It is then the least int32, which no znode has.
//
// A publication is carried out once or not at all, and its errors mean what those of
// [Value.Modify] do. Nothing is asked of the ensemble if a key is invalid, or both
// stored and removed; if the values take more than 992 KiB together; or if all of it,
// with the client's access list for each value, is more than a server takes as one
// request, which is [coord.ErrTooLarge]. That may turn out later, with nothing changed,
// if many keys to be removed do not exist: such a key takes about three times the room.
func (t *Tree[T]) Publish(ctx context.Context, set map[string]T, remove []string, when ...coord.Op) (map[string]Update[T], error) {
	err := cmp.Or(t.check(false, len(set) > 0), checkConditions(when))
	var writes []write
	if err == nil {
		writes, err = t.writes(set, remove, when)
	}
	var stats map[string]coord.Stat
	if err == nil {
		err = repeat(ctx, t.c, func(s *coord.Session) (err error) {
			stats, err = publish(ctx, t.c, s, t.path, when, writes)
			return err
		})
	}
	if err != nil {
		return nil, &coord.Error{Op: "publish", Path: t.path, Err: err}
	}
	now := make(map[string]Update[T], len(set))
	for _, w := range writes {
		if !w.remove {
			now[w.key] = updateOf(set[w.key], stats[w.path])
		}
	}
	return now, nil
}

// checkConditions reports which op of when is no condition.
func checkConditions(when []coord.Op) error {
	for _, op := range when {
		if !op.IsCheck() {
			return fmt.Errorf("config: %v is not a condition: use OpCheck or a Guard", op)
		}
	}
	return nil
}

// writes returns what is to be done to store set and to remove keys, or why that
// cannot be done at once, with the conditions.
func (t *Tree[T]) writes(set map[string]T, remove []string, when []coord.Op) ([]write, error) {
	var writes []write
	// Sorted, so that what is above is created before what is below, and removed
	// after it.
	for _, key := range slices.Sorted(maps.Keys(set)) {
		at, err := keyPath(t.path, key)
		if err != nil {
			return nil, err
		}
		data, err := t.codec.encode(set[key])
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", key, err)
		}
		writes = append(writes, write{key: key, path: at, data: data, version: -1})
	}
	gone := slices.Compact(slices.Sorted(slices.Values(remove)))
	for _, key := range slices.Backward(gone) {
		at, err := keyPath(t.path, key)
		if err != nil {
			return nil, err
		}
		if _, both := set[key]; both {
			return nil, fmt.Errorf("config: key %q is both to be stored and to be removed", key)
		}
		// Taken to exist until it is looked at: so it needs the least room.
		writes = append(writes, write{key: key, path: at, remove: true, found: coord.Node{Exists: true}})
	}
	if err := checkData(writes); err != nil {
		return nil, err
	}
	ops, _ := transaction(newWitness(nil), when, writes)
	return writes, t.c.Kit().CheckSize(ops...)
}

// keyPath returns the path of key below path.
func keyPath(path, key string) (string, error) {
	at := zkpath.Join(path, key)
	if key == "" {
		return "", fmt.Errorf("%w: an empty key", coord.ErrInvalidPath)
	}
	if err := zkpath.Check(at); err != nil {
		return "", fmt.Errorf("key %q: %w", key, err)
	}
	return at, nil
}

// checkData reports why the data of writes are too much.
func checkData(writes []write) error {
	n := 0
	for _, w := range writes {
		n += len(w.data)
	}
	if n > maxData {
		return fmt.Errorf("%w: %d bytes, at most %d can be stored at once", coord.ErrTooLarge, n, maxData)
	}
	return nil
}

// publish carries out writes, at or below path, in session s, if the conditions hold. It
// returns the stat of each znode that it has stored, by path.
func publish(ctx context.Context, c *coord.Client, s *coord.Session, path string, when []coord.Op, writes []write) (map[string]coord.Stat, error) {
	if err := find(ctx, s, path, writes); err != nil {
		return nil, err
	}
	todo, err := conditional(ctx, c, s, writes)
	switch {
	case err != nil || len(todo)+len(when) == 0:
		return nil, err
	case len(todo) == 1 && todo[0].absent():
		return nil, confirm(ctx, s, when, todo[0].path)
	}
	got, err := commit(ctx, c, s, when, todo)
	if err != nil {
		return nil, err
	}
	return stored(ctx, c, path, todo, got), nil
}

// noVersion is a version that no znode has.
const noVersion = math.MinInt32

// stored returns the stat of each znode that writes have stored, by path. What got does
// not tell it asks for, and leaves it open if somebody else has stored something since.
func stored(ctx context.Context, c *coord.Client, path string, writes []write, got receipt) map[string]coord.Stat {
	stats := make(map[string]coord.Stat)
	var ask []write
	for _, w := range writes {
		stat, known := got.set[w.path]
		switch {
		case w.remove:
			continue
		case known:
			stats[w.path] = stat
			continue
		case got.stat != nil:
			stat = *got.stat
		}
		if stat.Version = noVersion; w.creates() {
			stat.Version = 0
		}
		if stats[w.path] = stat; stat.Version == noVersion || stat.Mzxid == 0 {
			ask = append(ask, w)
		}
	}
	if len(ask) == 0 {
		return stats
	}
	if s, err := c.Kit().Await(ctx); err != nil || find(ctx, s, path, ask) != nil {
		return stats
	}
	for _, w := range ask {
		switch now, was := w.found.Stat, stats[w.path]; {
		case was.Mzxid != 0 && now.Mzxid == was.Mzxid, was.Mzxid == 0 && now.Czxid == now.Mzxid:
			stats[w.path] = now
		}
	}
	return stats
}

// maxLooks is how many znodes are asked after at a time. More would only wait in
// line for the connection.
const maxLooks = 8

// find notes in writes what there is of them.
func find(ctx context.Context, s *coord.Session, path string, writes []write) error {
	// Or a key that another client has stored before may be missed, and then
	// not be removed.
	if err := s.Sync(ctx, path); err != nil {
		return err
	}
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(maxLooks)
	for i := range writes {
		w := &writes[i]
		g.Go(func() (err error) {
			w.found, err = s.Exists(within, w.path)
			return err
		})
	}
	return g.Wait()
}

// confirm makes a quorum say that path does not exist and that the conditions hold,
// which a read does not: a leader that is cut off answers that, too. A write that is
// refused is agreed upon as any other, and needs no permission if there is nothing.
func confirm(ctx context.Context, s *coord.Session, when []coord.Op, path string) error {
	ops := append(slices.Clone(when), coord.OpSet(path, nil, noVersion))
	results, err := s.Txn(ctx, ops...)
	at := slices.IndexFunc(results, func(r coord.OpResult) bool { return r.Err != nil })
	switch {
	case at >= 0 && at < len(when):
		return fmt.Errorf("%v: %w", ops[at], err)
	case at == len(when) && errors.Is(err, coord.ErrNoNode):
		return nil
	case at == len(when), errors.Is(err, coord.ErrUnknown): // something is there; or it was refused, unheard
		return errStale
	}
	return err
}

// conditional returns what is to be done in one transaction for writes, which have
// been looked at. That a key to be removed does not exist is a condition of the
// transaction: another might create it before that is carried out, and a reader
// would find half of each. The absence of a znode can be a condition if its parent
// exists. So the topmost one that is missing stands for all that is to be removed
// below it.
func conditional(ctx context.Context, c *coord.Client, s *coord.Session, writes []write) ([]write, error) {
	there := make(map[string]bool)
	if c.FullPath("/") == "/" {
		there["/"] = true // a chroot need not exist
	}
	named := make(map[string]bool) // those whose absence is a condition already
	for _, w := range writes {
		there[w.path] = w.found.Exists
		for up := zkpath.Parent(w.path); w.found.Exists && !there[up]; up = zkpath.Parent(up) {
			there[up] = true
		}
		named[w.path] = w.creates()
	}
	var todo []write
	for _, w := range writes {
		for w.absent() && len(writes) > 1 && w.path != "/" {
			up := zkpath.Parent(w.path)
			if _, known := there[up]; !known {
				n, err := s.Exists(ctx, up)
				if err != nil {
					return nil, err
				}
				there[up] = n.Exists
			}
			if there[up] {
				break
			}
			w.path = up
		}
		if w.absent() && named[w.path] {
			continue
		}
		named[w.path] = true
		todo = append(todo, w)
	}
	return todo, nil
}
