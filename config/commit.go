package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
)

// A write is what a transaction does to one znode.
type write struct {
	key     string // for errors; empty if the caller gave none
	path    string // full
	data    []byte // to be stored
	remove  bool   // the znode is to be deleted instead
	found   node   // what there was when it was looked at
	version int32  // that the znode must have if it exists; -1 is any
}

// requests returns w as ops of a transaction.
func (w write) requests(acl []zk.ACL) []any {
	switch {
	case w.absent():
		// A create is refused if there is something. Nobody sees what is deleted
		// in the same transaction.
		return []any{
			&zk.CreateRequest{Path: w.path, Acl: zk.WorldACL(zk.PermRead)},
			&zk.DeleteRequest{Path: w.path, Version: -1},
		}
	case w.remove:
		return []any{&zk.DeleteRequest{Path: w.path, Version: -1}}
	case w.creates():
		return []any{&zk.CreateRequest{Path: w.path, Data: w.data, Acl: acl}}
	}
	return []any{&zk.SetDataRequest{Path: w.path, Data: w.data, Version: w.version}}
}

func (w write) creates() bool { return !w.remove && !w.found.Exists }

// absent reports whether w changes nothing, and is the condition that nothing is there.
func (w write) absent() bool { return w.remove && !w.found.Exists }

// changes returns those of writes that change something.
func changes(writes []write) []write {
	return slices.DeleteFunc(slices.Clone(writes), write.absent)
}

// commit carries out all writes in one transaction, which it sends in session s, or
// none of them. It returns nil if they have been carried out, once; [ErrUnknown],
// with the reason, if that cannot be learned; and otherwise why they have not been
// and will not be: one after which it makes sense to look [again], ctx's cause, or a
// refusal. The stat has the id and the time of the transaction, if these are known.
func commit(ctx context.Context, c *coord.Client, s *coord.Session, writes []write) (*zk.Stat, error) {
	p := witnessesOf(c)
	if err := p.checkSize(writes); err != nil {
		return nil, err
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return nil, coord.GivenUp(ctx)
	}
	for {
		var w *witness
		if len(changes(writes)) > 0 { // else it does no harm to repeat it
			var err error
			if w, err = p.acquire(ctx, s); err != nil {
				return nil, err
			}
		}
		ops, of := p.transaction(w, writes)
		results, err := multi(ctx, s, ops)
		switch {
		case err == nil:
			w.wrote()
			p.put(w)
			return statOf(results), nil
		case errors.Is(err, ErrUnknown):
			stat, err := resolve(ctx, c, s, w, writes)
			w.lost()
			p.put(w)
			return stat, err
		case !coord.Refused(err): // and not sent
			p.put(w)
			return nil, err
		}
		at := slices.IndexFunc(results, func(r zk.MultiResponse) bool { return r.Error != nil })
		switch {
		case at == 0 && w != nil:
			p.refused(w, err)
		case at < 0: // as a whole
			p.put(w)
			return nil, err
		default:
			p.put(w)
			if err = overcome(ctx, c, s, of[at], err); err != nil {
				return nil, err
			}
		}
	}
}

// transaction returns the ops for writes, after that for the witness w if it is not
// nil, and of each op which write it is for.
func (p *witnessPool) transaction(w *witness, writes []write) (ops []any, of []write) {
	if w != nil {
		ops = append(ops, &zk.SetDataRequest{Path: w.path, Data: []byte{}, Version: w.version})
		of = append(of, write{})
	}
	for _, w := range writes {
		for _, op := range w.requests(p.c.ACL()) {
			ops = append(ops, op)
			of = append(of, w)
		}
	}
	return ops, of
}

// checkSize returns why writes are too much for one transaction.
func (p *witnessPool) checkSize(writes []write) error {
	ops, _ := p.transaction(p.newWitness(nil), writes)
	return coord.CheckSize(ops...)
}

// statOf returns the stat of something that a transaction has set: all that it
// stores has the same id and time. It is nil if it has only created or deleted.
func statOf(results []zk.MultiResponse) *zk.Stat {
	for _, r := range results {
		if r.Stat != nil {
			return r.Stat
		}
	}
	return nil
}

// overcome makes the directory of w if it is missing, which is why a transaction
// was refused with err. It returns nil if the transaction can be repeated.
func overcome(ctx context.Context, c *coord.Client, s *coord.Session, w write, err error) error {
	switch {
	case errors.Is(err, zk.ErrNoNode) && w.creates():
		err = makeDir(ctx, c, s, path.Dir(w.path))
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNodeExists):
		return errStale
	}
	if w.key != "" && coord.Refused(err) {
		err = fmt.Errorf("key %q: %w", w.key, err)
	}
	return err
}

// makeDir creates the full path, and what is missing above it. They are persistent
// and no containers, since they may be given a value of their own one day, which
// the server would remove with a container.
func makeDir(ctx context.Context, c *coord.Client, s *coord.Session, dir string) error {
	err := create(ctx, c, s, dir, nil, 0)
	if errors.Is(err, zk.ErrNoNode) && dir != "/" {
		if err = makeDir(ctx, c, s, path.Dir(dir)); err == nil {
			err = create(ctx, c, s, dir, nil, 0)
		}
	}
	switch {
	case errors.Is(err, zk.ErrNodeExists):
		return nil
	case errors.Is(err, zk.ErrNoNode): // what is above was removed at once
		return errStale
	}
	return err
}

// An outcome is what is known of a transaction that was sent and not answered.
type outcome uint8

const (
	undecided outcome = iota // nothing is known
	carriedOut
	prevented // it was not carried out, and cannot be any more
)

// resolve finds out what became of the transaction that was sent in session s with
// the witness w, which may be nil, and not answered. If it has not been carried out,
// resolve prevents that it will be. It returns what commit does.
func resolve(ctx context.Context, c *coord.Client, s *coord.Session, w *witness, writes []write) (*zk.Stat, error) {
	if writes = changes(writes); len(writes) == 0 {
		return nil, errStale
	}
	unknown := func(why error) (*zk.Stat, error) { return nil, fmt.Errorf("%w: %w", ErrUnknown, why) }
	for {
		now, err := c.Await(ctx)
		if err != nil {
			return unknown(err)
		}
		var o outcome
		var stat *zk.Stat
		if w != nil {
			o, stat, err = w.fence(ctx, now)
		}
		if err == nil && o == undecided {
			o, err = compare(ctx, now, writes, w != nil || now == s)
		}
		switch {
		case again(now, err): // that session is over, too
		case err != nil:
			return unknown(err)
		case o == carriedOut:
			return stat, nil
		case o == prevented:
			return nil, errStale
		case s.Err() != nil:
			return unknown(s.Err())
		default:
			return unknown(errors.New("no evidence is left"))
		}
	}
}

// compare decides by what there is now whether a transaction of writes has been
// carried out, as far as that shows: it can find out only that it has not been. The
// transaction is past if it cannot be carried out any more: its witness is gone; or
// the session is still the same, in which nothing that was sent before comes after
// what was answered since.
func compare(ctx context.Context, s *coord.Session, writes []write, past bool) (outcome, error) {
	for _, w := range writes {
		now, err := synced(get)(ctx, s, w.path)
		if err != nil {
			return undecided, err
		}
		var same, others bool // it is as it was found; or as another has stored it since
		switch {
		case !w.found.Exists || !now.Exists:
			// One thing that was made and removed again, or removed and made by
			// another, has left nothing behind: as good as not made. Of several the
			// others may be there.
			alone := !w.found.Exists && len(writes) == 1
			same = alone && !now.Exists
			others = alone && now.Exists && now.Stat.Version == 0 && !bytes.Equal(now.Data, w.data)
		default:
			same = now.Stat.Mzxid == w.found.Stat.Mzxid
			others = !w.remove && w.version != -1 && now.Stat.Czxid == w.found.Stat.Czxid &&
				now.Stat.Version == w.version+1 && !bytes.Equal(now.Data, w.data)
		}
		if others || same && past {
			return prevented, nil
		}
	}
	return undecided, nil
}
