package queue

import (
	"context"
	"errors"
	"slices"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/subtree"
)

// Watch follows the contenders in the queue of dir until ctx ends.
func Watch(ctx context.Context, c *coord.Client, dir string) *event.Stream[coord.Contention] {
	if err := (Entry{Dir: dir}).Check(); err != nil {
		return event.Ended[coord.Contention](&coord.Error{Op: "watch", Path: dir, Err: err})
	}
	var last []coord.Contender
	return subtree.Watch(ctx, c, dir, subtree.Recipe[coord.Contention]{
		Op:    "watch",
		Stat:  true,
		Check: checkChildren,
		Skip: func(name string) bool {
			_, ok := parse(name)
			return !ok
		},
		// Only the znodes of holders are written to, to revoke them.
		Changing: holders,
		Fold: func(nodes []*subtree.Node) (coord.Contention, bool) {
			all := contenders(nodes, last)
			news := !slices.Equal(all, last)
			last = all
			return coord.Contention{Contenders: slices.Clone(all)}, news
		},
		Suspend: func(q coord.Contention) coord.Contention {
			q.Suspended = true
			return q
		},
	})
}

// contenders returns the contenders that the nodes are of, head first. Labels that a
// revocation has overwritten are taken from those known before.
func contenders(nodes []*subtree.Node, known []coord.Contender) []coord.Contender {
	byName := make(map[string]*subtree.Node)
	var names []string
	for _, n := range nodes {
		if n.Err == nil || errors.Is(n.Err, coord.ErrNoAuth) {
			byName[n.Name] = n
			names = append(names, n.Name)
		}
	}
	var all []coord.Contender
	for _, c := range inOrder(names) {
		now := contenderOf(c, byName[c.name].Data, coord.Stat(byName[c.name].Stat))
		if i := slices.IndexFunc(known, func(k coord.Contender) bool { return k.Node == now.Node }); now.Revoked && i >= 0 {
			now.Label = known[i].Label
		}
		all = append(all, now)
	}
	markHolders(all)
	return all
}

// holders returns which of the contenders with these names hold, or will as soon as
// they know it.
func holders(names []string) map[string]bool {
	hold := make(map[string]bool)
	all := inOrder(names)
	for i, c := range all {
		if i > 0 && blocks(all[0].mode, c.mode) {
			break
		}
		hold[c.name] = true
	}
	return hold
}
