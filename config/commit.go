package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// A write is what a transaction does to one znode.
type write struct {
	key     string // for errors; empty if the caller gave none
	path    string
	data    []byte     // to be stored
	remove  bool       // the znode is to be deleted instead
	found   coord.Node // what there was when it was looked at
	version int32      // that the znode must have if it exists; -1 is any

	condition bool // it stands for a condition of the caller's, and has nothing else
}

// ops returns what w takes in a transaction.
func (w write) ops() []coord.Op {
	switch {
	case w.absent():
		// A create is refused if there is something. Nobody sees what is deleted
		// in the same transaction.
		return []coord.Op{
			coord.OpCreate(w.path, nil, coord.Persistent, coord.ACL{Perms: coord.PermRead, Scheme: "world", ID: "anyone"}),
			coord.OpDelete(w.path, -1),
		}
	case w.remove:
		return []coord.Op{coord.OpDelete(w.path, -1)}
	case w.creates():
		return []coord.Op{coord.OpCreate(w.path, w.data, coord.Persistent)}
	}
	return []coord.Op{coord.OpSet(w.path, w.data, w.version)}
}

func (w write) creates() bool { return !w.remove && !w.found.Exists }

// absent reports whether w changes nothing, and is the condition that nothing is there.
func (w write) absent() bool { return w.remove && !w.found.Exists }

// changes returns those of writes that change something.
func changes(writes []write) []write {
	return slices.DeleteFunc(slices.Clone(writes), write.absent)
}

// A receipt is what is known of a transaction that was carried out.
type receipt struct {
	stat *coord.Stat           // of something that it has set: with its id and time; nil if nothing tells those
	set  map[string]coord.Stat // of the znodes that it has set, by path; nil if the answer was lost
}

// commit carries out all writes in one transaction, which it sends in session s, or
// none of them; and none if one of the conditions in when fails. It returns no error if they have been carried out, once; [coord.ErrUnknown],
// with the reason, if that cannot be learned; and otherwise why they have not been
// and will not be: one after which it makes sense to look [again], ctx's cause, or a
// refusal, such as a condition's.
func commit(ctx context.Context, c *coord.Client, s *coord.Session, when []coord.Op, writes []write) (receipt, error) {
	p := witnessesOf(c)
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return receipt{}, ended(ctx, c)
	}
	for {
		var w *witness
		if len(changes(writes)) > 0 { // else it does no harm to repeat it
			var err error
			if w, err = p.acquire(ctx, s); err != nil {
				return receipt{}, err
			}
		}
		ops, of := transaction(w, when, writes)
		results, err := s.Txn(ctx, ops...)
		switch {
		case err == nil:
			w.wrote()
			p.put(w)
			return receiptOf(results, of), nil
		case errors.Is(err, coord.ErrUnknown):
			stat, err := resolve(ctx, c, s, w, writes)
			w.lost()
			p.put(w)
			return receipt{stat: stat}, err
		case !s.Refused(err): // and not sent
			p.put(w)
			return receipt{}, err
		}
		at := slices.IndexFunc(results, func(r coord.OpResult) bool { return r.Err != nil })
		switch {
		case at == 0 && w != nil:
			p.refused(w, err)
		case at < 0: // as a whole
			p.put(w)
			return receipt{}, err
		case of[at].condition:
			p.put(w)
			return receipt{}, fmt.Errorf("%v: %w", ops[at], err)
		default:
			p.put(w)
			if err = overcome(ctx, s, of[at], err); err != nil {
				return receipt{}, err
			}
		}
	}
}

// transaction returns the ops for writes, after that for the witness w if it is not
// nil, and the conditions; and of each op which write it is for.
func transaction(w *witness, when []coord.Op, writes []write) (ops []coord.Op, of []write) {
	if w != nil {
		ops = append(ops, coord.OpSet(w.path, []byte{}, w.version))
		of = append(of, write{})
	}
	for _, op := range when {
		ops = append(ops, op)
		of = append(of, write{condition: true})
	}
	for _, w := range writes {
		for _, op := range w.ops() {
			ops = append(ops, op)
			of = append(of, w)
		}
	}
	return ops, of
}

// receiptOf returns what results tell of a transaction, of which the ops are for the
// writes of. All that it stores has the same id and time, but the answer has them only of
// what it has set, and not of what it has created.
func receiptOf(results []coord.OpResult, of []write) receipt {
	r := receipt{set: make(map[string]coord.Stat)}
	for i := range results {
		if stat := &results[i].Stat; stat.Mzxid != 0 {
			r.stat = stat
			r.set[of[i].path] = *stat
		}
	}
	return r
}

// overcome makes the directory of w if it is missing, which is why a transaction
// was refused with err. It is no container, since it may be given a value of its own
// one day, which the server would remove with a container. Overcome returns nil if
// the transaction can be repeated.
func overcome(ctx context.Context, s *coord.Session, w write, err error) error {
	switch {
	case errors.Is(err, coord.ErrNoNode) && w.creates():
		err = s.CreateAll(ctx, zkpath.Parent(w.path))
		if errors.Is(err, coord.ErrNoNode) { // it is removed as soon as it is made
			err = errStale
		}
	case errors.Is(err, coord.ErrNoNode), errors.Is(err, coord.ErrBadVersion), errors.Is(err, coord.ErrNodeExists):
		return errStale
	}
	if w.key != "" && s.Refused(err) {
		err = fmt.Errorf("key %q: %w", w.key, err)
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
func resolve(ctx context.Context, c *coord.Client, s *coord.Session, w *witness, writes []write) (*coord.Stat, error) {
	if writes = changes(writes); len(writes) == 0 {
		return nil, errStale
	}
	unknown := func(why error) (*coord.Stat, error) { return nil, fmt.Errorf("%w: %w", coord.ErrUnknown, why) }
	for {
		now, err := c.Kit().Await(ctx)
		if err != nil {
			return unknown(err)
		}
		var o outcome
		var stat *coord.Stat
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
		now, err := synced((*coord.Session).Get)(s, ctx, w.path)
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
