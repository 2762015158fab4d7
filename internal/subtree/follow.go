package subtree

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/watch"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// A follower owns all that is known of one subtree. One goroutine owns it.
type follower[T any] struct {
	Recipe[T]
	kit   *coord.Kit
	root  string
	out   event.Publisher[T]
	set   *watch.Set
	stats chan answer // of nodes whose data may not be read

	nodes     map[string]*node // by name; that of the root is ""
	sorted    []*node          // by name, without the root
	gone      map[string]*node // those that were listed, and then were not there
	unread    int              // nodes of which nothing is known yet
	down      int              // what is followed and suspended, by node and kind
	listed    bool             // the root has been
	asked     int              // questions for a Stat so far
	lists     int              // how often the root has been listed since something was published
	began     bool             // something has been published
	news      bool             // something has changed since
	last      T
	suspended bool // last says that the connection is down
}

// A node is what is known of a Node.
type node struct {
	Node
	names     []string // of its children
	known     bool     // its data have been read, or cannot be
	watched   bool     // its data are in the set
	changing  bool     // see Recipe.Changing
	asking    int      // the number of the question for its Stat, because its data may not be read; zero: none
	suspended map[event.Kind]bool
	missing   map[event.Kind]bool // what has shown that it is gone, and will show no more
	failed    time.Duration       // how long to wait after it could not be read
	retry     time.Time           // when to try again, if there is a listing then
}

// maxRetry is the longest that a node that could not be read is left alone. Each
// try costs a request, and there may be many such nodes.
const maxRetry = time.Minute

func (f *follower[T]) run(ctx context.Context) error {
	f.set.Below(f.root)
	f.set.Add(f.root, event.Children, false)
	for {
		var a answer
		select {
		case <-f.set.Ready():
		case a = <-f.stats:
		case <-ctx.Done():
		}
		if ctx.Err() != nil { // of several cases that are ready the select takes any
			return context.Cause(ctx)
		}
		news, consistent := f.set.Take()
		// What is known of nodes goes before listings, which say which of those
		// that are gone are back.
		slices.SortFunc(news, func(a, b watch.Change) int { return cmp.Compare(a.Kind, b.Kind) })
		for _, n := range news {
			if n.Err != nil && n.Path == f.root || errors.Is(n.Err, coord.ErrClosed) {
				return n.Err // when the client is closed, every node says so
			}
			if f.Check != nil && n.Path == f.root && n.Kind == event.Children && n.Err == nil {
				if err := f.Check(n.Snapshot.Children); err != nil {
					return err
				}
			}
			if f.Stat && n.Kind == event.Data && errors.Is(n.Err, coord.ErrNoAuth) {
				f.askStat(ctx, n)
			} else {
				f.take(n)
			}
		}
		f.takeStat(a)
		f.publish(consistent)
	}
}

// take notes what is new of one node.
func (f *follower[T]) take(n watch.Change) {
	name := f.name(n.Path)
	at := f.nodes[name]
	if at == nil {
		return // no longer listed
	}
	f.news = true
	f.down -= len(at.suspended)
	at.suspended = with(at.suspended, n.Kind, n.Suspended)
	f.down += len(at.suspended)
	if name != "" {
		at.missing = with(at.missing, n.Kind, !n.Exists && n.Err == nil)
		if len(at.missing) > 0 {
			f.gone[name] = at
		} else {
			delete(f.gone, name)
		}
	}
	switch {
	case n.Kind == event.Children && n.Err == nil:
		late := f.unread > 0 || len(f.gone) > 0
		complete := f.began || f.listed && f.unread == 0 // up to the listing before
		f.list(at, name, n.Snapshot.Children)
		f.listed = true
		f.lists++
		if late && f.lists > 1 && !f.Whole && complete && f.down == 0 {
			// Some have come and gone faster than they could be read. They are not
			// to hold up the rest forever.
			f.put()
		}
	case n.Kind == event.Children:
		at.Err = n.Err
	default:
		if !at.known {
			at.known = true
			f.unread--
		}
		at.Err, at.asking = n.Err, 0
		switch {
		case n.Err != nil:
			at.Snapshot = n.Snapshot
			at.failed = min(max(2*at.failed, 100*time.Millisecond), maxRetry)
			at.retry = time.Now().Add(at.failed)
		case n.Exists:
			at.Snapshot, at.failed = n.Snapshot, 0
		default:
			// Gone or replaced: the listing will tell. Until then it is as it last was.
		}
		f.adjust(name)
	}
}

// with returns set with kind in it or not.
func with(set map[event.Kind]bool, kind event.Kind, in bool) map[event.Kind]bool {
	if !in {
		delete(set, kind)
		return set
	}
	if set == nil {
		set = make(map[event.Kind]bool)
	}
	set[kind] = true
	return set
}

// list compares what children at has with what it had.
func (f *follower[T]) list(at *node, name string, names []string) {
	at.Node.Children = len(names)
	rest := names // both are in order
	for _, child := range at.names {
		for len(rest) > 0 && rest[0] < child {
			rest = rest[1:]
		}
		if still := len(rest) > 0 && rest[0] == child; !still && f.nodes[below(name, child)] != nil {
			f.forget(below(name, child))
		}
	}
	at.names = names
	var changing map[string]bool
	if f.Changing != nil {
		changing = f.Changing(names)
	}
	for _, child := range names {
		child = below(name, child)
		known := f.nodes[child]
		if known != nil {
			known.changing = f.Changing == nil || changing[child]
		}
		switch {
		case known == nil && f.Skip != nil && f.Skip(child):
		case known == nil:
			f.insert(&node{Node: Node{Name: child}, changing: f.Changing == nil || changing[child]})
			f.unread++
			f.follow(child)
		case f.gone[child] != nil || known.Err != nil && !time.Now().Before(known.retry):
			f.again(child)
		default:
			f.adjust(child)
		}
	}
}

// adjust follows a node that may change, and no longer one that has been read and
// cannot.
func (f *follower[T]) adjust(name string) {
	at := f.nodes[name]
	read := at.known && at.Err == nil && len(at.suspended) == 0 && len(at.missing) == 0
	switch {
	case at.changing && !at.watched:
		f.follow(name)
	case !at.changing && at.watched && read:
		at.watched = false
		f.set.Drop(f.path(name), event.Data)
	}
}

// follow begins to follow a node.
func (f *follower[T]) follow(name string) {
	f.nodes[name].watched = true
	f.set.Add(f.path(name), event.Data, true)
	if f.Whole {
		f.set.Add(f.path(name), event.Children, true)
	}
}

// again follows a node anew that was gone, or could not be read.
func (f *follower[T]) again(name string) {
	at := f.nodes[name]
	f.release(name)
	if at.known && at.Err == nil { // else that is what is known, until there is better
		at.known = false
		f.unread++
	}
	f.follow(name)
}

// forget drops a node that is no longer listed.
func (f *follower[T]) forget(name string) {
	f.release(name)
	if !f.nodes[name].known {
		f.unread--
	}
	delete(f.nodes, name)
	if i, found := f.place(name); found {
		f.sorted = slices.Delete(f.sorted, i, i+1)
	}
}

// insert adds a node.
func (f *follower[T]) insert(at *node) {
	i, _ := f.place(at.Name)
	f.nodes[at.Name] = at
	f.sorted = slices.Insert(f.sorted, i, at)
}

// place returns where the node with this name is in the order, or belongs.
func (f *follower[T]) place(name string) (i int, found bool) {
	if n := len(f.sorted); n == 0 || f.sorted[n-1].Name < name {
		return n, false // a listing is in order
	}
	return slices.BinarySearchFunc(f.sorted, name, func(at *node, name string) int { return strings.Compare(at.Name, name) })
}

// release ends what follow began, and forgets what is below.
func (f *follower[T]) release(name string) {
	at := f.nodes[name]
	f.list(at, name, nil)
	f.down -= len(at.suspended)
	clear(at.suspended)
	clear(at.missing)
	at.watched, at.asking = false, 0
	delete(f.gone, name)
	f.set.Drop(f.path(name), event.Data)
	f.set.Drop(f.path(name), event.Children)
}

// path returns the path of a node, as the subscriber would write it.
func (f *follower[T]) path(name string) string {
	if name == "" {
		return f.root
	}
	return zkpath.Join(f.root, name)
}

// name returns the name of the node at path.
func (f *follower[T]) name(path string) string {
	switch {
	case path == f.root:
		return ""
	case f.root == "/":
		return path[1:]
	}
	return path[len(f.root)+1:]
}

// below returns the name of a child of a node.
func below(name, child string) string {
	if name == "" {
		return child
	}
	return name + "/" + child
}
