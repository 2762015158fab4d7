package coord_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/zkcoord/zkcoord/coord"
)

// After its program was stopped for a while, a hold knows of the loss no later
// than when it is asked, before any timer has fired.
func TestErrLooksAtTheClock(t *testing.T) {
	for name, ask := range map[string]func(h *coord.Hold) error{"Err": (*coord.Hold).Err, "Wait": (*coord.Hold).Wait} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				c := w.client(w.line(), coord.Options{})
				h := take(c, "/lock", nil)
				must(t, h.Wait())
				synctest.Wait()
				s := c.Kit().Session()
				s.StandStill()
				if err := ask(h); !errors.Is(err, coord.ErrExpired) {
					t.Errorf("%s = %v, want ErrExpired", name, err)
				}
				if !isClosed(h.Lost()) || !isClosed(s.Done()) {
					t.Errorf("%s has told; lost %v, session over %v", name, isClosed(h.Lost()), isClosed(s.Done()))
				}
			})
		})
	}
}

// R20: a lease that has run out while a grant was on its way grants nothing.
func TestNoGrantAfterTheLease(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client(w.line(), coord.Options{})
		s := c.Kit().Session()
		synctest.Wait()
		s.StandStill()
		h := c.Kit().NewHold(bg, "hold", "/h", func(k *coord.Keeper) error { return k.Acquired(s, "/h", 1) })
		if err := h.Wait(); !errors.Is(err, coord.ErrExpired) {
			t.Errorf("Wait = %v, want ErrExpired", err)
		}
		<-h.Done()
		if isClosed(h.Acquired()) || isClosed(h.Lost()) {
			t.Errorf("acquired %v, lost %v", isClosed(h.Acquired()), isClosed(h.Lost()))
		}
	})
}
