package watch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// first returns the first value of s that is not suspended.
func (w *world) first(s *event.Stream[event.Snapshot]) event.Snapshot {
	w.Helper()
	for end := time.After(time.Minute); ; {
		select {
		case snap := <-s.Updates():
			if !snap.Suspended {
				return snap
			}
		case <-end:
			w.Fatalf("no value: %v", s.Err())
		}
	}
}

// A stream on what the same client has written and seen answered gets nothing older,
// however many others watch it already and however the connection fails in between.
func TestFirstValueIsFresh(t *testing.T) {
	for _, others := range []int{0, 1, 3} {
		for _, failure := range []string{"none", "reset", "expiry"} {
			t.Run(fmt.Sprintf("%d others, %s", others, failure), func(t *testing.T) {
				bubble(t, func(w *world) {
					w.Create("/a", "0")
					for range others {
						w.c.Watch(bg, "/a", event.Data)
						w.c.Kit().WatchUntilDeleted(bg, "/a")
					}
					for i := 1; i <= harness.Times(90, 300); i++ {
						switch {
						case failure == "reset" && i%3 == 0:
							go w.line.Reset()
						case failure == "expiry" && i%10 == 0:
							go w.Expire(w.client)
						}
						var stat coord.Stat
						w.Must(w.c.Kit().Retry(bg, func(s *coord.Session) (err error) {
							stat, err = s.Set(bg, "/a", fmt.Append(nil, i), -1)
							return err
						}))
						ctx, cancel := context.WithCancel(bg)
						for name, s := range map[string]*event.Stream[event.Snapshot]{
							"watch": w.c.Watch(ctx, "/a", event.Data), "follow": w.c.Kit().WatchUntilDeleted(ctx, "/a"),
						} {
							if snap := w.first(s); snap.Mzxid < stat.Mzxid {
								w.Fatalf("round %d: %s begins with %q of %#x, and %#x has been answered", i, name, snap.Data, snap.Mzxid, stat.Mzxid)
							}
						}
						cancel()
						if i%7 == 0 {
							synctest.Wait()
						}
					}
				})
			})
		}
	}
}

// The same of a name that is used again and again, of which WatchUntilDeleted says
// nothing once it is gone: a subscriber that comes after its creation was answered finds
// it there; one that comes after its deletion does not.
func TestNameUsedAgain(t *testing.T) {
	for _, others := range []int{0, 1, 3} {
		for _, failure := range []string{"none", "reset"} {
			t.Run(fmt.Sprintf("%d others, %s", others, failure), func(t *testing.T) {
				bubble(t, func(w *world) {
					for i := range harness.Times(90, 300) {
						if failure == "reset" && i%3 == 0 {
							go w.line.Reset()
						}
						err := w.c.Kit().Retry(bg, func(s *coord.Session) error {
							_, err := s.Create(bg, "/a", nil, coord.Persistent)
							return err
						})
						if !errors.Is(err, coord.ErrNodeExists) { // by a try whose answer was lost
							w.Must(err)
						}
						ctx, cancel := context.WithCancel(bg)
						s := w.c.Kit().WatchUntilDeleted(ctx, "/a")
						for range others {
							w.c.Kit().WatchUntilDeleted(ctx, "/a")
						}
						if snap := w.first(s); !snap.Exists {
							w.Fatalf("round %d: created, and is not there", i)
						}
						err = w.c.Kit().Retry(bg, func(s *coord.Session) error { return s.Delete(bg, "/a", -1) })
						if !errors.Is(err, coord.ErrNoNode) {
							w.Must(err)
						}
						if snap := w.first(w.c.Kit().WatchUntilDeleted(ctx, "/a")); snap.Exists {
							w.Fatalf("round %d: deleted, and is there", i)
						}
						if i%2 == 0 {
							for snap := w.first(s); snap.Exists; snap = w.first(s) {
							}
						}
						cancel()
					}
					synctest.Wait()
					if n := w.Watches(); n > 0 {
						w.Errorf("%d watches are left", n)
					}
				})
			})
		}
	}
}

// A later session begins with a Sync, before anything is read in it, so that nothing
// goes back; and only one: the reads after the first that is answered need none. The
// first session needs none at all.
func TestLaterSessionsCatchUp(t *testing.T) {
	bubble(t, func(w *world) {
		for i := range 20 {
			w.c.Watch(bg, fmt.Sprint("/a", i), event.Data)
		}
		if got := w.asked(); slices.ContainsFunc(got, func(op string) bool { return strings.HasPrefix(op, "sync") }) {
			w.Errorf("the first session asked %q", got)
		}
		for range 3 {
			w.Flap(w.c, func() { w.Expire(w.client) })
			synced := false
			syncs := 0
			for _, op := range w.asked() {
				op, path, _ := strings.Cut(op, " ")
				switch {
				case op == "sync":
					synced = true
					syncs++
				case !synced && strings.HasPrefix(path, "/a"):
					w.Fatalf("%s %s before a sync", op, path)
				}
			}
			if syncs == 0 || syncs > 8 { // as many as reads begin at a time
				w.Errorf("%d syncs", syncs)
			}
			w.Flap(w.c, w.line.Reset)
			if got := w.asked(); slices.ContainsFunc(got, func(op string) bool { return strings.HasPrefix(op, "sync") }) {
				w.Errorf("the same session asked %q", got)
			}
		}
	})
}
