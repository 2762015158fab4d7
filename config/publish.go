package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/zkcoord/zkcoord/coord"
)

// Publish stores several values at once, and removes others. The keys of values
// and those to remove are paths relative to path, such as "db/host". They are all
// changed in one transaction: whoever reads them finds all of it or nothing, and never
// a part of it beside a part of what another publishes at the same time. (Of several
// streams each hears of its own key, one after the other.)
//
// What is stored is replaced, whatever it is: of two who publish, the last wins.
// What is not there is created, and what is missing above it is created first, and
// stays even if the transaction is refused. To remove a key that is not there is
// no error; to remove one that has children is one, zk.ErrNotEmpty, unless they are
// removed as well. Among several keys, that one is not there is made sure of in the
// same transaction: a znode is created in its place and deleted again. That takes the
// permission for both, whoever follows the directory looks at it again, and below an
// ephemeral znode, which can have no keys, it is refused.
//
// The change is carried out once or not at all, as that of [Modify], and an error
// means what it means there. Nothing is asked of the ensemble if a key is invalid,
// or is both to be stored and to be removed, or if the values take more than
// [coord.MaxData] bytes together, or all of it, with the client's access list for
// each that is stored, is more than a server takes as one request. That may turn out
// later, and nothing be changed, if many that are to be removed are not there: such a
// key takes about three times the room.
func Publish[T any](ctx context.Context, c *coord.Client, path string, values map[string]T, encode func(T) ([]byte, error), remove ...string) error {
	fail := func(err error) error { return &coord.Error{Op: "publish", Path: path, Err: err} }
	if err := coord.CheckPath(path); err != nil {
		return fail(err)
	}
	if encode == nil {
		return fail(errNil("encode"))
	}
	var writes []write
	// Sorted, so that what is above is created before what is below, and removed
	// after it.
	for _, key := range slices.Sorted(maps.Keys(values)) {
		at, err := keyPath(path, key)
		if err != nil {
			return fail(err)
		}
		data, err := encoded(at, encode, values[key])
		if err != nil {
			return err
		}
		writes = append(writes, write{key: key, path: c.FullPath(at), data: data, version: -1})
	}
	gone := slices.Compact(slices.Sorted(slices.Values(remove)))
	for _, key := range slices.Backward(gone) {
		at, err := keyPath(path, key)
		if err != nil {
			return fail(err)
		}
		if _, both := values[key]; both {
			return fail(fmt.Errorf("config: key %q is both to be stored and to be removed", key))
		}
		// Taken for there until it is looked at: so it needs the least room.
		writes = append(writes, write{key: key, path: c.FullPath(at), remove: true, was: new(zk.Stat)})
	}
	if err := checkData(writes); err != nil {
		return fail(err)
	}
	if err := marksOf(c).checkSize(writes); err != nil {
		return fail(err)
	}
	if err := publish(ctx, c, c.FullPath(path), writes); err != nil {
		return fail(err)
	}
	return nil
}

// keyPath returns the path of key below path.
func keyPath(path, key string) (string, error) {
	at := coord.Child(path, key)
	if key == "" {
		return "", fmt.Errorf("%w: an empty key", coord.ErrInvalidPath)
	}
	if err := coord.CheckPath(at); err != nil {
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
	if n > coord.MaxData {
		return fmt.Errorf("config: %d bytes, at most %d can be stored at once", n, coord.MaxData)
	}
	return nil
}

// publish carries out writes below the full path.
func publish(ctx context.Context, c *coord.Client, path string, writes []write) error {
	var pause backoff
	for {
		s, err := c.Await(ctx)
		if err != nil {
			return err
		}
		var todo []write
		if err = look(ctx, s, path, writes); err == nil {
			todo, err = conditional(ctx, s, writes)
		}
		if err == nil && len(todo) == 1 && todo[0].absent() {
			err = confirm(ctx, s, todo[0].path)
		} else if err == nil && len(todo) > 0 {
			err = commit(ctx, c, s, todo)
		}
		if err != errAgain {
			return err
		}
		pause.wait(ctx, s)
	}
}

// maxLooks is how many znodes are asked after at a time. More would only wait in
// line for the connection.
const maxLooks = 8

// look asks what is there of writes, and notes it in them.
func look(ctx context.Context, s *coord.Session, path string, writes []write) error {
	// Or a key that another client has stored before may be missed, and then
	// not be removed.
	if err := catchUp(ctx, s, path); err != nil {
		return err
	}
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(maxLooks)
	for i := range writes {
		w := &writes[i]
		g.Go(func() (err error) {
			w.was, err = exists(within, s, w.path)
			return err
		})
	}
	return g.Wait()
}

// exists returns the stat of the full path, nil if it is not there.
func exists(ctx context.Context, s *coord.Session, path string) (*zk.Stat, error) {
	stat, err := coord.Retry(ctx, s, func(conn *zk.Conn) (*zk.Stat, error) {
		there, stat, err := conn.Exists(path)
		if !there {
			stat = nil
		}
		return stat, err
	})
	return stat, reason(ctx, s, err)
}

// confirm has a quorum say that the full path is not there, which a look does not: a
// leader that is cut off answers that, too. A write that is refused is agreed upon as
// any other, and takes no permission if there is nothing.
func confirm(ctx context.Context, s *coord.Session, path string) error {
	_, err := coord.Retry(ctx, s, func(conn *zk.Conn) (*zk.Stat, error) {
		return conn.Set(path, nil, math.MinInt32) // a version that no znode has
	})
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil
	case coord.Refused(err): // something is there
		return errAgain
	}
	return reason(ctx, s, err)
}

// conditional returns what is to be done in one transaction for writes, which have
// been looked at. That what is to be removed is not there is a condition of the
// transaction: another might create it before that is carried out, and one would find
// half of each. A znode can be a condition by its absence if its parent is there. So
// the topmost one that is missing stands for all that is to be removed below it.
func conditional(ctx context.Context, s *coord.Session, writes []write) ([]write, error) {
	there := map[string]bool{"/": true}
	named := make(map[string]bool) // those whose absence is a condition already
	for _, w := range writes {
		there[w.path] = w.was != nil
		for up := path.Dir(w.path); w.was != nil && !there[up]; up = path.Dir(up) {
			there[up] = true
		}
		named[w.path] = w.creates()
	}
	var todo []write
	for _, w := range writes {
		for up := path.Dir(w.path); w.absent() && len(writes) > 1 && !there[up]; up = path.Dir(up) {
			if _, known := there[up]; !known {
				stat, err := exists(ctx, s, up)
				if err != nil {
					return nil, err
				}
				if there[up] = stat != nil; there[up] {
					break
				}
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
