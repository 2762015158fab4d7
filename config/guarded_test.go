package config_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock"
)

// changers are all that change something, with conditions. Each changes what "a" is below
// /app, or finds that there is nothing to change.
var changers = []struct {
	name   string
	change func(c *coord.Client, when ...coord.Op) error
}{
	{"Store", func(c *coord.Client, when ...coord.Op) error {
		_, err := config.New(c, "/app/a", numbers).Store(bg, 2, when...)
		return err
	}},
	{"Store of what is missing", func(c *coord.Client, when ...coord.Op) error {
		_, err := config.New(c, "/app/new/b", numbers).Store(bg, 2, when...)
		return err
	}},
	{"Modify", func(c *coord.Client, when ...coord.Op) error {
		_, err := config.New(c, "/app/a", numbers).Modify(bg, func(n int) (int, error) { return n + 1, nil }, when...)
		return err
	}},
	{"Delete", func(c *coord.Client, when ...coord.Op) error {
		return config.New(c, "/app/a", numbers).Delete(bg, when...)
	}},
	{"Delete of what is missing", func(c *coord.Client, when ...coord.Op) error {
		return config.New(c, "/app/none", numbers).Delete(bg, when...)
	}},
	{"Publish", func(c *coord.Client, when ...coord.Op) error {
		_, err := config.NewTree(c, "/app", numbers).Publish(bg, map[string]int{"a": 2, "new/b": 3}, []string{"c"}, when...)
		return err
	}},
	{"Publish of nothing", func(c *coord.Client, when ...coord.Op) error {
		_, err := config.NewTree(c, "/app", numbers).Publish(bg, nil, nil, when...)
		return err
	}},
	{"Publish that removes what is missing", func(c *coord.Client, when ...coord.Op) error {
		_, err := config.NewTree(c, "/app", numbers).Publish(bg, nil, []string{"x", "y/z"}, when...)
		return err
	}},
}

// A change with conditions is made while they hold, and not at all when one does not, even
// if there is nothing to change. So a former leader changes nothing, however late its
// request arrives. The condition that fails is the error.
func TestOnlyTheLeaderChanges(t *testing.T) {
	for _, x := range changers {
		t.Run(x.name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.Must(w.numbers(map[string]int{"a": 1}))
				leader := lock.New(w.c, "/leader")
				h := leader.Acquire(bg)
				w.Must(h.Wait())
				w.Must(x.change(w.c, h.Guard(), coord.OpCheck("/app", 0)))
				w.Must(h.Release(bg))

				w.Must(w.numbers(map[string]int{"a": 1}, "new/b"))
				next := leader.Acquire(bg)
				w.Must(next.Wait())
				before := w.Tree()
				var e *coord.Error
				if err := x.change(w.c, h.Guard()); !errors.Is(err, coord.ErrNotHeld) || !errors.As(err, &e) {
					w.Errorf("by a former leader: %v", err)
				}
				if err := x.change(w.c, next.Guard(), coord.OpCheck("/app", 7)); !errors.Is(err, coord.ErrBadVersion) {
					w.Errorf("with another version: %v", err)
				}
				if err := x.change(w.c, coord.OpSet("/app", nil, -1)); err == nil {
					w.Error("took what is no condition")
				}
				if err := x.change(w.c, coord.Op{}); err == nil {
					w.Error("took an Op that nobody made")
				}
				if now := w.Tree(); now != before {
					w.Errorf("changed\n%s\nto\n%s", before, now)
				}
				w.Must(x.change(w.c, next.Guard()))
				w.Must(next.Release(bg))
			})
		})
	}
}

// A change with conditions is carried out once, although its answer is lost; and it is not
// made again when the hold of its guard is over by then.
func TestGuardedChangeWithLostAnswer(t *testing.T) {
	for _, x := range changers {
		t.Run(x.name, func(t *testing.T) {
			for _, lose := range []coordtest.Direction{coordtest.ToServer, coordtest.ToClient} {
				bubble(t, func(w *world) {
					w.Must(w.numbers(map[string]int{"a": 1}))
					h := lock.New(w.c, "/leader").Acquire(bg)
					w.Must(h.Wait())
					lost := 0
					w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
						if (f.Op == "multi" || f.Op == "check") && f.Dir == lose && lost == 0 {
							lost++
							return coordtest.HangUp
						}
						return coordtest.Pass
					})
					w.Must(x.change(w.c, h.Guard()))
					w.link.OnFrame(nil)
					if lost == 0 {
						w.Error("nothing was lost")
					}
					if got := w.Get("/app/a"); x.name == "Modify" && got != "2" {
						w.Errorf("a is %s", got)
					}
					w.Must(h.Release(bg))
				})
			}
		})
	}
}

// Publish returns what it has stored with the versions, also if the answer was lost, by
// which the next change can depend on it.
func TestPublishReturnsVersions(t *testing.T) {
	for _, lose := range []bool{false, true} {
		bubble(t, func(w *world) {
			tree := config.NewTree(w.c, "/app", numbers)
			w.Must(w.numbers(map[string]int{"old": 1}))
			w.Must(w.numbers(map[string]int{"old": 2}))
			lost := !lose
			w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if f.Op == "multi" && f.Dir == coordtest.ToClient && !lost {
					lost = true
					return coordtest.HangUp
				}
				return coordtest.Pass
			})
			now, err := tree.Publish(bg, map[string]int{"old": 3, "new/a": 4}, []string{"none"})
			w.link.OnFrame(nil)
			if w.Must(err); !lost || len(now) != 2 {
				w.Fatalf("lost %t, and returned %v", lost, now)
			}
			all, err := tree.Read(bg)
			w.Must(err)
			for key, u := range all.Keys {
				got := now[key]
				if got.Value != u.Value || got.Version != u.Version || got.Mzxid != u.Mzxid || !got.Modified.Equal(u.Modified) || got.Err != nil {
					w.Errorf("%s: returned %+v, stored %+v", key, got, u)
				}
			}
			versions := []int32{now["old"].Version, now["new/a"].Version}
			if !slices.Equal(versions, []int32{2, 0}) {
				w.Errorf("versions %v", versions)
			}
			if _, err := tree.Publish(bg, map[string]int{"new/a": 5}, nil, coord.OpCheck("/app/old", now["old"].Version)); err != nil {
				w.Errorf("with the version that was returned: %v", err)
			}
			if none, err := tree.Publish(bg, nil, []string{"old"}); err != nil || len(none) > 0 {
				w.Errorf("removed: %v, %v", none, err)
			}
		})
	}
}

// A real server answers changes with conditions as the one in the process does.
func TestOnlyTheLeaderChangesOnServer(t *testing.T) {
	w := harness.On(t, ensemble.Shared(t))
	for i, x := range changers {
		c := w.Dial(nil, &coord.Options{Chroot: fmt.Sprint(w.Dir, "/", i)}).Client
		w.Must(published(bg, config.NewTree(c, "/app", numbers), map[string]int{"a": 1}))
		h := lock.New(c, "/leader").Acquire(bg)
		w.Must(h.Wait())
		w.Must(x.change(c, h.Guard()))
		w.Must(h.Release(bg))
		if err := x.change(c, h.Guard()); !errors.Is(err, coord.ErrNotHeld) {
			w.Errorf("%s by a former leader: %v", x.name, err)
		}
	}
}
