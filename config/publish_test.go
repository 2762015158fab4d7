package config_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// numbers publishes.
func (w *world) numbers(values map[string]int, remove ...string) error {
	return published(bg, config.NewTree(w.c, "/app", numbers), values, remove...)
}

// publishings are what Publish must do. In each the name says what is guaranteed.
var publishings = []guarantee{
	{"it creates, replaces and removes, in one transaction", func(w *world) {
		w.Must(w.numbers(map[string]int{"a": 1, "db/host": 2, "db/port": 3}))
		var seen [3]*zk.Stat
		w.Must(w.numbers(map[string]int{"a": 4, "db/host": 5, "new/b": 6}, "db/port", "none", "no/such", "none"))
		for i, x := range []struct{ path, want string }{{"/app/a", "4"}, {"/app/db/host", "5"}, {"/app/new/b", "6"}} {
			if got := w.Get(x.path); got != x.want {
				w.Errorf("%s is %s, want %s", x.path, got, x.want)
			}
			_, seen[i], _ = w.op.Get(x.path)
		}
		if w.Get("/app/db/port") != "nothing" || w.Get("/app/none") != "nothing" {
			w.Errorf("not removed:\n%s", w.Tree())
		}
		if seen[0].Mzxid != seen[1].Mzxid || seen[1].Mzxid != seen[2].Mzxid {
			w.Errorf("transactions %d, %d, %d", seen[0].Mzxid, seen[1].Mzxid, seen[2].Mzxid)
		}
		for _, dir := range []string{"/app", "/app/db", "/app/new"} {
			if _, stat, err := w.op.Get(dir); err != nil || stat.EphemeralOwner != 0 || stat.Version != 0 {
				w.Errorf("%s: %+v, %v", dir, stat, err)
			}
		}
	}},
	{"it looks at what is there now, and not at what its server knew a moment ago", func(w *world) {
		w.Must(w.numbers(map[string]int{"a": 1, "b": 1}))
		var requests []string
		w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Dir == coordtest.ToServer && f.N > 0 {
				requests = append(requests, f.Op)
			}
			return coordtest.Pass
		})
		w.Must(w.numbers(map[string]int{"a": 2}, "b"))
		if want := []string{"sync", "exists", "exists", "multi"}; !slices.Equal(requests, want) {
			w.Errorf("requests %q, want %q", requests, want)
		}
	}},
	{"a key may have keys below it, made or removed at once", func(w *world) {
		w.Must(w.numbers(map[string]int{"a": 1, "a/b": 2, "a/b/c": 3}))
		if w.Get("/app/a") != "1" || w.Get("/app/a/b") != "2" || w.Get("/app/a/b/c") != "3" {
			w.Errorf("stored\n%s", w.Tree())
		}
		err := w.numbers(nil, "a/b")
		w.WantsOp(err, "publish", "/app", zk.ErrNotEmpty)
		if !strings.Contains(err.Error(), `"a/b"`) {
			w.Errorf("%v does not say which", err)
		}
		w.Must(w.numbers(map[string]int{"a": 4}, "a/b", "a/b/c"))
		if w.Get("/app/a") != "4" || w.Get("/app/a/b") != "nothing" {
			w.Errorf("stored\n%s", w.Tree())
		}
	}},
	{"what a key is below can be given a value later, and keeps it when it has nothing below", func(w *world) {
		w.Must(w.numbers(map[string]int{"db/host": 1}))
		w.Must(w.numbers(map[string]int{"db": 2}, "db/host"))
		time.Sleep(time.Hour) // of the bubble: the server removes containers meanwhile
		w.Fake.Reap()
		if w.Get("/app/db") != "2" {
			w.Errorf("stored\n%s", w.Tree())
		}
	}},
	{"nothing is done by a refused one", func(w *world) {
		w.Must(w.numbers(map[string]int{"a": 1, "z/y": 1}))
		_, err := w.op.Create("/app/m", []byte("1"), 0, zk.WorldACL(zk.PermRead))
		w.Must(err)
		w.WantsOp(w.numbers(map[string]int{"a": 2, "m": 2}), "publish", "/app", zk.ErrNoAuth)
		w.WantsOp(w.numbers(map[string]int{"a": 2}, "z"), "publish", "/app", zk.ErrNotEmpty)
		err = w.numbers(map[string]int{"a": 2, "m/n": 2})
		w.WantsOp(err, "publish", "/app", zk.ErrNoAuth)
		if !strings.Contains(err.Error(), `"m/n"`) {
			w.Errorf("%v does not say which", err)
		}
		if w.Get("/app/a") != "1" {
			w.Errorf("stored\n%s", w.Tree())
		}
	}},
	{"what others create or remove in between makes it look again", func(w *world) {
		w.Must(w.numbers(map[string]int{"a": 1, "b": 1, "c": 1}))
		for _, meddle := range []func(){
			func() { w.Delete("/app/a") },
			func() { w.Create("/app/d", "9") },
			func() { w.Delete("/app/c") },
		} {
			met := false
			w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if !met && f.Op == "multi" && f.Dir == coordtest.ToServer {
					met = true
					meddle()
				}
				return coordtest.Pass
			})
			w.Must(w.numbers(map[string]int{"a": 2, "b": 2, "d": 2}, "c"))
			for path, want := range map[string]string{"/app/a": "2", "/app/b": "2", "/app/c": "nothing", "/app/d": "2"} {
				if got := w.Get(path); got != want {
					w.Errorf("%s is %s, want %s", path, got, want)
				}
			}
			w.link.OnFrame(nil)
			w.Must(w.numbers(map[string]int{"a": 1, "b": 1, "c": 1}, "d"))
		}
	}},
	{"a lost answer or request is made good, and what others store meanwhile stays (R60)", func(w *world) {
		w.Must(w.numbers(map[string]int{"a": 0}))
		for i, x := range []struct {
			dir    coordtest.Direction
			action coordtest.Action
			want   string // the other stores after the server has got the request, or before
		}{
			{coordtest.ToServer, coordtest.HangUp, "1"},
			{coordtest.ToClient, coordtest.HangUp, "other"},
			{coordtest.ToServer, coordtest.Drop, "1"},
			{coordtest.ToClient, coordtest.Drop, "other"},
		} {
			met := false
			w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if !met && f.Op == "multi" && f.Dir == x.dir {
					met = true
					w.Set("/app/a", "other")
					return x.action
				}
				return coordtest.Pass
			})
			w.Must(w.numbers(map[string]int{"a": 1, fmt.Sprint("k", i): 1}))
			if got := w.Get("/app/a"); got != x.want {
				w.Errorf("case %d: stored %s, want %s", i, got, x.want)
			}
		}
	}},
	{"what cannot be right is refused at once", func(w *world) {
		w.link.Cut() // nothing is asked
		for _, key := range []string{"", "/a", "a/", "a//b", "..", "a/./b", "\xff", "a\x00", strings.Repeat("k", 17<<10)} {
			w.WantsOp(w.numbers(map[string]int{key: 1}), "publish", "/app", coord.ErrInvalidPath)
			w.WantsOp(w.numbers(map[string]int{"a": 1}, key), "publish", "/app", coord.ErrInvalidPath)
		}
		w.WantsOp(w.numbers(map[string]int{"a": 1, "b": 2}, "b"), "publish", "/app", nil)
		w.WantsOp(published(bg, config.NewTree(w.c, "app", numbers), map[string]int{"a": 1}), "publish", "app", coord.ErrInvalidPath)
		w.WantsOp(published(bg, config.NewTree(w.c, "/app", decoder(number)), map[string]int{"a": 1}), "publish", "/app", nil, "no Encode")
		big := strings.Repeat("x", maxData/2+1)
		w.WantsOp(published(bg, config.NewTree(w.c, "/app", config.Text()), map[string]string{"a": big, "b": big}), "publish", "/app", nil)
		many := make(map[string]string)
		for i := range 20_000 {
			many[fmt.Sprint("key-", i)] = ""
		}
		w.WantsOp(published(bg, config.NewTree(w.c, "/app", config.Text()), many), "publish", "/app", nil)
		w.WantsOp(published(bg, config.NewTree(w.c, "/app", config.Text()), map[string]string{"a": "\xff"}), "publish", "/app", nil, `"a": encode`)
		w.WantsOp(published(bg, config.NewTree(w.c, "/app", config.Codec[int]{Encode: func(int) ([]byte, error) { panic("no") }}), map[string]int{"a": 1}), "publish", "/app", nil, `"a": encode`)
	}},
	{"as much as is let pass can be stored", func(w *world) {
		big := strings.Repeat("x", maxData)
		w.Must(published(bg, config.NewTree(w.c, "/app", config.Text()), map[string]string{"a": big}))
		many := make(map[string]string)
		for i := range 9_000 {
			many[fmt.Sprint("key-", i)] = ""
		}
		w.Must(published(bg, config.NewTree(w.c, "/app", config.Text()), many))
		names, _, err := w.op.Children("/app")
		w.Must(err)
		if w.Get("/app/a") != big || len(names) != 9_001 {
			w.Errorf("%d stored", len(names))
		}
		// What is not there needs more room than what is to be deleted.
		var keys []string
		for i := range 60 {
			keys = append(keys, fmt.Sprint(i, strings.Repeat("x", 10<<10)))
		}
		if err := w.numbers(nil, keys...); !w.c.Kit().Session().Refused(err) {
			w.Errorf("to find %d keys absent: %v", len(keys), err)
		}
		w.Must(w.numbers(nil, keys[:40]...))
	}},
	{"nothing to do is no error", func(w *world) {
		w.Must(w.numbers(nil))
		w.Must(w.numbers(nil, "a", "b/c"))
		if tree := w.Tree(); strings.Contains(tree, "app") {
			w.Errorf("made\n%s", tree)
		}
	}},
	{"below the root", func(w *world) {
		w.Must(published(bg, config.NewTree(w.c, "/", numbers), map[string]int{"a": 1, "b/c": 2}))
		if w.Get("/a") != "1" || w.Get("/b/c") != "2" {
			w.Errorf("stored\n%s", w.Tree())
		}
	}},
	{"of many publications at once none is mixed with another", func(w *world) {
		var clients []*coord.Client
		for range 4 {
			c := w.Dial(nil, nil).Client
			clients = append(clients, c)
		}
		var wg sync.WaitGroup
		for i, c := range clients {
			wg.Go(func() {
				for j := range 20 {
					n := 100*i + j
					values := map[string]int{"a": n, "b/c": n, "d": n}
					if j%3 == 0 {
						delete(values, "d")
						w.Must(published(bg, config.NewTree(c, "/app", numbers), values, "d"))
						continue
					}
					w.Must(published(bg, config.NewTree(c, "/app", numbers), values))
				}
			})
		}
		wg.Wait()
		if a, b, d := w.Get("/app/a"), w.Get("/app/b/c"), w.Get("/app/d"); a != b || d != a && d != "nothing" {
			w.Errorf("stored %s, %s and %s", a, b, d)
		}
	}},
	{"it ends with ctx at once while cut off (R61), with the client, and goes on in the next session", func(w *world) {
		heal := w.link.Stall(coordtest.Both)
		w.Await(w.c, coord.Suspended)
		cause := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(bg, T/10, cause)
		defer cancel()
		began := time.Now()
		err := published(ctx, config.NewTree(w.c, "/app", numbers), map[string]int{"a": 1})
		w.WantsOp(err, "publish", "/app", cause)
		if errors.Is(err, coord.ErrUnknown) || time.Since(began) != T/10 {
			w.Errorf("%v after %v", err, time.Since(began))
		}
		time.AfterFunc(2*T, heal)
		w.Must(w.numbers(map[string]int{"a": 1}))
		w.Must(w.c.Close())
		w.WantsOp(w.numbers(map[string]int{"a": 1}), "publish", "/app", coord.ErrClosed)
	}},
}

func TestPublish(t *testing.T) { run(t, publishings) }
