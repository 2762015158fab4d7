package queue

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
)

// maxMakes bounds how often a directory that is missing is made for one create.
// Even under constant cleaning it was never missing twice in a row.
const maxMakes = 8

// create makes our node. In one transaction with it the directory is written to,
// which makes the answer tell how many children there are and the id of the
// transaction: so a lock that is free costs one request. It also means that the
// directory's data belong to the queue.
func (d *driver) create() input {
	dir := d.c.FullPath(d.Dir)
	node := &zk.CreateRequest{
		Path:  dir + "/" + prefix(d.m.id, d.m.mode),
		Data:  []byte(d.Label),
		Acl:   d.c.ACL(),
		Flags: zk.FlagEphemeral | zk.FlagSequence,
	}
	ops := []any{node, &zk.SetDataRequest{Path: dir, Data: []byte{}, Version: -1}}
	for range maxMakes {
		res, err := coord.Call(context.Background(), d.s, func(conn *zk.Conn) ([]zk.MultiResponse, error) {
			return coord.Transact(conn, ops...)
		})
		switch {
		case err == nil && len(ops) == 1:
			return input{kind: created, node: path.Base(res[0].String)}
		case err == nil:
			stat := res[1].Stat
			return input{kind: created, node: path.Base(res[0].String), token: stat.Mzxid, onlyChild: stat.NumChildren == 1}
		case errors.Is(err, zk.ErrNoNode):
			if err := d.s.MakeDir(context.Background(), dir); err != nil {
				return input{kind: refused, err: err}
			}
		case errors.Is(err, zk.ErrNoAuth) && len(ops) == 2 && len(res) == 2 && res[0].Error == nil:
			ops = ops[:1] // we may create here, but not write; then the listing will tell
		case coord.Refused(err):
			return input{kind: refused, err: err}
		default:
			return input{kind: unknown}
		}
	}
	return input{kind: refused, err: fmt.Errorf("%w: the directory is removed as soon as it is made", zk.ErrNoNode)}
}

// list reads who is in the queue. A try has it read again as long as nobody
// blocks it but what its own client is about to remove.
func (d *driver) list(sync bool) input {
	for {
		ours := Stakes(d.c, d.Dir) // before the reading: what is over by then is not read any more
		names, err := children(context.Background(), d.s, d.c.FullPath(d.Dir), sync)
		if err != nil {
			return input{kind: refused, err: err}
		}
		if !d.Try || !d.yielded(names, ours) {
			return input{kind: listed, names: names}
		}
	}
}

// yielded waits until one of ours that blocks us is over, and reports whether one
// is. It waits for none if others block us too.
func (d *driver) yielded(names []string, ours []*Stake) bool {
	line := inOrder(names)
	me := slices.IndexFunc(line, func(c contender) bool { return c.id == d.m.id })
	if me < 0 {
		return false
	}
	var last *Stake
	for _, c := range blockers(line, me) {
		i := slices.IndexFunc(ours, func(s *Stake) bool { return s.id == c.id && s.leaving() })
		if i < 0 {
			return false
		}
		last = ours[i]
	}
	return last != nil && last.Yields(d.k, d.s)
}

// children returns the names of dir's children, none if there is no dir.
func children(ctx context.Context, s *coord.Session, dir string, sync bool) ([]string, error) {
	if sync {
		_, err := coord.Retry(ctx, s, func(conn *zk.Conn) (string, error) { return conn.Sync(dir) })
		if err != nil {
			return nil, err
		}
	}
	names, err := coord.Retry(ctx, s, func(conn *zk.Conn) ([]string, error) {
		names, _, err := conn.Children(dir)
		return names, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return names, err
}

// remove deletes our node. That it is not there any more is as good: its name
// was never given to another.
func (d *driver) remove(node string) input {
	_, err := coord.Retry(context.Background(), d.s, func(conn *zk.Conn) (struct{}, error) {
		return struct{}{}, conn.Delete(d.c.FullPath(d.Dir+"/"+node), -1)
	})
	if err == nil || errors.Is(err, zk.ErrNoNode) {
		return input{kind: removed}
	}
	if coord.Refused(err) {
		d.k.Leftover(err)
	}
	return input{kind: refused, err: err}
}
