package locktest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// T is the session timeout of contenders.
const T = harness.T

var bg = context.Background()

// A Subject is one kind of lock, as the scenarios use it. Two holds of one dir
// must exclude each other.
type Subject struct {
	Name    string
	Acquire func(ctx context.Context, c *coord.Client, dir string) *coord.Hold
	Try     func(ctx context.Context, c *coord.Client, dir string) *coord.Hold
	// New, if not nil, makes the Subject of one World, for one that keeps in mind
	// which contenders are there.
	New func() Subject
	// Bind, if not nil, returns the Acquire of one object, to be shared.
	Bind func(c *coord.Client, dir string) (acquire func(context.Context) *coord.Hold)
	// AfterGrant, if not nil, is done with a hold as soon as it is held, so that what a
	// scenario says of a holder is said of one with which that was done.
	AfterGrant func(h *coord.Hold) error
	// Parts, if there are any, are the directories below dir in which contenders have their
	// znodes: that of the holder, and that of those that wait. A holder may be in the second
	// for a moment longer. Without, all are in dir itself.
	Parts []string
	// Contend, if not nil, acquires dir although it is held, and returns when it is
	// acquired: for a subject that does not wait by itself.
	Contend func(ctx context.Context, c *coord.Client, dir string) *coord.Hold
	// Reads, if not nil, reports whether h may be held beside others of which it says the
	// same. Of the scenarios only [Lagging] has such.
	Reads func(h *coord.Hold) bool
	// Verb is in the errors of Acquire; "acquire" if empty.
	Verb string
	// Share, if not zero, has one fault in so many tried with each frame: see
	// [harness.Workload].
	Share int
	// Follows is how many watches a holder has besides that on its znode.
	Follows int
	// Left, if not nil, reports whether anything is left besides znodes in the directory
	// and watches.
	Left func(w *World) bool
}

// A World is one with a lock, at Dir.
type World struct {
	*harness.World
	Subject
}

// A Client is a program that contends.
type Client = harness.Client

// In returns w with a lock.
func In(w *harness.World, s Subject) *World {
	if s.New != nil {
		name := s.Name
		s = s.New()
		s.Name = name
	}
	return &World{w, s}
}

// InBubble runs f in a bubble, with an in-process server.
func InBubble(t *testing.T, s Subject, f func(w *World)) {
	t.Helper()
	harness.Bubble(t, func(w *harness.World) { f(In(w, s)) })
}

// OnReal runs f with the shared real server.
func OnReal(t *testing.T, s Subject, f func(w *World)) {
	harness.OnReal(t, func(w *harness.World) { f(In(w, s)) })
}

// on returns a world of its own on the servers of e.
func on(t *testing.T, s Subject, e *ensemble.Ensemble) *World { return In(harness.On(t, e), s) }

// aside returns w for a goroutine that is not the test's.
func (w *World) aside() *World { return &World{w.Aside(), w.Subject} }

// Held acquires the lock for c. Nobody waits for it.
func (w *World) Held(c *Client) *coord.Hold {
	w.Helper()
	h := w.Acquire(bg, c.Client, w.Dir)
	w.Grant(h)
	w.alone()
	return h
}

// alone waits until the holder, with whom nobody contends, has one znode.
func (w *World) alone() {
	w.Helper()
	if w.Parts != nil {
		w.Eventually("the holder has left the queue", func() bool { return len(w.World.Children(w.queue())) == 0 })
	}
}

// Grant waits until h is held.
func (w *World) Grant(h *coord.Hold) {
	w.Helper()
	if err := w.Outcome(h); err != nil {
		w.Fatalf("not acquired: %v\n%s", err, w.Tree())
	}
}

// Outcome waits until h is held, and [Subject.AfterGrant] is done with it, or has come
// to its end, and returns its Err.
func (w *World) Outcome(h *coord.Hold) error {
	w.Helper()
	known := make(chan struct{})
	var err error
	go func() {
		defer close(known)
		if err = h.Wait(); err == nil && w.AfterGrant != nil {
			err = w.AfterGrant(h)
		}
	}()
	w.Wait("end of the wait", known)
	return err
}

// Queued starts to acquire the lock for c and waits until it is in line as the
// n-th child, and until each child is followed by its owner and by the next.
func (w *World) Queued(ctx context.Context, c *Client, n int) *coord.Hold {
	w.Helper()
	h := w.Acquire(ctx, c.Client, w.Dir)
	w.Eventually(fmt.Sprintf("%d in the queue", n), func() bool {
		return len(w.Children()) == n && w.Watches() == w.shown(2*n-1+w.Follows, min(n-1, 1))
	})
	return h
}

// shown returns how many of so many watches the server shows: with Parts, so many are on a
// directory, and real servers show no watch for children.
func (w *World) shown(all, ofDir int) int {
	if w.Parts != nil && w.Real != nil {
		return all - ofDir
	}
	return all
}

// Behind is like Queued, but waits only until the n-th child is there: for
// clients with other contenders or old watches.
func (w *World) Behind(c *Client, n int) *coord.Hold {
	w.Helper()
	h := w.Acquire(bg, c.Client, w.Dir)
	w.Eventually(fmt.Sprintf("%d in the queue", n), func() bool { return len(w.Children()) == n })
	return h
}

// Free checks that c gets the lock without waiting.
func (w *World) Free(c *Client) {
	w.Helper()
	h := w.Try(bg, c.Client, w.Dir)
	w.Grant(h)
	w.Must(h.Release(bg))
}

// Taken checks that c does not get the lock, and waits until no trace of the try
// is left.
func (w *World) Taken(c *Client) {
	w.Helper()
	h := w.Try(bg, c.Client, w.Dir)
	w.Wants(w.Outcome(h), coord.ErrLocked)
	w.Wait("done", h.Done())
}

// Children returns the znodes of the contenders, relative to Dir, in the order of their
// numbers, the holder's first.
func (w *World) Children() (names []string) {
	w.Helper()
	byNumber := func(a, b string) int { return strings.Compare(tail(a), tail(b)) }
	if w.Parts == nil {
		names = w.World.Children(w.Dir)
		slices.SortFunc(names, byNumber)
	}
	for _, part := range w.Parts {
		in := w.World.Children(w.Dir + "/" + part)
		slices.SortFunc(in, byNumber)
		for _, name := range in {
			names = append(names, part+"/"+name)
		}
	}
	return names
}

// queue returns the directory of those that wait.
func (w *World) queue() string {
	if w.Parts == nil {
		return w.Dir
	}
	return w.Dir + "/" + w.Parts[len(w.Parts)-1]
}

func tail(name string) string { return name[max(0, len(name)-10):] }

// NothingLeft waits until the lock's directory is empty and no watch is armed in
// it.
func (w *World) NothingLeft() {
	w.Helper()
	w.Eventually("directory empty", func() bool { return len(w.Children()) == 0 })
	w.Eventually("nothing left beside it", func() bool { return w.Left == nil || !w.Left(w) })
	w.Eventually("no watch left", func() bool { return w.Watches() == 0 })
}
