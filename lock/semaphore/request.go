package semaphore

import (
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/queue"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// path returns the path of our lease.
func (d *driver) path() string { return zkpath.Join(d.leases(), d.lease) }

// read reads the number of permits and the leases. A try reads again as long as all permits
// are held, but some by its own client, which is about to give them back.
func (d *driver) read() input {
	for {
		var ours []*queue.Stake
		if d.m.try { // before the listing, which does not show what was removed earlier
			ours = queue.Stakes(d.c, d.leases())
		}
		names, err := d.readOnce()
		if err != nil {
			return input{kind: refused, err: err}
		}
		if len(names) < d.permits || !d.yields(names, ours) {
			return input{kind: seen, view: d.last}
		}
	}
}

// yields waits until one of ours has given its lease back, if with those that are about to
// do so a permit is free.
func (d *driver) yields(names []string, ours []*queue.Stake) bool {
	var leaving *queue.Stake
	n := 0
	for _, s := range ours {
		if s.Leaving() && slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, s.ID()) }) {
			leaving, n = s, n+1
		}
	}
	return len(names)-n < d.permits && leaving.Yields(d.k, d.s)
}

// readOnce reads the directory, sets last and newest, and returns the names of the leases.
func (d *driver) readOnce() (names []string, err error) {
	var dir, leases coord.Node
	var g errgroup.Group // both in one round trip
	g.Go(func() (err error) {
		dir, err = d.s.Get(background, d.dir)
		return err
	})
	g.Go(func() (err error) {
		names, leases, err = d.s.Children(background, d.leases())
		return err
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	parts := int32(1) // the queue, in which we are
	if leases.Exists {
		parts++
	}
	if dir.NumChildren > parts {
		all, _, err := d.s.Children(background, d.dir)
		if err == nil {
			err = checkForeign(all)
		}
		if err != nil {
			return nil, err
		}
	}
	n, err := parseNumber(dir.Data)
	if err == nil && (n == 0 || n == d.permits) && len(names) >= d.permits && !d.m.try {
		// It will wait until the leases change. So the number must not be older than they
		// are: of a Resize between the two reads nothing would be heard any more.
		if dir, err = d.s.Get(background, d.dir); err == nil {
			n, err = parseNumber(dir.Data)
		}
	}
	if err != nil {
		return nil, err
	}
	d.last = view{permits: n, version: dir.Version, leases: len(names)}
	d.newest = leases.Pzxid
	return names, nil
}

// The transaction by which a lease is made. The last op makes the answer tell how many
// leases there are, and the id of the transaction.
const (
	guardOp  = iota // checks that the gate is ours
	numberOp        // checks the number of permits, or writes it
	leaseOp         // makes our lease
	writeOp         // writes to the directory of the leases
)

// create makes our lease.
func (d *driver) create(a action) (in input) {
	number := coord.OpCheck(d.dir, a.version)
	if a.write {
		number = coord.OpSet(d.dir, []byte(strconv.Itoa(d.permits)), a.version)
	}
	ops := []coord.Op{
		d.place.Guard(),
		number,
		coord.OpCreate(zkpath.Join(d.leases(), d.id+leaseInfix), []byte(d.opts.Label), coord.Ephemeral|coord.Sequential),
		coord.OpSet(d.leases(), []byte{}, -1),
	}
	err := d.s.InDir(background, d.leases(), func() error {
		results, err := d.s.Txn(background, ops...)
		blame := slices.IndexFunc(results, func(r coord.OpResult) bool { return r.Err != nil })
		if blame == writeOp && errors.Is(err, coord.ErrNoAuth) { // we may create here, but not write
			ops = ops[:writeOp]
			results, err = d.s.Txn(background, ops...)
			blame = slices.IndexFunc(results, func(r coord.OpResult) bool { return r.Err != nil })
		}
		switch {
		case err == nil:
			in = input{kind: created}
			d.lease = path.Base(results[leaseOp].Path)
			if len(ops) > writeOp {
				stat := results[writeOp].Stat
				in.token, in.view.leases = stat.Mzxid, int(stat.NumChildren)
			}
		case !d.s.Refused(err):
			in = input{kind: unknown}
		case blame == guardOp:
			in = input{kind: shut}
		case blame == numberOp && (errors.Is(err, coord.ErrBadVersion) || errors.Is(err, coord.ErrNoNode)):
			in = input{kind: outdated}
		case blame == leaseOp && errors.Is(err, coord.ErrNoNode):
			return coord.ErrNoNode
		default:
			in = input{kind: refused, err: err}
		}
		return nil
	})
	switch {
	case err == nil:
		return in
	case d.s.Refused(err):
		return input{kind: refused, err: err}
	}
	return input{kind: unknown} // the session is over
}

// look asks whether our lease is there. Without the sync a server that lags would hide it.
func (d *driver) look() input {
	fail := func(err error) input { return input{kind: refused, err: err} }
	if err := d.s.Sync(background, d.dir); err != nil {
		return fail(err)
	}
	names, _, err := d.s.Children(background, d.leases())
	if err != nil {
		return fail(err)
	}
	i := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, d.id+leaseInfix) })
	if i < 0 {
		return input{kind: absent}
	}
	d.lease = names[i]
	n, err := d.s.Exists(background, d.path())
	switch {
	case err != nil:
		return fail(err)
	case !n.Exists, coord.SessionID(n.EphemeralOwner) != d.s.ID():
		return input{kind: gone} // and perhaps another's is in its place
	}
	return input{kind: found, token: n.Czxid, view: view{leases: len(names)}}
}

// remove deletes our lease. That it is not there any more is as good: its name was never
// given to another.
func (d *driver) remove() input {
	err := d.s.Delete(background, d.path(), -1)
	if err == nil || errors.Is(err, coord.ErrNoNode) {
		return input{kind: removed}
	}
	return input{kind: refused, err: err}
}
