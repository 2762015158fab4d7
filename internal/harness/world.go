package harness

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/ensemble"
)

const (
	// T is the session timeout of clients to which something happens: the least that
	// servers commonly give.
	T = 4 * time.Second
	// Long is that of all others: no fault lasts as long.
	Long = 10 * T
)

// A World is a server, in the process or real, with the clients of one test.
type World struct {
	testing.TB
	Dir  string             // a path that no other World uses; there is nothing at first
	Fake *coordtest.Server  // nil on real servers
	Real *ensemble.Ensemble // nil in a bubble

	operator *Client
}

// Bubble runs f in a bubble, with an in-process server.
func Bubble(t *testing.T, f func(w *World)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &World{TB: t, Dir: "/harness/world", Fake: coordtest.NewServer(t)}
		w.operator = w.Client(Long)
		f(w)
	})
}

// OnReal runs f with the real server that all tests of the process share.
func OnReal(t *testing.T, f func(w *World)) { f(On(t, ensemble.Shared(t))) }

// A Maker makes a World of one kind, and runs f with it.
type Maker func(t *testing.T, f func(w *World))

// Both runs f as two subtests, for worlds of the one kind and of the other. Tests on
// the real server mostly wait, and so run in parallel: a test has one World of in.
func Both(t *testing.T, f func(t *testing.T, in Maker)) {
	t.Run("fake", func(t *testing.T) { f(t, Bubble) })
	t.Run("real", func(t *testing.T) {
		f(t, func(t *testing.T, f func(w *World)) {
			t.Parallel()
			OnReal(t, f)
		})
	})
}

var worlds atomic.Int64

// On returns a World on the servers of e.
func On(tb testing.TB, e *ensemble.Ensemble) *World {
	tb.Helper()
	// The time as well, for processes that share servers.
	w := &World{TB: tb, Dir: fmt.Sprintf("/harness-%d-%d", time.Now().UnixNano(), worlds.Add(1)), Real: e}
	w.operator = w.Client(Long)
	return w
}

// At returns w with another path of its own.
func (w *World) At(dir string) *World {
	other := *w
	other.Dir = dir
	return &other
}

// Aside returns w for a goroutine that is not the test's: what would end the test
// ends the goroutine.
func (w *World) Aside() *World {
	beside := *w
	beside.TB = aside{w.TB}
	return &beside
}

// Op returns the connection of an operator on a good link, for looking and meddling.
func (w *World) Op() *zk.Conn { return w.operator.Conn() }

// Operator returns the operator's client.
func (w *World) Operator() *Client { return w.operator }

// SetOperator makes c the operator.
func (w *World) SetOperator(c *Client) { w.operator = c }

// Create makes the operator create a znode that is open to everyone.
func (w *World) Create(path, data string) {
	w.Helper()
	_, err := w.Op().Create(path, []byte(data), 0, zk.WorldACL(zk.PermAll))
	w.Must(err)
}

// Set has the operator set the data of a znode.
func (w *World) Set(path, data string) {
	w.Helper()
	_, err := w.Op().Set(path, []byte(data), -1)
	w.Must(err)
}

// Delete has the operator delete a znode.
func (w *World) Delete(path string) {
	w.Helper()
	w.Must(w.Op().Delete(path, -1))
}

// Exists reports whether there is a znode at path, as the operator sees it.
func (w *World) Exists(path string) bool {
	w.Helper()
	there, _, err := w.Op().Exists(path)
	w.Must(err)
	return there
}

// Get returns the data of the znode at path, or "nothing" if there is none, as the
// operator sees it.
func (w *World) Get(path string) string {
	w.Helper()
	data, _, err := w.Op().Get(path)
	if errors.Is(err, zk.ErrNoNode) {
		return "nothing"
	}
	w.Must(err)
	return string(data)
}

// Children returns the children of path, none if there is no such znode, as the
// operator sees them.
func (w *World) Children(path string) []string {
	w.Helper()
	names, _, err := w.Op().Children(path)
	if !errors.Is(err, zk.ErrNoNode) {
		w.Must(err)
	}
	return names
}

// Sweep deletes path and what is below it, as an operator would: not all at once.
func (w *World) Sweep(path string) {
	w.Helper()
	w.Eventually("delete of "+path, func() bool {
		names, _, _ := w.Op().Children(path)
		for _, name := range names {
			w.Sweep(path + "/" + name)
		}
		_ = w.Op().Delete(path, -1)
		there, _, err := w.Op().Exists(path)
		return err == nil && !there
	})
}

// Tree shows what there is, for failures.
func (w *World) Tree() string {
	if w.Fake != nil {
		return w.Fake.Tree()
	}
	names, _, err := w.Op().Children(w.Dir)
	return fmt.Sprintf("%s: %q %v", w.Dir, names, err)
}

// Watches returns how many watches the server has; of a real one, those on paths
// that begin with Dir.
func (w *World) Watches() int {
	w.Helper()
	if w.Fake != nil {
		return w.Fake.Watches()
	}
	text, err := w.Real.Node(0).Command("wchp")
	w.Must(err)
	n, ours := 0, false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "/") {
			ours = strings.HasPrefix(line, w.Dir)
		} else if ours && strings.HasPrefix(line, "\t") {
			n++
		}
	}
	return n
}

// Must ends the test if there is an error.
func (w *World) Must(err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("%v\n%s", err, w.Tree())
	}
}

// Wants checks that err is target.
func (w *World) Wants(err, target error) {
	w.Helper()
	if !errors.Is(err, target) {
		w.Errorf("error %v, want %v", err, target)
	}
}

// WantsOp checks that err is the *coord.Error of op on path, with these words in its
// text; and that it is target, if that is not nil.
func (w *World) WantsOp(err error, op, path string, target error, words ...string) {
	w.Helper()
	var e *coord.Error
	if !errors.As(err, &e) || e.Op != op || e.Path != path {
		w.Errorf("error %v is not of %q on %q", err, op, path)
	}
	if target != nil && !errors.Is(err, target) {
		w.Errorf("error %v is not %q", err, target)
	}
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			w.Errorf("error %v does not say %q", err, word)
		}
	}
}
