package queue

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/zkcoord/zkcoord/coord"
	events "github.com/zkcoord/zkcoord/event"
)

// A Place is one contender as the others see it.
type Place struct {
	Label   string      // what it says of itself
	Node    string      // the name of its znode
	Session int64       // that holds it
	Token   coord.Token // that it has or will have when it holds
	Since   time.Time   // when it joined the queue, by the ensemble's clock
}

// maxReads is how many labels are read at a time, of those to be read for one
// listing. More would only wait in line for the connection.
const maxReads = 8

// Contenders lists who is in the queue of dir, head first.
func Contenders(ctx context.Context, c *coord.Client, dir string) ([]Place, error) {
	if err := (Wish{Dir: dir}).check(); err != nil {
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
	line := line(children)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxReads)
	for _, who := range line {
		if p, ok := known[who.name]; ok {
			mu.Lock() // one who downgrades is new though not the last in line
			read[who.name] = p
			mu.Unlock()
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
	return Place{
		Node:    name,
		Label:   string(n.data),
		Session: n.stat.EphemeralOwner,
		Token:   coord.Token(n.stat.Czxid),
		Since:   time.UnixMilli(n.stat.Ctime),
	}, nil
}

// Watch follows who is in the queue of dir until ctx ends, as what face makes of
// it. While the connection is down the stream says nothing new.
func Watch[T any](ctx context.Context, c *coord.Client, op, dir string, face func([]Place) T) *events.Stream[T] {
	out, p := events.NewStream[T]()
	end := func(err error) { p.Close(&coord.Error{Op: op, Path: dir, Err: err}) }
	if err := (Wish{Dir: dir}).check(); err != nil {
		end(err)
		return out
	}
	ok := c.Go(func(life context.Context) {
		ctx, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		defer context.AfterFunc(life, func() { stop(context.Cause(life)) })()
		end(watchPlaces(ctx, c, dir, func(all []Place) { p.Publish(face(all)) }))
	})
	if !ok {
		end(coord.ErrClosed)
	}
	return out
}

// watchPlaces calls publish with each new list of who is in the queue, until ctx
// ends, and returns why it ended. Of those that it has read it reads none again.
func watchPlaces(ctx context.Context, c *coord.Client, dir string, publish func([]Place)) error {
	children := c.Watch(ctx, dir, events.Children)
	known := make(map[string]Place)
	var last []Place
	first := true
	for {
		var snap events.Snapshot
		select {
		case snap = <-children.Updates():
		case <-children.Done():
			return children.Err()
		}
		if snap.Suspended {
			continue
		}
		all, err := places(ctx, c, c.FullPath(dir), snap.Children, known)
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		}
		clear(known)
		for _, p := range all {
			known[p.Node] = p
		}
		if first || !slices.Equal(all, last) {
			publish(all)
		}
		first, last = false, all
	}
}
