package members_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/members"
)

// Invalid input is refused at once, wherever it is given, and without a request.
func TestBadInput(t *testing.T) {
	bubble(t, func(w *place) {
		c := w.client(term)
		defer w.Fake.Stall(c, coordtest.Both)() // so nothing is answered
		huge := make([]byte, 992<<10+1)
		bad := []struct {
			dir, id string
			data    []byte
		}{
			{dir: dir, id: ""}, {dir: dir, id: "a/b"}, {dir: dir, id: "/"}, {dir: dir, id: "."}, {dir: dir, id: ".."},
			{dir: dir, id: "a\x00b"}, {dir: dir, id: "a\nb"}, {dir: dir, id: "\xff"}, {dir: dir, id: "\ufffe"},
			{dir: dir, id: strings.Repeat("x", 20000)}, {dir: "/" + strings.Repeat("x", 20000), id: "a"},
			{dir: "", id: "a"}, {dir: "group", id: "a"}, {dir: "/group/", id: "a"}, {dir: "/a//b", id: "a"}, {dir: "/a/../b", id: "a"},
			{dir: dir, id: "a", data: huge},
		}
		for _, x := range bad {
			g := members.New(c, x.dir)
			me := members.Member{ID: x.id, Data: x.data}
			path := x.dir + "/" + x.id
			refused := func(what string, err error) {
				w.Helper()
				var e *coord.Error
				if !errors.As(err, &e) || e.Path != path || x.data == nil && !errors.Is(err, coord.ErrInvalidPath) {
					w.Errorf("%s %.40q: %.200v", what, path, err)
				}
			}
			h := g.Join(bg, me)
			w.Wait("end", h.Done())
			refused("join", h.Err())
			m := g.Keep(bg, me)
			w.Wait("end", m.Done())
			refused("keep", m.Err())
			w.Must(m.Leave(bg))
			if x.data != nil {
				continue
			}
			_, _, err := g.Find(bg, x.id)
			refused("find", err)
			_, err = g.Await(bg, x.id)
			refused("await", err)
			refused("follow", g.Follow(bg, x.id).Err())
			if x.dir != dir {
				path = x.dir
				refused("watch", g.Watch(bg).Err())
				_, err = g.AwaitN(bg, 1)
				refused("await n", err)
			}
		}
		if w.Tree() != "" {
			w.Errorf("there is\n%s", w.Tree())
		}
	})
	bubble(t, func(w *place) { // and what is just possible works
		c := w.client(term)
		m := w.keep(c, "größe ☃ 1", string(make([]byte, 992<<10)))
		huge := make([]byte, 992<<10+1)
		if err := m.SetData(bg, huge); err == nil {
			w.Error("oversized data taken")
		} else {
			w.WantsOp(err, "setdata", dir+"/größe ☃ 1", errors.Unwrap(err))
		}
		w.Must(m.SetData(bg, huge[1:]))
		w.Must(m.Leave(bg))
		h := w.join(c, "größe ☃ 1", string(huge[1:]))
		w.Must(w.passes(h))
		w.Must(h.Release(bg))
	})
}

// A chroot is the caller's root: paths in errors are the caller's. A group may be the
// root itself.
func TestChroot(t *testing.T) {
	for _, root := range []string{"/", "/deep", "/deep/down"} {
		for _, group := range []string{"/", "/g", "/g/h"} {
			t.Run(fmt.Sprint(root, " ", group), func(t *testing.T) {
				bubble(t, func(w *place) {
					c := w.Dial(nil, &coord.Options{Chroot: root}).Client
					g := members.New(c, group)
					m := g.Keep(bg, members.Member{ID: "self", Data: []byte("1")})
					w.in(m)
					if who, ok, err := g.Find(bg, "self"); !ok || err != nil || string(who.Data) != "1" {
						w.Errorf("found %v, %v, %v", who, ok, err)
					}
					v, err := g.AwaitN(bg, 1)
					if w.Must(err); say(v) != "self=1" {
						w.Errorf("sees %q", say(v))
					}
					path := strings.ReplaceAll(group+"/self", "//", "/")
					h := g.Join(bg, members.Member{ID: "self"})
					w.WantsOp(h.Wait(), "join", path, members.ErrTaken)
					if ok, _, err := w.Op().Exists(strings.ReplaceAll(root+path, "//", "/")); !ok || err != nil {
						w.Errorf("not there: %v\n%s", err, w.Tree())
					}
					w.Must(m.Leave(bg))
					h = g.Join(bg, members.Member{ID: "self"})
					w.Must(h.Wait())
					if group == "/" { // what is beside it is not below the chroot
						w.refuses(h)
					} else if w.Must(w.passes(h)); !strings.HasPrefix(harness.Guard(h).Path, strings.ReplaceAll(root+group+"-guard/self/", "//", "/")) {
						w.Errorf("the guard checks %s", harness.Guard(h).Path)
					}
					w.Must(h.Release(bg))
				})
			})
		}
	}
}

// The directory may be missing, and vanish while it is not used or between two
// requests: it is made again. Streams go on. (R32.)
func TestDirectoryComesAndGoes(t *testing.T) {
	bubble(t, func(w *place) {
		c := w.client(term)
		r := w.watch(w.client(long), nil)
		w.sees(r, "")
		for i := range 3 {
			h := w.join(c, "self", fmt.Sprint(i))
			w.Fake.Reap()
			w.sees(r, fmt.Sprint("self=", i))
			w.Must(h.Release(bg))
			w.sees(r, "")
			w.Fake.Reap()
			w.Fake.Reap() // what was above that, and is empty now
			synctest.Wait()
			if strings.Contains(w.Tree(), dir) {
				w.Fatalf("not reaped\n%s", w.Tree())
			}
			w.sees(r, "")
		}
		// It is reaped right before each of the first creations.
		reaped := 0
		w.Fake.LinkOf(c).OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Dir == coordtest.ToServer && f.Op == "multi" && reaped < 6 {
				reaped++
				_ = w.Op().Delete([]string{dir, dir + "-guard/self"}[reaped%2], -1)
			}
			return coordtest.Pass
		})
		h := w.join(c, "self", "last")
		w.Fake.LinkOf(c).OnFrame(nil)
		w.sees(r, "self=last")
		w.Must(w.passes(h))
		w.Must(h.Release(bg))
		if reaped < 6 {
			w.Errorf("reaped only %d times", reaped)
		}
	})
}
