package main

import (
	"context"
	"errors"
	"strings"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/lock"
)

// A participant keeps one account.
type participant struct {
	c    *coord.Client
	h    *coord.Hold // of its name
	name string
	*journal
}

// participate keeps the account of that name in the journal at path, until ctx ends.
func participate(ctx context.Context, c *coord.Client, name, path string, balance int64) error {
	return lock.New(c, root+"/participants/"+name).Run(ctx, func(ctx context.Context, h *coord.Hold) error {
		j, err := open(path, h, balance)
		if err != nil {
			return err
		}
		defer j.close()
		p := participant{c, h, name, j}
		return each(ctx, c, j.inDoubt(), p.follow)
	})
}

// follow does our part in one transaction.
func (p participant) follow(ctx context.Context, id string) error {
	return watch(ctx, p.c, id, nil, func() (over bool, err error) {
		t, err := look(ctx, p.c, id)
		amount, ours := t.amounts[p.name]
		_, voted := t.votes[p.name]
		switch {
		case err != nil:
			return false, err
		case t.gone && p.prepared(id):
			return p.presume(ctx, t)
		case t.gone || !ours:
			return true, nil
		case t.committed && p.prepared(id):
			reached("a participant has seen the commit")
			if err := p.commit(id); err != nil {
				return false, err
			}
			reached("a participant has carried it out")
			return true, p.say(ctx, t.path+"/done-"+p.name, "")
		case t.committed: // and carried out, by an earlier process
			return true, p.say(ctx, t.path+"/done-"+p.name, "")
		case !voted:
			reached("a participant has seen the proposal")
			vote := "no"
			if ok, err := p.prepare(id, amount); err != nil {
				return false, err
			} else if ok {
				vote = "yes"
				reached("a participant is prepared")
			}
			return false, p.say(ctx, t.path+"/vote-"+p.name, vote)
		}
		return false, nil
	})
}

// presume aborts a transaction that is gone, unless that was only so on a server that lags
// behind: then we will hear of it there.
func (p participant) presume(ctx context.Context, t transaction) (over bool, err error) {
	_, err = p.c.Txn(ctx, p.h.Guard(), coord.OpCheck(t.path, -1))
	if !errors.Is(err, coord.ErrNoNode) { // nil, or not known
		return false, err
	}
	reached("a participant presumes an abort")
	if err := p.abort(t.id); err != nil {
		return false, err
	}
	reached("a participant has aborted")
	return true, nil
}

// say creates a znode, if nobody has taken our place. If it is there already, it stays.
func (p participant) say(ctx context.Context, path, data string) error {
	_, err := p.c.Txn(ctx, p.h.Guard(), coord.OpCreate(path, []byte(data), coord.Persistent))
	if err == nil {
		kind, _, _ := strings.Cut(path[strings.LastIndex(path, "/")+1:], "-")
		reached("a participant has said " + kind)
	}
	if errors.Is(err, coord.ErrNodeExists) {
		return nil
	}
	return err
}
