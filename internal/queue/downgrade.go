package queue

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
)

// EnterRead is like [Enter] for a contender that shares with others who read.
func EnterRead(ctx context.Context, c *coord.Client, w Entry) *coord.Hold {
	w.mode = read
	return enter(ctx, c, w, nil)
}

// EnterWrite is like [Enter] for a contender that may become one who reads. The
// function returned, for when it holds, makes it so; see [Downgrade].
func EnterWrite(ctx context.Context, c *coord.Client, w Entry) (*coord.Hold, Downgrade) {
	w.mode = write
	downgrades := make(chan chan<- error)
	h := enter(ctx, c, w, downgrades)
	return h, func(ctx context.Context) error {
		// The driver of a Hold that is held and not over is at its select, so
		// it is asked at once, and ctx bounds only the wait for the answer.
		parent, stop := context.WithCancel(context.Background())
		defer stop()
		alive := h.Context(parent)
		back := make(chan error, 1) // so that the driver can answer though nobody waits
		select {
		case downgrades <- back:
		case <-alive.Done():
			return h.Err()
		}
		select {
		case err := <-back:
			return err
		case <-alive.Done():
			return h.Err()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// A Downgrade turns a write that is held into a read in the same place, and
// waits until that is known or ctx ends. It returns nil if it is a read by now,
// the Hold's Err if that is over, and otherwise the ensemble's refusal, with
// which it is a write as before, or ctx's cause, with which it becomes a read as
// soon as the ensemble can be reached.
type Downgrade func(ctx context.Context) error

// requestDowngrade takes note of one who wants a downgrade, and reports whether it is to be
// begun.
func (d *driver) requestDowngrade(back chan<- error) bool {
	switch {
	case d.m.state == held && Reads(d.m.node):
		back <- nil
	case d.m.state == held:
		d.awaitingDowngrade = append(d.awaitingDowngrade, back)
		return true
	case d.m.state == downgrading:
		d.awaitingDowngrade = append(d.awaitingDowngrade, back)
	}
	return false // if it is not held any more the Hold is over, which is the answer
}

// answerDowngrades tells those who wait for a downgrade what in, which has been taken
// note of, says of it.
func (d *driver) answerDowngrades(in input) {
	if d.m.state != held {
		return // not known yet, or else the Hold is over, which is the answer
	}
	for _, back := range d.awaitingDowngrade {
		back <- in.err
	}
	d.awaitingDowngrade = nil
}

// replace puts a read in the place of node, in one transaction: so nobody who
// waits for the place comes in between. When it is done a second time it finds
// the read there, or us gone.
func (d *driver) replace(node string) input {
	dir := d.c.FullPath(d.Dir)
	reader := asRead(node)
	ops := []any{
		&zk.CreateRequest{
			Path:  dir + "/" + reader,
			Data:  []byte(d.Label),
			Acl:   d.c.ACL(),
			Flags: zk.FlagEphemeral,
		},
		&zk.DeleteRequest{Path: dir + "/" + node, Version: -1},
	}
	_, err := coord.Retry(context.Background(), d.s, func(conn *zk.Conn) ([]zk.MultiResponse, error) {
		return coord.Transact(conn, ops...)
	})
	switch {
	case err == nil, errors.Is(err, zk.ErrNodeExists):
		return input{kind: replaced, node: reader}
	case errors.Is(err, zk.ErrNoNode):
		return input{kind: removed}
	}
	return input{kind: refused, err: err}
}
