package queue

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// maxReads is how many labels are read at a time. More would only wait for the
// connection.
const maxReads = 8

// Contenders lists the contenders in the queue of dir, head first. One that goes
// meanwhile is left out.
func Contenders(ctx context.Context, c *coord.Client, dir string) ([]coord.Contender, error) {
	all, err := readAll(ctx, c, dir)
	if err != nil {
		return nil, &coord.Error{Op: "contenders", Path: dir, Err: err}
	}
	return all, nil
}

// Head returns the first contender in the queue of dir, and whether there is one. Its
// errors are bare.
func Head(ctx context.Context, c *coord.Client, dir string) (coord.Contender, bool, error) {
	inQueue, err := readNames(ctx, c, dir)
	for _, who := range inQueue {
		n, err := get(ctx, c, zkpath.Join(dir, who.name))
		if err != nil {
			return coord.Contender{}, false, err
		}
		if n.Exists {
			head := contenderOf(who, n.Data, n.Stat)
			head.Holds = true
			return head, true, nil
		}
	}
	return coord.Contender{}, false, err
}

// readNames returns the contenders in the queue of dir, head first.
func readNames(ctx context.Context, c *coord.Client, dir string) ([]contender, error) {
	if err := (Entry{Dir: dir}).Check(); err != nil {
		return nil, err
	}
	var names []string
	err := c.Kit().Retry(ctx, func(s *coord.Session) (err error) {
		names, _, err = s.Children(ctx, dir)
		return err
	})
	if err == nil {
		err = checkChildren(names)
	}
	if err != nil {
		return nil, err
	}
	return inOrder(names), nil
}

// readAll is Contenders with bare errors.
func readAll(ctx context.Context, c *coord.Client, dir string) ([]coord.Contender, error) {
	inQueue, err := readNames(ctx, c, dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(inQueue))
	for i, who := range inQueue {
		names[i] = who.name
	}
	read, err := ReadAll(ctx, c, dir, names)
	if err != nil {
		return nil, err
	}
	all := make([]coord.Contender, 0, len(read))
	for _, who := range inQueue {
		if n, ok := read[who.name]; ok {
			all = append(all, contenderOf(who, n.Data, n.Stat))
		}
	}
	markHolders(all)
	return all, nil
}

// ReadAll reads the children of dir with these names, several at a time, and returns those
// that are there, by name. The data of one that may not be read are nil.
func ReadAll(ctx context.Context, c *coord.Client, dir string, names []string) (map[string]coord.Node, error) {
	var mu sync.Mutex
	read := make(map[string]coord.Node)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxReads)
	for _, name := range names {
		g.Go(func() error {
			n, err := get(ctx, c, zkpath.Join(dir, name))
			if err != nil || !n.Exists {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			read[name] = n
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return read, nil
}

// markHolders sets Holds of those that hold, or will as soon as they know it. All are in
// order.
func markHolders(all []coord.Contender) {
	for i := range all {
		if i > 0 && !(all[0].Reads && all[i].Reads) {
			break
		}
		all[i].Holds = true
	}
}

// get reads the znode at path, without its data if they may not be read.
func get(ctx context.Context, c *coord.Client, path string) (n coord.Node, err error) {
	err = c.Kit().Retry(ctx, func(s *coord.Session) error {
		if n, err = s.Get(ctx, path); errors.Is(err, coord.ErrNoAuth) {
			n, err = s.Exists(ctx, path)
		}
		return err
	})
	return n, err
}

// contenderOf returns what others see of a contender.
func contenderOf(c contender, data []byte, stat coord.Stat) coord.Contender {
	who := Owner(c.name, data, stat)
	who.Reads = c.mode == Read
	return who
}

// Owner returns what others see of the owner of a znode that has this name.
func Owner(name string, data []byte, stat coord.Stat) coord.Contender {
	who := coord.Contender{
		Label:   string(data),
		Node:    name,
		Session: coord.SessionID(stat.EphemeralOwner),
		Token:   coord.Token(stat.Czxid),
		Since:   time.UnixMilli(stat.Ctime),
	}
	if who.Label == Revocation { // it is written over the label
		who.Label, who.Revoked = "", true
	}
	return who
}
