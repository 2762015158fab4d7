package subtree

import (
	"maps"
	"slices"
)

// publish publishes what is known, if that may be shown and is news.
func (f *follower[T]) publish(consistent bool) {
	if f.down > 0 {
		f.lists = 0
		if f.began && !f.suspended {
			f.suspended = true
			f.last = f.Suspend(f.last)
			f.out.Publish(f.last)
		}
		return
	}
	if consistent && f.unread == 0 && f.revive() {
		return
	}
	// If something was added just now, there is more to come.
	if !f.listed || f.unread > 0 || len(f.gone) > 0 || f.Whole && !(consistent && f.set.Consistent()) {
		return
	}
	f.put()
}

// revive follows anew what is listed and yet gone, and reports whether there is
// such a thing. A node that is gone says nothing more, so if all else is consistent
// it is the listing that is right: the node has come back.
func (f *follower[T]) revive() bool {
	back := slices.Sorted(maps.Keys(f.gone))
	for _, name := range back {
		if f.nodes[name] != nil { // not forgotten with one above it
			f.again(name)
		}
	}
	return len(back) > 0
}

func (f *follower[T]) put() {
	if !f.news && !f.suspended {
		return
	}
	nodes := make([]*Node, 0, len(f.sorted))
	for _, at := range f.sorted {
		if at.Exists || at.Err != nil {
			nodes = append(nodes, &at.Node)
		}
	}
	now, news := f.Fold(nodes)
	if news || f.suspended || !f.began {
		f.last = now
		f.out.Publish(now)
	}
	f.began, f.news, f.suspended, f.lists = true, false, false, 0
}
