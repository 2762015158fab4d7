package barrier

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/members"
)

// background is the context of all requests. They end with the session. None is given
// up before its answer is here, or it could come to ZooKeeper after what was asked later
// to undo it.
var background = context.Background()

// transact makes a transaction of ops, once, and returns the index of the op that is to
// blame for the error, -1 if none is.
func (d *driver) transact(ops []coord.Op) (results []coord.OpResult, blame int, err error) {
	results, err = d.s.Txn(background, ops...)
	return results, slices.IndexFunc(results, func(r coord.OpResult) bool { return r.Err != nil }), err
}

// list lists the directory; with o.n, only if so many are in.
func (d *driver) list(o op) input {
	if o.n > 0 {
		n, err := d.s.Exists(background, d.dir)
		switch {
		case err != nil:
			return input{kind: refused, err: err}
		case int(n.NumChildren) < o.n:
			return input{kind: listed, barrier: barrier{version: n.Version, few: true}}
		}
	}
	names, dir, err := d.s.Children(background, d.dir)
	if err != nil && !errors.Is(err, coord.ErrNoNode) {
		return input{kind: refused, err: err}
	}
	b := barrier{version: dir.Version, members: names}
	slices.Sort(b.members)
	if i, open := slices.BinarySearch(b.members, ready); open {
		b.open, b.members = true, slices.Delete(b.members, i, i+1)
	}
	return input{kind: listed, barrier: b}
}

// creation is how many ops it takes to make our znodes, where no earlier session of the
// client has left one behind.
const creation = 4

// create makes our znodes, unless a round was opened or has ended since the directory had
// the version.
func (d *driver) create(o op, guard string) input {
	member := d.path(d.m.id)
	ops := []coord.Op{
		coord.OpCreate(guard, nil, coord.Ephemeral),
		coord.OpCheck(d.dir, o.version),
		coord.OpCreate(member, nil, coord.Ephemeral),
		coord.OpSet(member, nil, 0), // makes the answer tell which transaction it is
	}
	for {
		results, blame, err := d.transact(ops)
		switch {
		case err == nil:
			return input{kind: created, token: results[len(ops)-1].Stat.Czxid}
		case !d.s.Refused(err):
			return input{kind: unknown}
		case errors.Is(err, coord.ErrBadVersion):
			return input{kind: changed}
		case blame == 1 && errors.Is(err, coord.ErrNoNode):
			if err := d.makeDir(d.dir, err); err != nil {
				return input{kind: refused, err: err}
			}
			if o.version != 0 {
				return input{kind: changed}
			}
		case blame == 0 && errors.Is(err, coord.ErrNoNode):
			if err := d.makeDir(d.guards(), err); err != nil {
				return input{kind: refused, err: err}
			}
		case blame == 2 && errors.Is(err, coord.ErrNodeExists) && len(ops) == creation:
			n, err := d.s.Exists(background, member)
			owner := coord.SessionID(n.EphemeralOwner)
			switch {
			case err != nil:
				return input{kind: refused, err: err}
			case !n.Exists:
				return input{kind: changed}
			case !d.c.Kit().IsPastSession(owner):
				return input{kind: taken, err: d.taken(owner)}
			}
			// A removal can be bound to a version and not to an owner. So it may hit what
			// another has put there since we looked, if that has the same version. Its
			// owner would be told that it was deleted.
			ops = slices.Insert(ops, 2, coord.OpDelete(member, n.Version))
		case len(ops) > creation && (errors.Is(err, coord.ErrNoNode) || errors.Is(err, coord.ErrNodeExists)):
			return input{kind: changed}
		default:
			return input{kind: refused, err: err}
		}
	}
}

// makeDir makes the directory dir, because missing says that it is missing.
func (d *driver) makeDir(dir string, missing error) error {
	return d.s.InDir(background, dir, func() error {
		err := missing
		missing = nil
		return err
	})
}

// taken returns why the ID cannot be had while its znode belongs to a session.
func (d *driver) taken(owner coord.SessionID) error {
	switch owner {
	case 0:
		return fmt.Errorf("%w by a znode of no session", members.ErrTaken)
	case d.s.ID():
		return fmt.Errorf("%w by this client itself", members.ErrTaken)
	}
	return fmt.Errorf("%w by session %v; if that is of an earlier run of this program, until it expires", members.ErrTaken, owner)
}

// check finds out whether our znodes are there, after the answer to their create was lost.
// Without the Sync a server that lags would hide them.
func (d *driver) check() input {
	if err := d.s.Sync(background, d.guard); err != nil {
		return input{kind: refused, err: err}
	}
	n, err := d.s.Exists(background, d.guard)
	switch {
	case err != nil:
		return input{kind: refused, err: err}
	case !n.Exists:
		return input{kind: changed}
	}
	return input{kind: created, token: n.Czxid}
}

// open opens a round of the members, and of us if we are none of them.
func (d *driver) open(o op) input {
	ops := []coord.Op{coord.OpCheck(d.path(d.m.id), -1)}
	for _, id := range o.members {
		ops = append(ops, coord.OpCheck(d.path(id), -1))
	}
	ops = append(ops, coord.OpSet(d.dir, nil, o.version), coord.OpCreate(d.path(ready), nil, coord.Persistent))
	err := d.s.Retry(background, func() error {
		_, err := d.s.Txn(background, ops...)
		return err
	})
	switch {
	case err == nil:
		return input{kind: opened}
	case errors.Is(err, coord.ErrNoNode), errors.Is(err, coord.ErrBadVersion), errors.Is(err, coord.ErrNodeExists):
		return input{kind: changed}
	}
	return input{kind: refused, err: err}
}

// remove removes our znodes, and with o.last ready with them. As in create, a removal
// cannot be bound to an owner. So if our znode was deleted, and we have not heard of it, it
// may hit what another has put there since.
func (d *driver) remove(o op, token int64) input {
	if o.singly {
		return d.removeSingly(token)
	}
	own := []coord.Op{coord.OpDelete(d.guard, -1), coord.OpDelete(d.path(d.m.id), -1)}
	all := own
	if o.last {
		all = append(all, d.closing(o.version)...)
	}
	var blame int
	err := d.s.Retry(background, func() (err error) {
		_, blame, err = d.transact(all)
		return err
	})
	switch {
	case err == nil && o.last:
		return input{kind: closed}
	case err == nil:
		return input{kind: removed}
	case blame >= len(own): // somebody else has removed ready
		return d.remove(op{}, token)
	case errors.Is(err, coord.ErrNoNode):
		// Both are gone if the answer to an earlier try was lost. One of them is there if
		// somebody has deleted the other.
		return d.removeSingly(token)
	}
	return input{kind: refused, err: err}
}

// removeSingly removes what is left of our znodes.
func (d *driver) removeSingly(token int64) input {
	member := d.path(d.m.id)
	n, err := d.s.Exists(background, member)
	if err == nil && n.Exists && n.Czxid == token {
		err = d.s.Delete(background, member, n.Version)
	}
	if err == nil || errors.Is(err, coord.ErrNoNode) {
		err = d.s.Delete(background, d.guard, -1)
	}
	if err == nil || errors.Is(err, coord.ErrNoNode) {
		return input{kind: removed}
	}
	return input{kind: refused, err: err}
}

// clear removes ready. The version binds that to the round of which it was listed that
// nobody is in it.
func (d *driver) clear(o op) input {
	err := d.s.Retry(background, func() error {
		_, err := d.s.Txn(background, d.closing(o.version)...)
		return err
	})
	if err == nil || errors.Is(err, coord.ErrNoNode) || errors.Is(err, coord.ErrBadVersion) {
		return input{kind: changed}
	}
	return input{kind: refused, err: err}
}

// closing returns what ends the round that is open in a directory of the version.
func (d *driver) closing(version int32) []coord.Op {
	return []coord.Op{coord.OpSet(d.dir, nil, version), coord.OpDelete(d.path(ready), -1)}
}
