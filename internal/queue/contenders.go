package queue

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/zkcoord/zkcoord/coord"
)

// maxReads is how many labels are read at a time. More would only wait for the
// connection.
const maxReads = 8

// Contenders lists who is in the queue of dir, head first. A contender that goes
// meanwhile is left out.
func Contenders(ctx context.Context, c *coord.Client, dir string) ([]coord.Contender, error) {
	all, err := readAll(ctx, c, dir)
	if err != nil {
		return nil, &coord.Error{Op: "contenders", Path: dir, Err: err}
	}
	return all, nil
}

// readAll is Contenders with bare errors.
func readAll(ctx context.Context, c *coord.Client, dir string) ([]coord.Contender, error) {
	if err := (Entry{Dir: dir}).check(); err != nil {
		return nil, err
	}
	full := c.FullPath(dir)
	names, err := coord.Read(ctx, c, func(conn *zk.Conn) ([]string, error) {
		names, _, err := conn.Children(full)
		return names, err
	})
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return nil, err
	}
	var mu sync.Mutex
	read := make(map[string]coord.Contender)
	inQueue := inOrder(names)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxReads)
	for _, who := range inQueue {
		g.Go(func() error {
			n, err := get(ctx, c, full+"/"+who.name)
			if err != nil {
				if errors.Is(err, zk.ErrNoNode) {
					return nil
				}
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			read[who.name] = contenderOf(who, n.data, n.stat)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	all := make([]coord.Contender, 0, len(read))
	for _, who := range inQueue {
		if c, ok := read[who.name]; ok {
			all = append(all, c)
		}
	}
	return all, nil
}

// A readNode is what get reads.
type readNode struct {
	data []byte // none if they may not be read
	stat *zk.Stat
}

// get reads the znode at a full path.
func get(ctx context.Context, c *coord.Client, full string) (readNode, error) {
	n, err := coord.Read(ctx, c, func(conn *zk.Conn) (readNode, error) {
		data, stat, err := conn.Get(full)
		return readNode{data, stat}, err
	})
	if errors.Is(err, zk.ErrNoAuth) {
		n, err = coord.Read(ctx, c, func(conn *zk.Conn) (readNode, error) {
			ok, stat, err := conn.Exists(full)
			if err == nil && !ok {
				err = zk.ErrNoNode
			}
			return readNode{nil, stat}, err
		})
	}
	return n, err
}

// contenderOf returns what others see of a contender.
func contenderOf(c contender, data []byte, stat *zk.Stat) coord.Contender {
	who := coord.Contender{
		Label:   string(data),
		Node:    c.name,
		Session: stat.EphemeralOwner,
		Token:   coord.Token(stat.Czxid),
		Since:   time.UnixMilli(stat.Ctime),
		Reads:   c.mode == Read,
	}
	if who.Label == Revocation { // it is written over the label
		who.Label, who.Revoked = "", true
	}
	return who
}
