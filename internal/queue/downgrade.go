package queue

import (
	"cmp"
	"context"
	"errors"

	"github.com/zkcoord/zkcoord/coord"
)

// ErrNotWriting is the answer to a downgrade of what is not a hold for writing of
// this lock, or not held yet.
var ErrNotWriting = errors.New("rwlock: not held for writing")

// A writer is where a downgrade of a write can be requested. It is kept in the
// client's values, under its Hold, until that is over.
type writer struct {
	dir      string
	requests chan<- chan<- error // received by the driver; where to send it the answer
}

// A writerKey is the key of a writer.
type writerKey struct{ h *coord.Hold }

func (w writer) register(c *coord.Client, h *coord.Hold) {
	key := writerKey{h}
	c.Kit().Values().Store(key, w)
	context.AfterFunc(h.Context(context.Background()), func() { c.Kit().Values().Delete(key) })
}

// Downgrade turns h, a hold of dir for writing, into a read in the same place, and
// waits until that is known or ctx ends. It returns nil if it is a read by now, h's
// Err if h is over, [ErrNotWriting] if it is no such hold, the ensemble's refusal,
// with which it is a write as before, or ctx's cause, with which it becomes a read as
// soon as the ensemble can be reached.
func Downgrade(ctx context.Context, c *coord.Client, dir string, h *coord.Hold) error {
	if err := h.Err(); err != nil {
		return err
	}
	select {
	case <-h.Acquired():
	default:
		return ErrNotWriting
	}
	found, _ := c.Kit().Values().Load(writerKey{h})
	w, ok := found.(writer)
	if !ok || w.dir != dir {
		return cmp.Or(h.Err(), ErrNotWriting)
	}
	// The driver of a Hold that is held and not over is at its select, so it takes
	// the request at once, and ctx bounds only the wait for the answer.
	parent, stop := context.WithCancel(context.Background())
	defer stop()
	alive := h.Context(parent)
	answer := make(chan error, 1) // so that the driver can answer even if nobody waits
	select {
	case w.requests <- answer:
	case <-alive.Done():
		return h.Err()
	}
	select {
	case err := <-answer:
		return err
	case <-alive.Done():
		return h.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// requestDowngrade notes a request, and reports whether the downgrade is to begin.
func (d *driver) requestDowngrade(answer chan<- error) bool {
	switch {
	case d.m.state == held && reads(d.m.node):
		answer <- nil
	case d.m.state == held:
		d.awaitingDowngrade = append(d.awaitingDowngrade, answer)
		return true
	case d.m.state == downgrading:
		d.awaitingDowngrade = append(d.awaitingDowngrade, answer)
	}
	return false // if it is not held any more the Hold is over, which is the answer
}

// answerDowngrades answers the requests, if the machine is through with the
// downgrade by an input with err.
func (d *driver) answerDowngrades(err error) {
	if d.m.state != held {
		return // not known yet, or else the Hold is over, which is the answer
	}
	for _, answer := range d.awaitingDowngrade {
		answer <- err
	}
	d.awaitingDowngrade = nil
}

// replace puts a read in the place of node, in one transaction, so that no waiter
// comes in between. Done a second time, it finds the read there, or us gone.
func (d *driver) replace(node string) input {
	reader := asRead(node)
	ops := []coord.Op{
		coord.OpCreate(d.path(reader), []byte(d.Label), coord.Ephemeral),
		coord.OpDelete(d.path(node), -1),
	}
	if d.m.hasBaton() {
		ops = append(ops, coord.OpDelete(d.batonPath(d.m.id), -1)) // not passed: a reader remains
	}
	err := d.s.Retry(background, func() error {
		res, err := d.s.Txn(background, ops...)
		if len(ops) == 3 && errors.Is(res[2].Err, coord.ErrNoNode) {
			ops = ops[:2]
			_, err = d.s.Txn(background, ops...)
		}
		return err
	})
	switch {
	case err == nil, errors.Is(err, coord.ErrNodeExists):
		return input{kind: replaced, node: reader}
	case errors.Is(err, coord.ErrNoNode):
		return input{kind: removed}
	}
	return input{kind: refused, err: err}
}
