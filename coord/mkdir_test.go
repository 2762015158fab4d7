package coord_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// Paths are below the chroot: those given and those told; what is missing of it
// is made when it is needed.
func TestChroot(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client(w.line(), coord.Options{Chroot: "/apps/one"})
		for path, full := range map[string]string{"/": "/apps/one", "/a": "/apps/one/a"} {
			if got := c.FullPath(path); got != full {
				t.Errorf("FullPath(%q) = %q, want %q", path, got, full)
			}
		}
		if tree := w.Tree(); strings.Contains(tree, "apps") {
			t.Errorf("before it is needed there is\n%s", tree)
		}
		s := c.Watch(bg, "/a", event.Presence)
		if snap := <-s.Updates(); snap.Exists || snap.Path != "/a" {
			t.Errorf("first %+v", snap)
		}
		must(t, c.Kit().Session().MakeDir(bg, c.FullPath("/a")))
		if snap := <-s.Updates(); !snap.Exists || snap.Path != "/a" {
			t.Errorf("then %+v", snap)
		}
	})
	bubble(t, func(w *world) {
		if full := w.client(w.line(), coord.Options{Chroot: "/"}).FullPath("/x"); full != "/x" {
			t.Errorf("FullPath without a chroot = %q", full)
		}
	})
}

// R41: directories are containers where the server has them, made anew though
// they are removed all the time, and persistent where it has not.
func TestMakeDir(t *testing.T) {
	t.Run("reaped all the time", func(t *testing.T) {
		bubble(t, func(w *world) {
			l := w.line()
			c := w.client(l, coord.Options{})
			ctx, cancel := context.WithCancel(bg)
			var made int
			l.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if f.Dir == coordtest.ToServer && strings.HasPrefix(f.Op, "createContainer") && made%3 != 0 {
					w.Fake.Reap()
				}
				if f.Dir == coordtest.ToServer {
					made++
				}
				return coordtest.Pass
			})
			defer cancel()
			for i := range 100 {
				leaf := fmt.Sprintf("/a/b/c%d", i)
				for {
					must(t, c.Kit().Session().MakeDir(ctx, "/a/b"))
					if _, err := c.Conn().Create(leaf, nil, 0, zk.WorldACL(zk.PermAll)); err == nil {
						break
					} else if !errors.Is(err, zk.ErrNoNode) {
						t.Fatal(err)
					}
				}
				must(t, c.Conn().Delete(leaf, -1))
			}
			w.Fake.Reap()
			w.Fake.Reap()
			w.Fake.Reap()
			if tree := w.Tree(); strings.Contains(tree, "/a") {
				t.Errorf("what is empty is no container:\n%s", tree)
			}
		})
	})
	// The parent goes between its own creation and that of its child.
	remove := func(t *testing.T, path string, times int, f func(w *world, made func() (creates []string), err error)) {
		bubble(t, func(w *world) {
			l := w.line()
			c, other := w.client(l, coord.Options{}), w.client(w.line(), coord.Options{})
			r := harness.RecordLink(l)
			var removed int
			above := path[:strings.LastIndexByte(path, '/')]
			l.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if f.Dir == coordtest.ToServer && f.Path == path && removed < times {
					if err := other.Conn().Delete(above, -1); err == nil {
						removed++
					} else if !errors.Is(err, zk.ErrNoNode) {
						t.Error(err)
					}
				}
				r.Add(f)
				return coordtest.Pass
			})
			err := c.Kit().Session().MakeDir(bg, path)
			f(w, r.Requests, err)
			if removed == 0 {
				t.Error("nothing was removed")
			}
		})
	}
	for _, path := range []string{"/a/b", "/a/b/c", "/a/b/c/d"} {
		t.Run("removed now and then "+path, func(t *testing.T) {
			remove(t, path, 3, func(w *world, _ func() []string, err error) {
				if err != nil || !strings.Contains(w.Tree(), path) {
					t.Errorf("MakeDir = %v; tree\n%s", err, w.Tree())
				}
			})
		})
		t.Run("removed forever "+path, func(t *testing.T) {
			remove(t, path, 1<<30, func(w *world, made func() []string, err error) {
				if err == nil || !errors.Is(err, zk.ErrNoNode) || !strings.Contains(err.Error(), path+": it is removed as soon as it is made: "+zk.ErrNoNode.Error()) {
					t.Errorf("MakeDir = %v", err)
				}
				if got := made(); len(got) < 8 || len(got) > 20 {
					t.Errorf("%d requests: %q", len(got), got)
				}
			})
		})
	}
	t.Run("no containers", func(t *testing.T) {
		bubble(t, func(w *world) {
			l := w.line()
			c, err := coord.Dial(bg, []string{"server"}, &coord.Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := l.Dial(ctx, network, addr)
				return withoutContainers(conn), err
			}})
			must(t, err)
			defer c.Close()
			must(t, c.Kit().Session().MakeDir(bg, "/a/b/c"))
			must(t, c.Kit().Session().MakeDir(bg, "/a/b/c"))
			w.Fake.Reap()
			if !strings.Contains(w.Tree(), "/a/b/c") {
				t.Errorf("tree\n%s", w.Tree())
			}
		})
	})
	t.Run("refused", func(t *testing.T) {
		bubble(t, func(w *world) {
			c := w.client(w.line(), coord.Options{})
			create(t, c, "/closed", "", 0)
			_, err := c.Conn().SetACL("/closed", zk.WorldACL(zk.PermRead), -1)
			must(t, err)
			create(t, c, "/short", "", coord.Ephemeral)
			for path, want := range map[string]error{"/closed/a": zk.ErrNoAuth, "/closed/a/b": zk.ErrNoAuth, "/short/a/b": zk.ErrNoChildrenForEphemerals} {
				if err := c.Kit().Session().MakeDir(bg, path); !errors.Is(err, want) || !strings.Contains(err.Error(), path[:8]) {
					t.Errorf("MakeDir(%s) = %v, want %v", path, err, want)
				}
			}
			must(t, c.Kit().Session().MakeDir(bg, "/"))
		})
	})
}

// InDir makes what is missing, again if it is removed again, but not forever; and
// what else is wrong is returned.
func TestInDir(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		r := harness.RecordLink(l)
		s := w.client(l, coord.Options{Chroot: "/root"}).Kit().Session()
		put := func() error { _, err := s.Create(bg, "/d/e/a", nil, 0); return err }
		must(t, s.InDir(bg, "/d/e", put))
		if err := s.InDir(bg, "/d/e", put); !errors.Is(err, coord.ErrNodeExists) {
			t.Errorf("put again: %v", err)
		}
		if got := r.Requests(); !slices.Contains(got, "createContainer /root/d/e") {
			t.Errorf("the directory is no container: %q", got)
		}
		calls := 0
		err := s.InDir(bg, "/f", func() error {
			calls++
			n, err := s.Exists(bg, "/f")
			if must(t, err); n.Exists {
				must(t, s.Delete(bg, "/f", -1))
			}
			_, err = s.Create(bg, "/f/a", nil, 0)
			return err
		})
		if !errors.Is(err, coord.ErrNoNode) || !refused(err) || calls != 8 {
			t.Errorf("after %d calls: %v", calls, err)
		}
		if err := s.InDir(bg, "f", put); !errors.Is(err, coord.ErrInvalidPath) {
			t.Errorf("no path: %v", err)
		}
	})
}

// CreateAll makes what is missing, the chroot as well, and that stays when it has no
// children any more.
func TestCreateAll(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client(w.line(), coord.Options{Chroot: "/deep/root"})
		s := c.Kit().Session()
		must(t, s.CreateAll(bg, "/a/b"))
		must(t, s.CreateAll(bg, "/a/b"))
		must(t, s.Delete(bg, "/a/b", -1))
		must(t, s.Delete(bg, "/a", -1))
		for range 3 {
			w.Fake.Reap()
		}
		if n, err := s.Exists(bg, "/"); err != nil || !n.Exists || n.EphemeralOwner != 0 {
			t.Errorf("the root is %+v, %v", n, err)
		}
		if err := s.CreateAll(bg, "a"); !errors.Is(err, coord.ErrInvalidPath) {
			t.Errorf("a path that cannot be one: %v", err)
		}
	})
}
