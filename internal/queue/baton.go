package queue

import (
	"errors"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// When the contender before ours goes, we must know one thing: whether it held. Then all
// that were before it are gone, and it is our turn; otherwise we must list the queue.
// The baton tells. It is a second ephemeral znode of a contender, made and removed in one
// transaction with the first, in a directory of its own. Who waits watches the baton of
// the one before it instead of the znode. A contender that held writes to its baton when
// it deletes it, so that its watcher hears of a write and not of a deletion. Nobody else
// writes there, which cannot be said of the znodes in the queue: a revocation is written
// to those.
//
// The one behind a contender that is alone before it needs no baton: whatever becomes of
// that, nobody else is left. And whoever cannot be sure of what it heard, because the
// baton was deleted without a write, or never there, or the connection was lost, looks at
// the znode itself, and at the queue.

// batonDir returns the directory of the batons for the lock in dir. It is not dir, where
// each child that is created uses up a number, and Curator counts all that are there.
func batonDir(dir string) string { return dir + "-batons" }

// batonPath returns the path of the baton of the contender id.
func (d *driver) batonPath(id string) string { return zkpath.Join(batonDir(d.Dir), id) }

// equip makes our baton, if node is there.
func (d *driver) equip(node string) input {
	baton := d.batonPath(d.m.id)
	ops := []coord.Op{coord.OpCheck(d.path(node), -1), coord.OpCreate(baton, nil, coord.Ephemeral)}
	err := d.s.InDir(background, batonDir(d.Dir), func() error {
		var res []coord.OpResult
		err := d.s.Retry(background, func() (err error) {
			res, err = d.s.Txn(background, ops...)
			return err
		})
		switch {
		case !d.s.Refused(err):
			return err
		case res[0].Err != nil, errors.Is(err, coord.ErrNodeExists):
			return nil // our node is gone, which will be found out; or the baton is there already
		}
		return err
	})
	if d.s.Refused(err) {
		crowdsOf(d.c).set(d.Dir, refusing)
	}
	return input{kind: equipped}
}

// removal returns what removes our node and our baton, which is passed on if pass.
func (d *driver) removal(node string, pass bool) []coord.Op {
	baton := d.batonPath(d.m.id)
	ops := []coord.Op{coord.OpDelete(baton, -1), coord.OpDelete(d.path(node), -1)}
	if pass {
		ops = append([]coord.Op{coord.OpSet(baton, nil, -1)}, ops...)
	}
	return ops
}

// removeSingly removes what the transaction of removal, which has ended with err, has not.
func (d *driver) removeSingly(node string, err error) input {
	if err == nil {
		return input{kind: removed}
	}
	if !d.s.Refused(err) {
		return input{kind: refused, err: err}
	}
	// One of them, or both, may be gone, for the answer to an earlier try may be lost.
	if in := d.removeBaton(); in.kind == refused && !d.s.Refused(in.err) {
		return in
	}
	return d.delete(d.path(node))
}

// removeBaton removes our baton, which is not passed on.
func (d *driver) removeBaton() input { return d.delete(d.batonPath(d.m.id)) }
