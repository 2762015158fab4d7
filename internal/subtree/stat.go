package subtree

import (
	"context"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/watch"
)

// An answer is the answer to askStat.
type answer struct {
	of     *node // nil: there is no answer
	number int   // of the question
	watch.Change
}

// askStat asks for the Stat of a node whose data may not be read, as n says. Until
// there is an answer, nothing more is known of the node than before. What changes
// later is not asked for: newer servers do not say it to a client that may not read
// the node.
func (f *follower[T]) askStat(ctx context.Context, n watch.Change) {
	at := f.nodes[f.name(n.Path)]
	if at == nil {
		return // no longer listed
	}
	f.asked++
	at.asking = f.asked
	number := f.asked
	f.kit.Go(func(context.Context) {
		var node coord.Node
		err := f.kit.Retry(ctx, func(s *coord.Session) (err error) {
			node, err = s.Exists(ctx, n.Path)
			return err
		})
		switch {
		case node.Exists:
			n.Exists, n.Snapshot.Stat = true, node.Stat
		case err == nil:
			n.Err = nil // gone
		}
		select {
		case f.stats <- answer{at, number, n}:
		case <-ctx.Done():
		}
	})
}

// takeStat takes an answer, unless the node is no longer listed, or has been read or
// asked about since.
func (f *follower[T]) takeStat(a answer) {
	if a.of != nil && a.of.asking == a.number && f.nodes[a.of.Name] == a.of {
		f.take(a.Change)
	}
}
