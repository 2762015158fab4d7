package queue

import (
	"errors"
	"path"
	"slices"

	"github.com/zkcoord/zkcoord/coord"
)

// Our node is made in one transaction. In it the directory is written to, which makes the
// answer tell how many children there are and the id of the transaction: so a lock that is
// free costs one request. It also means that the directory's data belong to the queue.
// Where many wait, a baton is made as well.
//
// What it does without, if the ensemble refuses something, is at the end: see [remedyFor].
const (
	nodeOp  = iota // makes our node
	writeOp        // writes to the directory
	batonOp        // makes our baton
)

// A remedy is what is done about a create that was refused, before it is tried again.
type remedy uint8

const (
	none           remedy = iota // it is refused for good
	makeDir                      // make the directory
	makeBatonDir                 // make the directory of the batons
	withoutBaton                 // the name says that there is one, but nobody relies on it
	withoutWriting               // we may create here, but not write; then the listing will tell
)

// remedyFor returns the remedy when op has been refused, -1 for none of them, because of
// err, after so many remedies before.
func remedyFor(op int, err error, tries int) remedy {
	missing := errors.Is(err, coord.ErrNoNode) && tries < maxRemedies
	switch {
	case op == nodeOp && missing:
		return makeDir
	case op == writeOp && errors.Is(err, coord.ErrNoAuth):
		return withoutWriting
	case op == batonOp && missing:
		return makeBatonDir
	case op == batonOp:
		return withoutBaton
	}
	return none
}

// maxRemedies bounds how often one create makes directories, for a server that misbehaves.
// An empty directory may be removed before it is used, but hardly twice in a row.
const maxRemedies = 8

// create makes our node, and our baton if we have one. With again, there may be a baton
// from before, which is removed, and no other made.
func (d *driver) create(again bool) {
	ops := []coord.Op{
		coord.OpCreate(d.path(prefix(d.m.id, d.m.mode)), []byte(d.Label), coord.Ephemeral|coord.Sequential),
		coord.OpSet(d.Dir, []byte{}, -1),
	}
	if again && bornWithBaton(d.m.id) {
		var in input
		d.work(func() { in = d.removeBaton() }, func() (input, bool) {
			if in.kind == refused {
				return in, true
			}
			d.tryCreate(ops, 0)
			return input{}, false
		})
		return
	}
	if bornWithBaton(d.m.id) {
		ops = append(ops, coord.OpCreate(d.batonPath(d.m.id), nil, coord.Ephemeral))
	}
	d.tryCreate(ops, 0)
	if !d.Try && !again && crowdsOf(d.c).get(d.Dir)&waited != 0 {
		d.early = d.near.read(false)
	}
}

// tryCreate makes the transaction of ops, which is the first or comes after some remedies.
func (d *driver) tryCreate(ops []coord.Op, remedies int) {
	await(d, d.near.ask.Txn(ops...), func(res []coord.OpResult, err error) (input, bool) {
		switch {
		case err == nil && len(ops) == 1:
			return input{kind: created, node: path.Base(res[nodeOp].Path)}, true
		case err == nil:
			dir := res[writeOp].Stat
			return input{kind: created, node: path.Base(res[nodeOp].Path), token: dir.Mzxid, onlyChild: dir.NumChildren == 1}, true
		}
		d.early = nil // it was begun behind a create that made nothing
		if !d.s.Refused(err) {
			return input{kind: unknown}, true
		}
		op := slices.IndexFunc(res, func(r coord.OpResult) bool { return r.Err != nil })
		return d.remedy(remedyFor(op, err, remedies), ops, remedies+1, err)
	})
}

// remedy applies r, and tries to create again.
func (d *driver) remedy(r remedy, ops []coord.Op, remedies int, err error) (input, bool) {
	switch r {
	case none:
		return input{kind: refused, err: err}, true
	case makeDir:
		d.work(func() { err = d.makeDir(d.Dir, err) }, func() (input, bool) {
			switch {
			case d.s.Refused(err):
				return input{kind: refused, err: err}, true
			case err != nil:
				return input{kind: unknown}, true // the session is over
			}
			d.tryCreate(ops, remedies)
			return input{}, false
		})
		return input{}, false
	case makeBatonDir:
		d.work(func() { err = d.makeDir(batonDir(d.Dir), err) }, func() (input, bool) {
			if err != nil {
				return d.remedy(withoutBaton, ops, remedies, err)
			}
			d.tryCreate(ops, remedies)
			return input{}, false
		})
		return input{}, false
	case withoutBaton:
		crowdsOf(d.c).set(d.Dir, refusing)
		ops = ops[:batonOp]
	case withoutWriting:
		ops = ops[:writeOp]
	}
	d.tryCreate(ops, remedies)
	return input{}, false
}

// makeDir makes the directory dir, because missing says that it is missing.
func (d *driver) makeDir(dir string, missing error) error {
	return d.s.InDir(background, dir, func() error {
		err := missing
		missing = nil
		return err
	})
}
