package barrier_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/members/barrier"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(harness.Main(m)) }

const T = harness.T

var bg = context.Background()

// A place is a world with a barrier in it.
type place struct{ *harness.World }

// enter has c enter the barrier for n.
func (w *place) enter(c *harness.Client, n int, id string) *coord.Hold {
	return barrier.New(c.Client, w.Dir, n).Enter(bg, id)
}

// in waits until the members that are in are those of this number.
func (w *place) in(n int) {
	w.Helper()
	w.Eventually(fmt.Sprintf("%d in", n), func() bool { return len(w.members()) == n })
}

// members returns the IDs of those who are in.
func (w *place) members() (ids []string) {
	for _, name := range w.Children(w.Dir) {
		if name != "ready" {
			ids = append(ids, name)
		}
	}
	return ids
}

// acquired waits until the holds are acquired.
func (w *place) acquired(holds ...*coord.Hold) {
	w.Helper()
	for i, h := range holds {
		w.Wait(fmt.Sprintf("hold %d", i), wait(h))
		if err := h.Err(); err != nil {
			w.Fatalf("hold %d: %v\n%s", i, err, w.Tree())
		}
	}
}

// wait returns a channel that is closed when h is acquired or over.
func wait(h *coord.Hold) <-chan struct{} {
	ch := make(chan struct{})
	go func() {
		defer close(ch)
		_ = h.Wait()
	}()
	return ch
}

// leaves begins to release h, and waits until all that can be done about it is done.
func (w *place) leaves(h *coord.Hold) {
	w.Helper()
	ctx, cancel := context.WithCancel(bg)
	cancel()
	w.Wants(h.Release(ctx), context.Canceled)
	if w.Fake != nil {
		w.Rest()
	}
}

// release releases the holds at the same time, and waits until all have left.
func (w *place) release(holds ...*coord.Hold) {
	w.Helper()
	ctx, cancel := context.WithCancel(bg)
	cancel()
	for _, h := range holds {
		_ = h.Release(ctx)
	}
	for i, h := range holds {
		w.Wait(fmt.Sprintf("leaving of hold %d", i), h.Done())
		w.Must(h.Release(bg))
	}
}

// pending waits long enough for what might be granted, and checks that h is not.
func (w *place) pending(h *coord.Hold) {
	w.Helper()
	if w.Fake != nil {
		time.Sleep(time.Second) // of the bubble
	}
	w.IsOpen("acquired", h.Acquired())
	w.Must(h.Err())
}

// nothingLeft waits until there is nothing of the barrier but its directories, and no
// watch.
func (w *place) nothingLeft() {
	w.Helper()
	w.Eventually("nothing is left", func() bool {
		return len(w.Children(w.Dir)) == 0 && len(w.Children(w.Dir+"-guard")) == 0
	})
}
