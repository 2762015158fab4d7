package config_test

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
)

// shows checks what a Tree comes to rest on.
func (w *world) shows(s *event.Stream[config.Values[int]], want string) {
	w.Helper()
	time.Sleep(2 * time.Minute) // of the bubble: what could not be read is asked for again
	synctest.Wait()
	if k, _ := s.Latest(); sayKeys(k) != want {
		w.Errorf("shows %q, want %q", sayKeys(k), want)
	}
}

// Null data, which directories have, are no value, from the start or later, for
// Watch, Read, Modify and Tree alike. Empty data are one.
func TestNullIsNoValue(t *testing.T) {
	bubble(t, func(w *world) {
		world := zk.WorldACL(zk.PermAll)
		for _, path := range []string{"/p", "/p/n"} {
			_, err := w.op.Create(path, nil, 0, world)
			w.Must(err)
		}
		s := config.New(w.c, "/p/n", numbers).Watch(bg)
		tree := config.NewTree(w.c, "/p", numbers).Watch(bg)
		u := w.expect(s, "none missing")
		w.WantsOp(u.Err, "watch", "/p/n", config.ErrMissing)
		w.shows(tree, "")
		_, err := config.New(w.c, "/p/n", numbers).Read(bg)
		w.WantsOp(err, "read", "/p/n", config.ErrMissing)
		for want := 1; want <= 2; want++ {
			n, err := add(bg, w.c, "/p/n")
			if w.Must(err); n != want || w.Get("/p/n") != "1" && want == 1 {
				t.Errorf("returned %d and stored %s, want %d", n, w.Get("/p/n"), want)
			}
		}
		w.expect(s, "2 v2")
		w.shows(tree, "n=2")
		_, err = w.op.Set("/p/n", nil, -1)
		w.Must(err)
		w.expect(s, "2 v2 missing")
		w.shows(tree, "")
		_, err = config.New(w.c, "/p/n", numbers).Read(bg)
		w.WantsOp(err, "read", "/p/n", config.ErrMissing)
		n, err := add(bg, w.c, "/p/n")
		if w.Must(err); n != 1 || w.Get("/p/n") != "1" {
			t.Errorf("returned %d and stored %s, want 1", n, w.Get("/p/n"))
		}
		w.expect(s, "1 v4")
		w.Set("/p/n", "")
		w.expect(s, "1 v4 malformed")
		_, err = config.New(w.c, "/p/n", numbers).Read(bg)
		w.WantsOp(err, "read", "/p/n", nil, "decode")
	})
}

// What was made as a directory can be given a value, and another's in between is
// not lost.
func TestDirectoryIsGivenValue(t *testing.T) {
	bubble(t, func(w *world) {
		_, err := add(bg, w.c, "/db/port")
		w.Must(err)
		meddle := sync.OnceFunc(func() { w.Set("/db", "7") })
		n, err := config.New(w.c, "/db", numbers).Modify(bg, func(n int) (int, error) {
			if n != 0 && n != 7 {
				t.Errorf("change of %d", n)
			}
			meddle()
			return n + 1, nil
		})
		if w.Must(err); n.Value != 8 || w.Get("/db") != "8" || w.Get("/db/port") != "1" {
			t.Errorf("returned %+v, stored\n%s", n, w.Tree())
		}
	})
}

// A value at the root of a chroot, which the client has made, lives on without the
// client.
func TestValueAtChroot(t *testing.T) {
	for _, first := range []string{"/", "/a"} {
		bubble(t, func(w *world) {
			c := w.Dial(nil, &coord.Options{Chroot: "/deep/down"}).Client
			_, err := add(bg, c, first)
			w.Must(err)
			want := "2"
			if first != "/" {
				want = "1"
				w.Must(published(bg, config.NewTree(c, "/", numbers), nil, first[1:]))
			}
			_, err = add(bg, c, "/")
			w.Must(err)
			w.Must(c.Close())
			time.Sleep(time.Minute) // of the bubble
			w.reap()
			if got := w.Get("/deep/down"); got != want {
				t.Errorf("first %s: stored %s, want %s", first, got, want)
			}
		})
	}
}

// A key that could not be read for a while is good again when it can be, though its
// value is the same.
func TestKeyIsReadableAgain(t *testing.T) {
	bubble(t, func(w *world) {
		w.Create("/p", "")
		w.Create("/p/a", "1")
		tree := config.NewTree(w.c, "/p", numbers).Watch(bg)
		w.shows(tree, "a=1")
		for _, name := range []string{"b", "c"} {
			_, err := w.op.SetACL("/p/a", zk.WorldACL(zk.PermAll&^zk.PermRead), -1)
			w.Must(err)
			w.Expire(w.client) // so that it is read again
			k := "a=1(unreadable)"
			if name == "c" {
				k += " b=2"
			}
			w.shows(tree, k)
			_, err = w.op.SetACL("/p/a", zk.WorldACL(zk.PermAll), -1)
			w.Must(err)
			w.Create("/p/"+name, "2") // so that they are listed again
			w.shows(tree, strings.Replace(k, "(unreadable)", "", 1)+" "+name+"=2")
		}
		k, _ := tree.Latest()
		if u := k.Keys["a"]; u.Version != 0 || u.Mzxid == 0 || u.Err != nil {
			t.Errorf("a is %+v", u)
		}
	})
}

// A Tree neither shows nor follows what is the ensemble's and what clients keep for
// their changes, at whatever level a chroot has that: it asks nothing about it, and
// nothing more for each change than what has changed.
func TestTreeLeavesOthersAlone(t *testing.T) {
	bubble(t, func(w *world) {
		ours := func(path string) bool {
			return !strings.Contains(path+"/", "/_zkcoord/") && !strings.HasPrefix(path+"/", "/zookeeper/")
		}
		var requests []string
		w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if !ours(f.Path) {
				t.Errorf("%s of %s", f.Op, f.Path)
			}
			if f.Dir == coordtest.ToServer && f.N > 0 {
				requests = append(requests, f.Op)
			}
			return coordtest.Pass
		})
		all, app := config.NewTree(w.c, "/", numbers).Watch(bg), config.NewTree(w.c, "/app", numbers).Watch(bg)
		w.shows(all, "")
		var clients []*coord.Client
		for _, chroot := range []string{"/", "/app", "/app/deep/er"} {
			c := w.Dial(nil, &coord.Options{Chroot: chroot}).Client
			_, err := add(bg, c, "/n")
			w.Must(err)
			clients = append(clients, c)
		}
		w.Create("/app/x", "1")
		w.Create("/app/x/_zkcoord", "1")
		w.Create("/app/x/_zkcoord/y", "1")
		w.Create("/app/x/zookeeper", "1") // is the ensemble's at the top only
		w.shows(all, "app/deep/er/n=1 app/n=1 app/x=1 app/x/zookeeper=1 n=1")
		w.shows(app, "deep/er/n=1 n=1 x=1 x/zookeeper=1")
		w.Must(clients[1].Close())
		w.reap()
		w.shows(all, "app/deep/er/n=1 app/n=1 app/x=1 app/x/zookeeper=1 n=1")
		requests = nil
		for range 20 {
			_, err := add(bg, clients[0], "/n")
			w.Must(err)
			synctest.Wait()
		}
		if i := slices.IndexFunc(requests, func(op string) bool { return op != "getData" }); i >= 0 || len(requests) > 20 {
			t.Errorf("for 20 changes of one value %d requests: %q", len(requests), requests)
		}
	})
}

// Keys that were received stay as they are, with their map: what comes later, and
// the loss of the connection, make others.
func TestKeysStay(t *testing.T) {
	bubble(t, func(w *world) {
		w.Create("/p", "")
		w.Create("/p/a", "1")
		w.Create("/p/b", "2")
		tree := config.NewTree(w.c, "/p", numbers).Watch(bg)
		var all, were []config.Values[int]
		receive := func(want string) {
			w.shows(tree, want)
			k := <-tree.Updates()
			for _, old := range all {
				if reflect.ValueOf(old.Keys).Pointer() == reflect.ValueOf(k.Keys).Pointer() {
					t.Errorf("the map of %q is that of an earlier one", want)
				}
			}
			all = append(all, k)
			were = append(were, config.Values[int]{Keys: maps.Clone(k.Keys), Suspended: k.Suspended})
		}
		receive("a=1 b=2")
		heal := w.link.Cut()
		receive("a=1 b=2?")
		heal()
		receive("a=1 b=2")
		w.Set("/p/a", "no number")
		receive("a=1(bad) b=2")
		w.Delete("/p/b")
		receive("a=1(bad)")
		for i, k := range all {
			if !maps.Equal(k.Keys, were[i].Keys) {
				t.Errorf("%q has become %q", sayKeys(were[i]), sayKeys(k))
			}
		}
	})
}

// An answer has what was stored before the question: Read makes its server catch up
// first, and so does Modify when it has met with another's change.
func TestReadsCatchUp(t *testing.T) {
	bubble(t, func(w *world) {
		_, err := add(bg, w.c, "/n")
		w.Must(err)
		var requests []string
		w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Dir == coordtest.ToServer && f.N > 0 {
				requests = append(requests, f.Op)
			}
			return coordtest.Pass
		})
		asked := func(want ...string) {
			t.Helper()
			if !slices.Equal(requests, want) {
				t.Errorf("requests %q, want %q", requests, want)
			}
			requests = nil
		}
		_, err = config.New(w.c, "/n", numbers).Read(bg)
		w.Must(err)
		asked("sync", "getData")
		_, err = config.New(w.c, "/none", numbers).Read(bg)
		w.WantsOp(err, "read", "/none", config.ErrMissing)
		asked("sync", "getData")
		meddle := sync.OnceFunc(func() { w.Set("/n", "5") })
		n, err := config.New(w.c, "/n", numbers).Modify(bg, func(n int) (int, error) {
			meddle()
			return n + 1, nil
		})
		if w.Must(err); n.Value != 6 {
			t.Errorf("returned %+v", n)
		}
		asked("getData", "multi", "sync", "getData", "multi")
		mine := errors.New("not this one")
		_, err = config.New(w.c, "/n", numbers).Modify(bg, func(int) (int, error) { return 0, mine })
		w.WantsOp(err, "modify", "/n", mine) // not on the word of a server that may be behind
		asked("getData", "sync", "getData")
	})
}

// JSON null is a value: the zero T.
func TestJSONNull(t *testing.T) {
	bubble(t, func(w *world) {
		if p, err := config.JSON[*int]().Decode([]byte("null")); p != nil || err != nil {
			t.Errorf("got %v, %v", p, err)
		}
		w.Create("/n", "7")
		s := config.New(w.c, "/n", config.JSON[int]()).Watch(bg)
		w.expect(s, "7 v0")
		w.Set("/n", "null")
		w.expect(s, "0 v1")
	})
}
