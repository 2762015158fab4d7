package config

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/zkcoord/zkcoord/coord"
)

// Publish stores several values at once, and removes others. The keys of values
// and those to remove are paths relative to path, such as "db/host". They are all
// changed in one transaction: whoever reads them finds all of it or nothing. (Of
// several streams each hears of its own key, one after the other.)
//
// What is stored is replaced, whatever it is: of two who publish, the last wins.
// What is not there is created, and what is missing above it is created first, and
// stays even if the transaction is refused. To remove a key that is not there is
// no error; to remove one that has children is one, zk.ErrNotEmpty, unless they are
// removed as well.
//
// The change is carried out once or not at all, as that of [Modify], and an error
// means what it means there. Nothing is asked of the ensemble if a key is invalid,
// or is both to be stored and to be removed, or if the values take more than
// [coord.MaxData] bytes together, or the whole request, with some 100 bytes for
// each key, more than a server takes.
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
		writes = append(writes, write{key: key, path: c.FullPath(at), remove: true})
	}
	if err := checkSize(writes, c.ACL()); err != nil {
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

// maxRequest is the most that servers take, less what is around the writes.
const maxRequest = 1<<20 - 1<<10

// checkSize reports why writes are too much for one transaction. A server would
// hang up without a word.
func checkSize(writes []write, acl []zk.ACL) error {
	each := 32 // for lengths, flags and the like
	for _, a := range acl {
		each += 12 + len(a.Scheme) + len(a.ID)
	}
	data, all := 0, 0
	for _, w := range writes {
		data += len(w.data)
		all += each + len(w.path) + len(w.data)
	}
	if data > coord.MaxData || all > maxRequest {
		return fmt.Errorf("config: %d keys with %d bytes, more than fits into one transaction", len(writes), data)
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
		if err = look(ctx, s, path, writes); err == nil {
			todo := slices.DeleteFunc(slices.Clone(writes), func(w write) bool { return w.remove && w.was == nil })
			if len(todo) == 0 {
				return nil
			}
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
		g.Go(func() error {
			stat, err := coord.Retry(within, s, func(conn *zk.Conn) (*zk.Stat, error) {
				there, stat, err := conn.Exists(w.path)
				if !there {
					stat = nil
				}
				return stat, err
			})
			w.was = stat
			return reason(within, s, err)
		})
	}
	return g.Wait()
}
