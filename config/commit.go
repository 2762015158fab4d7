package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
)

// A write is what a transaction does to one znode.
type write struct {
	key     string   // for errors; empty if the caller gave none
	path    string   // full
	data    []byte   // what it shall have
	remove  bool     // it shall be gone
	was     *zk.Stat // when it was looked at; nil: it was not there
	version int32    // that it must have if it is there; -1 is any
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

func (w write) creates() bool { return !w.remove && w.was == nil }

// absent reports whether w changes nothing, and is the condition that nothing is there.
func (w write) absent() bool { return w.remove && w.was == nil }

// changes returns those of writes that change something.
func changes(writes []write) []write {
	return slices.DeleteFunc(slices.Clone(writes), write.absent)
}

// commit carries out all writes in one transaction, which it sends in session s,
// or none of them. It returns nil if they have been carried out, once;
// [ErrUnknown], with the reason, if that can not be learned; and otherwise why
// they have not been and will not be: errAgain, ctx's cause, or a refusal.
func commit(ctx context.Context, c *coord.Client, s *coord.Session, writes []write) error {
	p := marksOf(c)
	if err := p.checkSize(writes); err != nil {
		return err
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return coord.GivenUp(ctx)
	}
	for {
		var m *mark
		if len(changes(writes)) > 0 { // else there is nothing to be known of it
			var err error
			if m, err = p.take(ctx, s); err != nil {
				return err
			}
		}
		if err := p.carryOut(ctx, s, m, writes); err != errRepeat {
			return err
		}
	}
}

// transaction returns the ops for writes, with the mark m if that is not nil, and of
// each op which write it is for.
func (p *marks) transaction(m *mark, writes []write) (ops []any, of []write) {
	if m != nil {
		ops = append(ops, &zk.SetDataRequest{Path: m.path, Data: []byte{}, Version: m.version})
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

// checkSize reports why writes are too much for one transaction.
func (p *marks) checkSize(writes []write) error {
	ops, _ := p.transaction(p.newMark(nil), writes)
	return coord.CheckSize(ops...)
}

// errRepeat says that nothing was carried out, for a reason that is no more.
var errRepeat = errors.New("config: repeat")

// carryOut does the work of commit with the mark m, nil if there is none, and
// gives it back.
func (p *marks) carryOut(ctx context.Context, s *coord.Session, m *mark, writes []write) error {
	ops, of := p.transaction(m, writes)
	sent, at, err := send(ctx, s, ops)
	switch {
	case err == nil:
		if m != nil {
			m.version++
			p.give(m)
		}
		return nil
	case !coord.Refused(err) && sent:
		err := p.settle(ctx, s, m, writes)
		if m != nil {
			m.known = false
			p.give(m)
		}
		return err
	case !coord.Refused(err):
		p.give(m)
		if ctx.Err() != nil {
			return coord.GivenUp(ctx)
		}
		return errAgain
	case m != nil && at == 0:
		// Somebody has meddled with the mark: take another.
		if !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrBadVersion) {
			p.renounce(s) // it can be made and not be written to
		}
		return errRepeat
	}
	p.give(m)
	if at < 0 { // refused as a whole
		return err
	}
	w := of[at]
	switch {
	case errors.Is(err, zk.ErrNoNode) && w.creates():
		if err = makeDir(ctx, p.c, s, path.Dir(w.path)); err == nil {
			return errRepeat
		}
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNodeExists):
		return errAgain
	}
	if w.key != "" && coord.Refused(err) {
		err = fmt.Errorf("key %q: %w", w.key, err)
	}
	return err
}

// send makes a transaction of ops, once. If err is a refusal of one of them, at is
// its index, and else negative. If sent is false and there was no answer, the
// transaction has not been sent and will not be.
func send(ctx context.Context, s *coord.Session, ops []any) (sent bool, at int, err error) {
	type answer struct {
		res []zk.MultiResponse
		err error
	}
	answers := make(chan answer, 1) // so that the request's goroutine ends though nobody waits
	var taken atomic.Bool           // by whoever is first: the request, which is then made, or we, who leave
	_, err = coord.Call(ctx, s, func(conn *zk.Conn) (struct{}, error) {
		if taken.Swap(true) {
			return struct{}{}, errAgain
		}
		res, err := coord.Transact(conn, ops...)
		answers <- answer{res, err}
		return struct{}{}, err
	})
	sent, at = taken.Swap(true), -1
	select {
	case a := <-answers: // it counts, though ctx or s may have ended meanwhile
		err = a.err
		for i, r := range a.res {
			if at < 0 && r.Error != nil {
				at = i
			}
		}
	default:
	}
	return sent, at, err
}

// settle finds out what became of the transaction that was sent in session s with
// the mark m, if there was one, and not answered; and if it has not been carried
// out, sees to it that it will not be. It returns what commit does.
func (p *marks) settle(ctx context.Context, s *coord.Session, m *mark, writes []write) error {
	if writes = changes(writes); len(writes) == 0 {
		return errAgain // which does no harm
	}
	for {
		now, err := p.c.Await(ctx)
		v := open
		if err == nil && m != nil {
			v, err = m.fence(ctx, now)
		}
		if err == nil && v == open {
			v, err = judge(ctx, now, writes, m != nil || now == s)
		}
		switch {
		case err == errAgain: // that session is over, too
			continue
		case err != nil:
			return fmt.Errorf("%w: %w", ErrUnknown, err)
		case v == carried:
			return nil
		case v == dropped:
			return errAgain
		case s.Err() != nil:
			return fmt.Errorf("%w: %w", ErrUnknown, s.Err())
		}
		return fmt.Errorf("%w: no evidence is left", ErrUnknown)
	}
}

// judge tells from what is there now whether a transaction of writes has been
// carried out. If over is set it can not happen any more: its mark is gone; or the
// session is still the same, in which nothing that was sent before comes after
// what was answered since. Judge knows only of transactions that were not carried
// out.
func judge(ctx context.Context, s *coord.Session, writes []write, over bool) (verdict, error) {
	for _, w := range writes {
		now, err := fetch(ctx, s, w.path, true)
		if err != nil {
			return open, err
		}
		var same, others bool
		switch {
		case w.was == nil || now.stat == nil:
			// One thing that was made and removed again, or removed and made by
			// another, has left nothing behind: as good as not made. Of several the
			// others may be there.
			alone := w.was == nil && len(writes) == 1
			same = alone && now.stat == nil
			others = alone && now.stat != nil && now.stat.Version == 0 && !bytes.Equal(now.data, w.data)
		default:
			same = now.stat.Mzxid == w.was.Mzxid
			others = !w.remove && w.version != -1 && now.stat.Czxid == w.was.Czxid &&
				now.stat.Version == w.version+1 && !bytes.Equal(now.data, w.data)
		}
		// What the transaction needs has been another's, or still is there.
		if others || same && over {
			return dropped, nil
		}
	}
	return open, nil
}

// makeDir creates the full path, and what is missing above it. They are persistent
// and no containers, since they may be given a value of their own one day, which
// the server would remove with a container.
func makeDir(ctx context.Context, c *coord.Client, s *coord.Session, dir string) error {
	create := func() error {
		_, err := coord.Retry(ctx, s, func(conn *zk.Conn) (string, error) { return conn.Create(dir, nil, 0, c.ACL()) })
		if errors.Is(err, zk.ErrNodeExists) {
			return nil
		}
		return reason(ctx, s, err)
	}
	err := create()
	if errors.Is(err, zk.ErrNoNode) && dir != "/" {
		if err = makeDir(ctx, c, s, path.Dir(dir)); err == nil {
			err = create()
		}
	}
	if errors.Is(err, zk.ErrNoNode) { // removed at once by somebody else
		return errAgain
	}
	return err
}
