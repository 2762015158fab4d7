package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// TestHeldWhateverItsContext: ctx governs the seeking and never the holding. What
// has been acquired, by any recipe and in any way, stays so when ctx ends at once, and
// ends by its release.
func TestHeldWhateverItsContext(t *testing.T) {
	rounds := 4
	if harness.Stress {
		rounds = 10
	}
	inBoth(t, ways, rounds, func(r *round, x way) error {
		h := x.run(r)
		r.Wait("grant", h.Acquired())
		r.stop()
		return r.stays(h)
	})
}

// TestHeldOrNotWhenItsContextEnds: at any moment of the seeking at which ctx ends,
// either the thing is never acquired, or it stays acquired.
func TestHeldOrNotWhenItsContextEnds(t *testing.T) {
	inBoth(t, []way{
		{"as a frame comes", waits, 0, func(r *round) held {
			r.used()
			other := r.take(r.b, r.blocker)
			n := 0
			r.a.Link.OnFrame(func(coordtest.Frame) coordtest.Action {
				if n++; n == r.n {
					r.stop()
				}
				return coordtest.Pass
			})
			h := r.begin()
			go other.Release(bg)
			return h
		}},
		{"at any time", waits, 300, func(r *round) held {
			r.used()
			other := r.take(r.b, r.blocker)
			h := r.begin()
			go other.Release(bg)
			time.AfterFunc(rand.N(2*time.Millisecond), r.stop)
			return h
		}},
	}, 40, func(r *round, x way) error {
		h := x.run(r)
		select {
		case <-h.Acquired():
		case <-h.Done():
		}
		r.Rest()
		select {
		case <-h.Acquired():
			return r.stays(h)
		default:
			if err := h.Err(); !errors.Is(err, context.Canceled) {
				return fmt.Errorf("not acquired: %w", err)
			}
			return nil
		}
	})
}

// inBoth plays rounds in a bubble, and a few on a real server if that can bring
// anything, of every recipe in each of the ways that fit it.
func inBoth(t *testing.T, ways []way, rounds int, play func(*round, way) error) {
	for _, r := range recipes {
		for _, x := range ways {
			if x.fits != nil && !x.fits(r) {
				continue
			}
			t.Run(r.name+"/"+x.name+"/fake", func(t *testing.T) {
				harness.Bubble(t, func(w *harness.World) { playAll(w, r, x, rounds, play) })
			})
			n := x.real
			if !harness.Stress {
				n /= 100
			}
			if n > 0 {
				t.Run(r.name+"/"+x.name+"/real", func(t *testing.T) {
					harness.OnReal(t, func(w *harness.World) { playAll(w, r, x, n, play) })
				})
			}
		}
	}
}

// playAll plays rounds of r by x, and reports how many went wrong.
func playAll(w *harness.World, r recipe, x way, rounds int, play func(*round, way) error) {
	a, b := w.Client(T), w.Client(T)
	wrong := 0
	var last error
	for n := range rounds {
		ctx, stop := context.WithCancel(bg)
		one := &round{World: w, recipe: r, n: n, path: fmt.Sprintf("%s/%d", w.Dir, n), a: a, b: b, ctx: ctx, stop: stop}
		if err := play(one, x); err != nil {
			wrong++
			last = err
		}
		one.over()
	}
	if wrong > 0 {
		w.Errorf("%d of %d: %v", wrong, rounds, last)
	}
}

// stays returns nil if h is still held, once that has had time to change.
func (r *round) stays(h held) error {
	r.Rest()
	for range 2 { // round trips, on a real server
		if err := h.Err(); err != nil {
			return err
		}
		_, there, err := r.a.Exists(bg, h.node())
		r.Must(err)
		if !there {
			return errors.New("no znode")
		}
	}
	return h.Err()
}

// over ends all that the round has begun.
func (r *round) over() {
	r.Helper()
	r.stop()
	r.a.Link.OnFrame(nil)
	for _, h := range r.begun {
		r.Must(h.Release(bg))
	}
	for _, h := range r.begun {
		there, _, err := r.Op().Exists(h.node())
		r.Must(err)
		if there {
			r.Errorf("released, and %s is there", h.node())
		}
	}
}
