package queue

import (
	"context"
	"errors"
	"path"
	"slices"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// background is the context of the driver's requests. They end with the session.
var background = context.Background()

// path returns the path of a node of the queue.
func (d *driver) path(node string) string { return zkpath.Join(d.Dir, node) }

// create makes our node, and our baton if we have one. In one transaction with it the
// directory is written to, which makes the answer tell how many children there are and
// the id of the transaction: so a lock that is free costs one request. It also means
// that the directory's data belong to the queue.
// With again, there may be a baton from before, which is removed, and no other made.
func (d *driver) create(again bool) input {
	if again {
		if in := d.removeBaton(); in.kind == refused {
			return in
		}
	}
	ops := []coord.Op{
		coord.OpCreate(d.path(prefix(d.m.id, d.m.mode)), []byte(d.Label), coord.Ephemeral|coord.Sequential),
		coord.OpSet(d.Dir, []byte{}, -1),
	}
	if hasBaton(d.m.id) && !again {
		ops = append(ops, coord.OpCreate(d.batonPath(d.m.id), nil, coord.Ephemeral))
	}
	var res []coord.OpResult
	err := d.s.InDir(background, d.Dir, func() (err error) {
		res, err = d.s.Txn(background, ops...)
		if len(ops) == 3 && res[2].Err != nil {
			if d.makeBatonDir(res[2].Err) != nil {
				crowdsOf(d.c).set(d.Dir, refusing)
				ops = ops[:2] // the name says that there is one, but nobody relies on it
			}
			res, err = d.s.Txn(background, ops...)
		}
		if len(ops) >= 2 && errors.Is(res[1].Err, coord.ErrNoAuth) {
			ops = ops[:1] // we may create here, but not write; then the listing will tell
			res, err = d.s.Txn(background, ops...)
		}
		return err
	})
	switch {
	case err == nil && len(ops) == 1:
		return input{kind: created, node: path.Base(res[0].Path)}
	case err == nil:
		dir := res[1].Stat
		return input{kind: created, node: path.Base(res[0].Path), token: dir.Mzxid, onlyChild: dir.NumChildren == 1}
	case d.s.Refused(err):
		return input{kind: refused, err: err}
	}
	return input{kind: unknown}
}

// list reads the queue. A try lists again as long as it is blocked only by what its own
// client is about to remove.
func (d *driver) list(sync bool) input {
	for {
		ours := Stakes(d.c, d.Dir) // before the listing, which does not show a node that was removed earlier
		var err error
		if sync {
			err = d.s.Sync(background, d.Dir)
		}
		var names []string
		if err == nil {
			names, _, err = d.s.Children(background, d.Dir)
		}
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
	all := inOrder(names)
	me := slices.IndexFunc(all, func(c contender) bool { return c.id == d.m.id })
	if me < 0 {
		return false
	}
	var last *Stake
	for _, c := range blockers(all, me) {
		i := slices.IndexFunc(ours, func(s *Stake) bool { return s.id == c.id && s.leaving() })
		if i < 0 {
			return false
		}
		last = ours[i]
	}
	return last != nil && last.Yields(d.k, d.s)
}

// remove deletes our node, and our baton, which is passed if we held. That they are not
// there any more is as good: their names were never given to another.
func (d *driver) remove(node string, pass bool) input {
	if node == "" {
		return d.removeBaton()
	}
	if hasBaton(d.m.id) && !reads(node) {
		err := d.removeBoth(node, pass)
		if err == nil {
			return input{kind: removed}
		}
		if !d.s.Refused(err) {
			return input{kind: refused, err: err}
		}
	}
	return d.delete(d.path(node))
}

// delete deletes one znode of ours. That it is not there is as good.
func (d *driver) delete(path string) input {
	err := d.s.Delete(background, path, -1)
	if err == nil || errors.Is(err, coord.ErrNoNode) {
		return input{kind: removed}
	}
	if d.s.Refused(err) {
		d.k.NotRemoved(err)
	}
	return input{kind: refused, err: err}
}
