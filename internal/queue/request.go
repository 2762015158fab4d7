package queue

import (
	"context"
	"errors"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/ask"
	"github.com/zkcoord/zkcoord/internal/backoff"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// background is the context of the driver's requests. They end with the session.
var background = context.Background()

// A request is what the machine has asked for and not been told of yet.
type request struct {
	over <-chan struct{} // closed when there is an answer
	// answer returns what to tell the machine. It reports false if there is another
	// request to be made first, which is then the driver's.
	answer func() (in input, ok bool)
}

// await makes p the driver's request. Its result goes to then.
func await[T any](d *driver, p *ask.Pending[T], then func(T, error) (input, bool)) {
	d.request = request{p.Done(), func() (input, bool) { return then(p.Result()) }}
}

// work makes f the driver's request, which may block, and so costs a goroutine. It is for
// what is rare. When f has returned, then is called by the driver.
func (d *driver) work(f func(), then func() (input, bool)) {
	over := make(chan struct{})
	d.c.Kit().Go(func(context.Context) {
		defer close(over)
		f()
	})
	d.request = request{over, then}
}

// blocking makes f the driver's request, with what it returns for the machine.
func (d *driver) blocking(f func() input) {
	var in input
	d.work(func() { in = f() }, func() (input, bool) { return in, true })
}

// answered takes the answer to the request, and reports whether the machine is to be told,
// with in.
func (d *driver) answered(in *input) (ok bool) {
	answer := d.request.answer
	d.request = request{}
	*in, ok = answer()
	return ok
}

// path returns the path of a node of the queue.
func (d *driver) path(node string) string { return zkpath.Join(d.Dir, node) }

// list reads the queue. A listing that was begun behind our create serves, unless it is to
// be synced. A try lists again as long as it is blocked only by what its own client is
// about to remove.
func (d *driver) list(synced bool) {
	var ours []*Stake
	if d.Try { // before the listing, which does not show a node that was removed earlier
		ours = Stakes(d.c, d.Dir)
	}
	l := d.early
	if d.early = nil; l == nil || synced {
		l = d.near.read(synced)
	}
	d.awaitReading(l, ours, synced, &backoff.Backoff{Min: 5 * time.Millisecond, Max: time.Second})
}

// awaitReading makes l the driver's request. If there is no answer to that, because the
// connection was lost, it is made again, with a pause.
func (d *driver) awaitReading(l *reading, ours []*Stake, synced bool, pause *backoff.Backoff) {
	d.request = request{l.done(), func() (input, bool) {
		names, inOrder, err, ok := l.result()
		switch {
		case !ok:
			d.awaitReading(l, ours, synced, pause)
			return input{}, false
		case errors.Is(err, coord.ErrNoNode):
			names = nil
		case d.s.Refused(err):
			return input{kind: refused, err: err}, true
		case err != nil:
			d.work(func() { pause.Wait(nil, d.s.Done()) }, func() (input, bool) {
				d.awaitReading(d.near.read(synced), ours, synced, pause)
				return input{}, false
			})
			return input{}, false
		}
		in := input{kind: listed, names: names, order: inOrder}
		other := yielding(names, d.m.id, ours)
		if other == nil {
			return in, true
		}
		again := false
		d.work(func() { again = other.Yields(d.k, d.s) }, func() (input, bool) {
			if again {
				d.list(synced)
			}
			return in, !again
		})
		return input{}, false
	}}
}

// yielding returns the last of ours that blocks the contender id, if all that block it are
// ours and about to be over.
func yielding(names []string, id string, ours []*Stake) (last *Stake) {
	if len(ours) == 0 {
		return nil
	}
	leaving := make(map[string]*Stake)
	for _, s := range ours {
		if s.Leaving() {
			leaving[s.id] = s
		}
	}
	p := placeOf(names, id)
	for _, name := range names {
		c, ok := parse(name)
		if !ok || compare(c, p.me) >= 0 || !blocks(c.mode, p.me.mode) {
			continue
		}
		s := leaving[c.id]
		if s == nil {
			return nil
		}
		if c == p.nearest {
			last = s
		}
	}
	return last
}

// remove deletes our node, and our baton, which is passed if we held. That they are not
// there any more is as good: their names were never given to another.
func (d *driver) remove(node string, pass bool) {
	switch {
	case node == "":
		d.blocking(d.removeBaton)
	case d.m.hasBaton() && !reads(node):
		ops := d.removal(node, pass)
		await(d, d.near.ask.Txn(ops...), func(_ []coord.OpResult, err error) (input, bool) {
			if err == nil {
				return input{kind: removed}, true
			}
			d.blocking(func() input {
				if !d.s.Refused(err) {
					err = d.s.Retry(background, func() error {
						_, err := d.s.Txn(background, ops...)
						return err
					})
				}
				return d.removeSingly(node, err)
			})
			return input{}, false
		})
	default:
		path := d.path(node)
		await(d, d.near.ask.Delete(path, -1), func(_ struct{}, err error) (input, bool) {
			if err == nil || d.s.Refused(err) {
				return d.deleted(err), true
			}
			d.blocking(func() input { return d.delete(path) })
			return input{}, false
		})
	}
}

// delete deletes one znode of ours, again and again until there is an answer.
func (d *driver) delete(path string) input {
	return d.deleted(d.s.Delete(background, path, -1))
}

// deleted returns what the answer to a deletion means. That there is no znode is as good.
func (d *driver) deleted(err error) input {
	if err == nil || errors.Is(err, coord.ErrNoNode) {
		return input{kind: removed}
	}
	if d.s.Refused(err) {
		d.k.NotRemoved(err)
	}
	return input{kind: refused, err: err}
}
