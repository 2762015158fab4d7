package coord_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// parts returns what takes the znodes at paths, and for each a channel that ends its Hold.
func parts(c *coord.Client, holds chan<- *coord.Hold, paths ...string) (all []coord.Part, gone []chan struct{}) {
	for _, path := range paths {
		end := make(chan struct{})
		gone = append(gone, end)
		all = append(all, coord.Part{Path: path, Acquire: func(context.Context) *coord.Hold {
			h := take(c, path, end)
			if holds != nil {
				holds <- h
			}
			return h
		}})
	}
	return all, gone
}

// A Hold of several has one token for each, in the order of the arguments, though they are
// acquired in that of their paths; and its Guard is one op with one result, which checks all
// of them, also if some of them are Holds of several themselves.
func TestHoldAll(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client(w.line(), coord.Options{Chroot: "/app"})
		must(t, c.Kit().Session().CreateAll(bg, "/"))
		inner, _ := parts(c, nil, "/b", "/a")
		outer, gone := parts(c, nil, "/d", "/c")
		outer = slices.Insert(outer, 1, coord.Part{Path: "/b", Acquire: func(ctx context.Context) *coord.Hold {
			return c.Kit().HoldAll(ctx, "inner", inner...)
		}})
		h := c.Kit().HoldAll(bg, "outer", outer...)
		must(t, h.Wait())
		tokens := h.Tokens() // of d, b, a, c
		if len(tokens) != 4 || h.Token() != tokens[0] || !(tokens[2] < tokens[1] && tokens[1] < tokens[3] && tokens[3] < tokens[0]) {
			t.Errorf("tokens %v, first %v", tokens, h.Token())
		}
		guard := h.Guard()
		if got := guard.String(); got != "check /d, /b, /a, /c" || !guard.IsCheck() {
			t.Errorf("guard %q", got)
		}
		ops := []coord.Op{coord.OpCreate("/x-", nil, coord.Sequential), guard, coord.OpSet("/", nil, -1), coord.OpDelete("/none", -1)}
		results, err := c.Txn(bg, ops[:3]...)
		must(t, err)
		if len(results) != 3 || results[0].Path != "/x-0000000004" || results[2].Stat.Mzxid == 0 {
			t.Errorf("results %+v", results)
		}
		results, err = c.Txn(bg, ops...)
		if len(results) != 4 || results[1].Err != nil || results[3].Err == nil || !errors.Is(err, coord.ErrNoNode) || err.Error() != "txn /none: coord: znode does not exist" {
			t.Errorf("results %+v, %v", results, err)
		}
		// Of what is too large all ops count: each of the four checks is 21 bytes.
		data := make([]byte, limit-200)
		for len(data) < limit && c.Kit().CheckSize(guard, coord.OpSet("/", data, -1)) == nil {
			data = append(data, 0)
		}
		if one := c.Kit().CheckSize(coord.OpSet("/", append(data, make([]byte, 3*21)...), -1)); one != nil {
			t.Errorf("with the guard %d bytes are too many, and without it: %v", len(data), one)
		}
		close(gone[1])
		<-h.Lost()
		if got, want := h.Err().Error(), "lost /c: coord: znode deleted by someone else"; got != want {
			t.Errorf("Err = %q, want %q", got, want)
		}
		must(t, c.Delete(bg, "/a", -1))
		results, err = c.Txn(bg, ops[:3]...)
		if got, want := fmt.Sprint(err), "txn /a: coord: not held"; got != want || !errors.Is(results[1].Err, coord.ErrNotHeld) || results[0].Err != nil {
			t.Errorf("error %q, want %q; results %+v", got, want, results)
		}
		for range 2 { // the recipe of these parts does not know that one is removed already
			if got, want := fmt.Sprint(h.Release(bg)), "release /a: coord: znode does not exist"; got != want {
				t.Errorf("Release = %q, want %q", got, want)
			}
		}
		if tree := w.Tree(); strings.Contains(tree, "/b") {
			t.Errorf("left: %s", tree)
		}
	})
}

// Nothing at all cannot be held; and what is over from the beginning answers as every Hold.
func TestEndedHold(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client(w.line(), coord.Options{})
		none := c.Kit().HoldAll(bg, "none")
		for _, h := range []*coord.Hold{none, coord.EndedHold("none", "/h", errEnough)} {
			if !isClosed(h.Done()) || isClosed(h.Lost()) || isClosed(h.Acquired()) || h.Err() == nil || h.Wait() != h.Err() ||
				context.Cause(h.Context(bg)) != h.Err() || h.Tokens() != nil || !h.Until().IsZero() || !strings.HasPrefix(h.Err().Error(), "none") {
				t.Errorf("%v", h.Err())
			}
			if _, err := c.Txn(bg, h.Guard()); !errors.Is(err, coord.ErrNotHeld) {
				t.Errorf("guard: %v", err)
			}
			must(t, h.Release(bg))
		}
		if !errors.Is(coord.EndedHold("op", "/h", errEnough).Err(), errEnough) {
			t.Error("another cause")
		}
	})
}

// A part that ends before the whole has it, while the whole is released, is released itself.
// It may wait for that, as a lock does that was revoked.
func TestPartEndsAsTheWholeIsReleased(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client(w.line(), coord.Options{})
		ended, released := make(chan struct{}), make(chan struct{})
		h := c.Kit().HoldAll(bg, "all", coord.Part{Path: "/a", Acquire: func(context.Context) *coord.Hold {
			part := c.Kit().NewHold(bg, "take", "/a", func(k *coord.Keeper) error {
				k.End(coord.ErrRevoked)
				select {
				case <-k.Released():
				case <-time.After(time.Hour): // of the bubble
					t.Error("the part was not released")
				}
				return nil
			})
			<-part.Context(bg).Done()
			close(ended)
			<-released
			return part
		}})
		<-ended
		ctx, cancel := context.WithCancel(bg)
		cancel()
		_ = h.Release(ctx)
		close(released)
		must(t, h.Release(bg))
		if err := h.Err(); !errors.Is(err, coord.ErrReleased) {
			t.Errorf("Err = %v", err)
		}
	})
}

// Whenever a part ends, the whole ends: it is over as soon as the part is, is lost exactly if
// it was held, and never held afterwards. And whenever it is released, all parts are.
func TestPartsEndAtAnyMoment(t *testing.T) {
	for range harness.Times(100, 10000) {
		bubble(t, func(w *world) {
			l := w.line()
			c := w.client(l, coord.Options{})
			s := c.Kit().Session()
			holds := make(chan *coord.Hold, 3)
			all, gone := parts(c, holds, "/a", "/b", "/c")
			l.OnFrame(func(coordtest.Frame) coordtest.Action { // so that there are moments
				time.AfterFunc(time.Duration(rand.IntN(3))*time.Millisecond, l.Stall(coordtest.Both))
				return coordtest.Pass
			})
			h := c.Kit().HoldAll(bg, "all", all...)
			// Not at once: the first part would go on in the next session if this one expired
			// before it has looked.
			time.AfterFunc(1+time.Duration(rand.IntN(30))*time.Millisecond, func() {
				switch which := rand.IntN(5); which {
				case 3:
					w.Fake.Expire(s.ID())
				case 4:
					ctx, cancel := context.WithCancel(bg)
					cancel()
					_ = h.Release(ctx)
				default:
					close(gone[which])
				}
			})
			_ = h.Wait()
			<-h.Context(bg).Done()
			err := h.Err()
			if lost := isClosed(h.Lost()); lost != (isClosed(h.Acquired()) && !errors.Is(err, coord.ErrReleased)) {
				t.Errorf("%v, lost %v, acquired %v", err, lost, isClosed(h.Acquired()))
			}
			must(t, h.Release(bg))
			close(holds)
			for part := range holds {
				if !isClosed(part.Done()) {
					t.Error("a part is left")
				}
			}
			if h.Err() != err {
				t.Errorf("%v has become %v", err, h.Err())
			}
		})
	}
}
