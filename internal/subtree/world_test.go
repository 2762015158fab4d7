package subtree_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/subtree"
	"github.com/zkcoord/zkcoord/internal/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var bg = context.Background()

// timeout is that of the watching client's session.
const timeout = 6 * time.Second

// A world is a bubble with a client that watches over a line that can be broken. The
// operator writes.
type world struct {
	*harness.World
	client *harness.Client
	c      *coord.Client   // the same
	line   *coordtest.Link // its
	other  *zk.Conn        // the operator's
}

func bubble(t *testing.T, f func(w *world)) {
	t.Helper()
	harness.Bubble(t, func(w *harness.World) { f(newWorld(w, w.Client(timeout))) })
}

func newWorld(w *harness.World, c *harness.Client) *world {
	return &world{w, c, c.Client, c.Link, w.Op()}
}

// A record is a stream of states in words, and all that it has said.
type record struct {
	*event.Stream[string]
	mu    sync.Mutex
	said  []string
	check func(state string)
}

// watch follows what is below path. A state is "name=data" for each node; "?" in
// the end says that it is suspended.
func (w *world) watch(path string, whole bool, check func(string)) *record {
	r := &record{check: check}
	r.Stream = subtree.Watch(w.Context(), w.c, path, subtree.Recipe[string]{
		Op:    "look below",
		Whole: whole,
		Fold: func(nodes []*subtree.Node) (string, bool) {
			if !slices.IsSortedFunc(nodes, func(a, b *subtree.Node) int { return strings.Compare(a.Name, b.Name) }) {
				w.Error("not sorted")
			}
			var all []string
			for _, n := range nodes {
				text := n.Name + "=" + string(n.Data)
				if n.Err != nil {
					text = n.Name + "!"
				} else if !n.Exists {
					w.Errorf("%s does not exist", n.Name)
				}
				all = append(all, text)
			}
			return strings.Join(all, " "), true
		},
		Suspend: func(last string) string { return strings.TrimSuffix(last, "?") + "?" },
	})
	go func() {
		for state := range r.All() {
			r.mu.Lock()
			r.said = append(r.said, state)
			if r.check != nil {
				r.check(state)
			}
			r.mu.Unlock()
		}
	}()
	return r
}

// sees fails the test unless r comes to rest on want.
func (w *world) sees(r *record, want string) {
	w.Helper()
	time.Sleep(5 * time.Second) // of the bubble: directories rest
	w.Rest()
	if got, any := r.Latest(); !any || got != want {
		w.Errorf("rests on %q (any: %v), want %q; ended: %v\n%s", got, any, want, r.Err(), w.Tree())
	}
}

// A write puts a generation into the whole tree in one transaction: data are set,
// nodes come and go, and some are deleted and created again under their name, with
// what is below them.
func (w *world) write(gen int) {
	data := fmt.Append(nil, gen)
	acl := zk.WorldACL(zk.PermAll)
	set := func(path string) any { return &zk.SetDataRequest{Path: path, Data: data, Version: -1} }
	add := func(path string) any { return &zk.CreateRequest{Path: path, Data: data, Acl: acl} }
	del := func(path string) any { return &zk.DeleteRequest{Path: path, Version: -1} }
	ops := []any{
		del("/t/r/s"), del("/t/r"), set("/t/a"), set("/t/d"), set("/t/d/e"), set("/t/d/e/f"),
		add("/t/r"), add("/t/r/s"), del("/t/d/z"), add("/t/d/z"),
	}
	if gen%3 == 1 {
		slices.Reverse(ops[2:6]) // the sets, so that the events come in another order
	}
	if gen%2 == 1 {
		ops = append(ops, add("/t/odd"), add("/t/odd/x"))
	} else {
		ops = slices.Insert(ops, 0, del("/t/odd/x"), del("/t/odd"))
	}
	_, err := w.other.Multi(ops...)
	w.Must(err)
}

// eachWay runs f with directories that are listed at every change, and with directories
// whose children are told by events from the first on. The second takes one watch more,
// and one question to read a directory.
func eachWay(t *testing.T, f func(t *testing.T, more int)) {
	t.Run("listed", func(t *testing.T) {
		listBelow(t, math.MaxInt)
		f(t, 0)
	})
	t.Run("told", func(t *testing.T) {
		listBelow(t, 0)
		f(t, 1)
	})
}

// listBelow has the children of directories that have as many told by events, until t has
// ended.
func listBelow(t *testing.T, many int) {
	was := watch.ManyChildren
	t.Cleanup(func() { watch.ManyChildren = was })
	watch.ManyChildren = many
}

// begin makes the tree in generation 0.
func begin(w *harness.World) {
	for _, path := range []string{"/t", "/t/a", "/t/d", "/t/d/e", "/t/d/e/f", "/t/d/z", "/t/r", "/t/r/s"} {
		w.Create(path, "0")
	}
}
