package claim

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// background is the context of all requests. They end with the session. None is given
// up before its answer is here, or it could come to ZooKeeper after what was asked
// later to undo it.
var background = context.Background()

// ourVersion is the data version of the znode at the path as a claim makes it. One that
// another program just creates has version zero.
const ourVersion = 1

// transact makes a transaction of ops, once, and returns the index of the op that is to
// blame for the error, -1 if none is.
func (d *driver) transact(ops []coord.Op) (results []coord.OpResult, blame int, err error) {
	results, err = d.Session.Txn(background, ops...)
	return results, slices.IndexFunc(results, func(r coord.OpResult) bool { return r.Err != nil }), err
}

// create makes our znodes.
func (d *driver) create(o op, guarded bool, data []byte) (in input) {
	var ops []coord.Op
	replaces := o.at != znode{}
	if replaces {
		// A removal can be bound to a version and not to an owner. So it may hit what
		// somebody else has put there since we looked, if that has the same version. Its
		// owner would see the deletion, and then that the path is taken.
		ops = append(ops, coord.OpDelete(d.Path, o.at.version))
	}
	// The second op makes the answer tell the Stat of what the first has made.
	ops = append(ops, coord.OpCreate(d.Path, nil, coord.Ephemeral), coord.OpSet(d.Path, data, ourVersion-1))
	ours := len(ops)
	if guarded {
		// Here it makes the answer tell how many guards there are. So a path that is free
		// costs one request.
		ops = append(ops, coord.OpCreate(d.guard, d.Label, coord.Ephemeral), coord.OpSet(d.Guards, []byte{}, -1))
	}
	again := func() bool { return false }
	dir, err := d.inDirs(func() (missing string) {
		if d.Retry != nil {
			again = d.Retry()
		}
		results, blame, err := d.transact(ops)
		switch {
		case err == nil:
			stat := results[ours-1].Stat
			in = input{kind: created, at: znode{stat.Czxid, stat.Version}}
			in.alone = d.Guards == "" || guarded && results[len(ops)-1].Stat.NumChildren == 1
		case !d.Session.Refused(err):
			in = input{kind: unknown}
		case replaces && blame == 0 && (errors.Is(err, coord.ErrNoNode) || errors.Is(err, coord.ErrBadVersion)),
			blame >= 0 && blame < ours && errors.Is(err, coord.ErrNodeExists):
			in = input{kind: exists}
			if d.Lock {
				in = input{kind: seen, whose: another, err: d.Taken(0)}
			}
		case errors.Is(err, coord.ErrNoNode) && blame < ours:
			return zkpath.Parent(d.Path)
		case errors.Is(err, coord.ErrNoNode):
			return d.Guards
		case blame >= ours && !d.Lock:
			in = input{kind: guardless}
		default:
			in = input{kind: refused, err: err}
		}
		return ""
	})
	switch {
	case err == nil && in.kind == seen && again():
		return d.create(o, guarded, data)
	case err == nil:
		return in
	case dir == d.Guards && !d.Lock && d.Session.Refused(err):
		return input{kind: guardless}
	}
	return input{kind: refused, err: err}
}

// inDirs calls f, and again each time after the directory that it has found missing has
// been made. It returns the directory that could not be made and why.
func (d *driver) inDirs(f func() (missing string)) (string, error) {
	missing := f()
	for dir := missing; dir != ""; dir = missing {
		known := true
		err := d.Session.InDir(background, dir, func() error {
			if !known {
				missing = f()
			}
			if known = false; missing == dir {
				return coord.ErrNoNode
			}
			return nil
		})
		if err != nil {
			return dir, err
		}
	}
	return "", nil
}

// look asks what is at the path, or for our guard.
func (d *driver) look(o op, token int64) input {
	path := d.Path
	if o.guard {
		path = d.guard
	}
	if o.sync {
		if err := d.Session.Sync(background, path); err != nil {
			return input{kind: refused, err: err}
		}
	}
	n, err := d.Session.Exists(background, path)
	if err != nil {
		return input{kind: refused, err: err}
	}
	in := input{kind: seen, at: znode{n.Czxid, n.Version}}
	owner := coord.SessionID(n.EphemeralOwner)
	switch self := owner == d.Session.ID(); {
	case !n.Exists:
	case o.guard:
		in.at.version = ourVersion // of the znode at the path, as it was made
		in.whose = mine
	case token != 0 && n.Czxid == token, token == 0 && self && o.sync:
		in.whose = mine
	case token == 0 && !d.Lock && (self || d.Client.Kit().IsPastSession(owner)):
		in.whose = former
	default:
		in.whose, in.err = another, d.Taken(owner)
	}
	return in
}

// clear removes the guards of those who owned the path before the transaction token.
// Once that is done nothing of theirs can remove any more what is at the path. The
// session's own changes are known to every server that it has a connection to, so there
// is no need for a Sync.
func (d *driver) clear(token int64) input {
	fail := func(err error) input { return input{kind: refused, err: err} }
	if d.Guards == "" {
		return input{kind: cleared}
	}
	names, _, err := d.Session.Children(background, d.Guards)
	if err != nil {
		return fail(err)
	}
	for _, name := range names {
		if !strings.HasPrefix(name, Prefix) {
			continue
		}
		guard := zkpath.Join(d.Guards, name)
		n, err := d.Session.Exists(background, guard)
		if err != nil {
			return fail(err)
		}
		if !n.Exists || n.EphemeralOwner == 0 || n.Czxid >= token {
			continue // no guard; or ours; or of a later claim, and then we do not own the path
		}
		if err := d.unlink(guard); err != nil {
			return fail(err)
		}
	}
	return input{kind: cleared}
}

// renew makes a transaction, unless one was carried out lately: only that
// shows that the session lives.
func (d *driver) renew() input {
	if err := d.Session.Renew(background, d.Path); err != nil {
		return input{kind: refused, err: err}
	}
	return input{kind: renewed}
}

// write writes data to the znode at the path.
func (d *driver) write(o op, data []byte) input {
	stat, err := d.Session.Set(background, d.Path, data, o.at.version)
	switch {
	case err == nil:
		return input{kind: written, at: znode{stat.Czxid, stat.Version}}
	case errors.Is(err, coord.ErrBadVersion):
		return input{kind: outdated}
	case errors.Is(err, coord.ErrNoNode):
		return input{kind: missing}
	}
	return input{kind: refused, err: err}
}

// remove removes the znode at the path, and our guard with it.
func (d *driver) remove(o op, guarded bool) input {
	guard := coord.OpDelete(d.guard, -1)
	if o.keep {
		guard = coord.OpCheck(d.guard, -1)
	}
	var blame int
	var err error
	if guarded {
		err = d.Session.Retry(background, func() (err error) {
			_, blame, err = d.transact([]coord.Op{guard, coord.OpDelete(d.Path, o.at.version)})
			return err
		})
	} else {
		err = d.Session.Delete(background, d.Path, o.at.version)
	}
	switch {
	case err == nil:
		return input{kind: removed}
	case errors.Is(err, coord.ErrNoNode):
		return input{kind: missing}
	case errors.Is(err, coord.ErrBadVersion):
		return input{kind: outdated}
	case guarded && blame == 0 && errors.Is(err, coord.ErrNoAuth):
		return input{kind: kept, err: err}
	}
	return input{kind: refused, err: err}
}

// rename makes a guard of the new name.
func (d *driver) rename() input {
	err := d.Session.InDir(background, d.Guards, func() error {
		_, err := d.Session.Create(background, d.guard, d.Label, coord.Ephemeral)
		if errors.Is(err, coord.ErrNodeExists) {
			return nil // by a try whose answer was lost
		}
		return err
	})
	if err != nil {
		return input{kind: refused, err: err}
	}
	return input{kind: renamed}
}

// drop removes our guard.
func (d *driver) drop() input {
	if err := d.unlink(d.guard); err != nil {
		return input{kind: refused, err: err}
	}
	return input{kind: removed}
}

// unlink removes a guard. That it is not there is as good: its name is used once.
func (d *driver) unlink(guard string) error {
	err := d.Session.Delete(background, guard, -1)
	if errors.Is(err, coord.ErrNoNode) {
		return nil
	}
	return err
}
