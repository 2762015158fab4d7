package coord_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// The recipe of the example keeps its promise in trouble: never more hold than there
// are slots; a slot that is lost is another's, and its owner hears of it first; and
// a seeker that gives up leaves nothing behind.
func TestSlots(t *testing.T) {
	const timeout = 4 * time.Second
	for _, tt := range []struct {
		name string
		end  func(w *world, l *coordtest.Link, c *coord.Client, h *coord.Hold)
		want error
	}{
		{"released", func(_ *world, _ *coordtest.Link, _ *coord.Client, h *coord.Hold) { must(t, h.Release(bg)) }, coord.ErrReleased},
		{"expired", func(w *world, _ *coordtest.Link, c *coord.Client, _ *coord.Hold) {
			w.Fake.Expire(c.Kit().Session().ID())
		}, coord.ErrExpired},
		{"cut off", func(_ *world, l *coordtest.Link, _ *coord.Client, _ *coord.Hold) { l.Cut() }, coord.ErrExpired},
		{"deleted by an operator", func(w *world, _ *coordtest.Link, c *coord.Client, h *coord.Hold) {
			names, _, err := c.Children(bg, "/slots")
			must(t, err)
			for _, name := range names {
				if stat, _, err := c.Exists(bg, "/slots/"+name); err != nil || stat.Czxid == int64(h.Token()) {
					must(t, errors.Join(err, c.Delete(bg, "/slots/"+name, -1)))
				}
			}
		}, coord.ErrDeleted},
		{"closed", func(_ *world, _ *coordtest.Link, c *coord.Client, _ *coord.Hold) { must(t, c.Close()) }, coord.ErrClosed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(w *world) {
				l := w.line()
				c, other := w.client(l, coord.Options{SessionTimeout: timeout}), w.client(w.line(), coord.Options{})
				first, others := Slots{c, "/slots", 2}.Acquire(bg), Slots{other, "/slots", 2}
				must(t, first.Wait())
				second := others.Acquire(bg)
				must(t, second.Wait())
				impatient, cancel := context.WithCancelCause(bg)
				gone := others.Acquire(impatient)
				next := others.Acquire(bg)
				synctest.Wait()
				if isClosed(next.Acquired()) || isClosed(gone.Acquired()) {
					t.Fatal("more hold than there are slots")
				}
				cancel(errEnough)
				if <-gone.Done(); !errors.Is(gone.Err(), errEnough) {
					t.Errorf("gave up: %v", gone.Err())
				}
				heard := make(chan bool, 1)
				go func() {
					<-next.Acquired()
					heard <- first.Err() != nil
				}()
				tt.end(w, l, c, first)
				if !<-heard {
					t.Error("another holds, and its predecessor has not heard of its end")
				}
				if !errors.Is(first.Err(), tt.want) {
					t.Errorf("ended with %v, want %v", first.Err(), tt.want)
				}
				must(t, second.Err())
				must(t, second.Release(bg))
				must(t, next.Release(bg))
				if names, _, err := other.Children(bg, "/slots"); err != nil || len(names) != 0 {
					t.Errorf("left behind: %q, %v", names, err)
				}
			})
		})
	}
}
