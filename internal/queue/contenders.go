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

// A Place is one contender as the others see it.
type Place struct {
	Label   string      // what it says of itself, as far as that is known
	Node    string      // the name of its znode
	Session int64       // that holds it
	Token   coord.Token // that it has or will have when it holds
	Since   time.Time   // when it joined the queue, by the ensemble's clock
	Revoked bool        // it has been asked to give way
}

// show notes what the znode of p says now. A revocation takes the place of the
// label, so that stays as it was last known.
func (p *Place) show(data []byte) {
	if p.Revoked = string(data) == Revocation; !p.Revoked {
		p.Label = string(data)
	}
}

// maxReads is how many labels are read at a time, of those to be read for one
// listing. More would only wait in line for the connection.
const maxReads = 8

// Contenders lists who is in the queue of dir, head first.
func Contenders(ctx context.Context, c *coord.Client, dir string) ([]Place, error) {
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
	return places(ctx, c, full, names, nil)
}

// places reads what is not in known of those children that are contenders. One
// that has gone in the meantime is left out.
func places(ctx context.Context, c *coord.Client, dir string, children []string, known map[string]Place) ([]Place, error) {
	var mu sync.Mutex
	read := make(map[string]Place)
	line := inOrder(children)
	for _, who := range line {
		if p, ok := known[who.name]; ok {
			read[who.name] = p
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxReads)
	for _, who := range line {
		if _, ok := known[who.name]; ok {
			continue
		}
		g.Go(func() error {
			p, err := place(ctx, c, dir, who.name)
			if err != nil {
				if errors.Is(err, zk.ErrNoNode) {
					return nil
				}
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			read[who.name] = p
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	all := make([]Place, 0, len(line))
	for _, who := range line {
		if p, ok := read[who.name]; ok {
			all = append(all, p)
		}
	}
	return all, nil
}

// place reads one contender's znode.
func place(ctx context.Context, c *coord.Client, dir, name string) (Place, error) {
	type node struct {
		data []byte
		stat *zk.Stat
	}
	n, err := coord.Read(ctx, c, func(conn *zk.Conn) (node, error) {
		data, stat, err := conn.Get(dir + "/" + name)
		return node{data, stat}, err
	})
	if errors.Is(err, zk.ErrNoAuth) { // somebody else's, who does not show it
		n, err = coord.Read(ctx, c, func(conn *zk.Conn) (node, error) {
			ok, stat, err := conn.Exists(dir + "/" + name)
			if err == nil && !ok {
				err = zk.ErrNoNode
			}
			return node{nil, stat}, err
		})
	}
	if err != nil {
		return Place{}, err
	}
	p := Place{
		Node:    name,
		Session: n.stat.EphemeralOwner,
		Token:   coord.Token(n.stat.Czxid),
		Since:   time.UnixMilli(n.stat.Ctime),
	}
	p.show(n.data)
	return p, nil
}
