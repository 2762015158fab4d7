package config_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// is checks that u is what is stored at /n.
func (w *world) is(u config.Update[int], err error) {
	w.Helper()
	w.must(err)
	_, stat, err := w.op.Get("/n")
	w.must(err)
	if fmt.Sprint(u.Value) != w.get("/n") || u.Version != stat.Version || u.Mzxid != stat.Mzxid ||
		!u.Modified.Equal(time.UnixMilli(stat.Mtime)) || u.Err != nil || u.Suspended {
		w.Errorf("got %+v, stored is %s, %+v", u, w.get("/n"), stat)
	}
}

// What has been written comes back with its version, its transaction and its time, as
// Read, Watch and the ensemble show it: created or changed, even if the answer is
// lost, in the next session, and without witnesses.
func TestWrittenIsReturned(t *testing.T) {
	locked := func(w *world) {
		_, err := w.op.SetACL("/", zk.WorldACL(zk.PermRead|zk.PermCreate), -1)
		w.must(err)
		_, err = w.op.Create("/_zkcoord", nil, 0, zk.WorldACL(zk.PermRead))
		w.must(err)
	}
	for _, x := range []struct {
		name string
		hurt func(w *world)
	}{
		{"no fault", func(*world) {}},
		{"a lost request", func(w *world) { w.lose(coordtest.ToServer) }},
		{"a lost answer", func(w *world) { w.lose(coordtest.ToClient) }},
		{"the session ends before the answer", func(w *world) {
			w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if f.Op != "multi" || f.Dir != coordtest.ToClient {
					return coordtest.Pass
				}
				w.link.OnFrame(nil)
				w.Expire(w.c.Session().ID())
				return coordtest.HangUp
			})
		}},
		{"no witnesses", locked},
	} {
		t.Run(x.name, func(t *testing.T) {
			bubble(t, func(w *world) {
				n := config.New(w.c, "/n", numbers)
				for i, write := range []func() (config.Update[int], error){
					func() (config.Update[int], error) { return n.Modify(bg, increment) },
					func() (config.Update[int], error) { return n.Modify(bg, increment) },
					func() (config.Update[int], error) { return n.Store(bg, 7) },
				} {
					time.Sleep(time.Second) // of the bubble, so that times differ
					if i == 0 || x.name != "no witnesses" {
						x.hurt(w)
					}
					u, err := write()
					w.is(u, err)
					if !u.Read.Equal(time.Now()) {
						t.Errorf("read at %v, now %v", u.Read, time.Now())
					}
					read, err := n.Read(bg)
					w.is(read, err)
					if read != u {
						t.Errorf("written %+v, read %+v", u, read)
					}
				}
				u := w.expect(n.Watch(bg), "7 v2")
				w.is(u, nil)
			})
		})
	}
}

// The default stands for the value until there has been a good one, and is what
// Modify starts from.
func TestDefault(t *testing.T) {
	bubble(t, func(w *world) {
		codec := numbers
		codec.Default = 100
		n := config.New(w.c, "/n", codec)
		u, err := n.Read(bg)
		w.wants(err, "read", "/n", config.ErrMissing)
		if u.Value != 100 || u.Err != err || u.Mzxid != 0 {
			t.Errorf("read %+v", u)
		}
		s := n.Watch(bg)
		if u := w.expect(s, "none missing"); u.Value != 100 {
			t.Errorf("watch: %+v", u)
		}
		w.create("/n", "one")
		if u := w.expect(s, "none malformed"); u.Value != 100 {
			t.Errorf("watch: %+v", u)
		}
		w.delete("/n")
		w.expect(s, "none missing")
		u, err = n.Modify(bg, increment)
		w.is(u, err)
		w.expect(s, "101 v0")
		w.delete("/n")
		w.expect(s, "101 v0 missing") // the last good one, and not the default
	})
}

// A value that the check refuses is malformed when it is read, and is never stored.
func TestCheck(t *testing.T) {
	bubble(t, func(w *world) {
		odd := errors.New("odd")
		codec := numbers.Check(func(n int) error {
			if n%2 == 1 {
				return odd
			}
			return nil
		})
		n := config.New(w.c, "/n", codec)
		_, err := n.Store(bg, 1)
		w.wants(err, "store", "/n", odd, "encode")
		_, err = n.Modify(bg, increment)
		w.wants(err, "modify", "/n", odd, "encode")
		w.wants(config.NewTree(w.c, "/", codec).Publish(bg, map[string]int{"n": 1}), "publish", "/", odd, `"n"`, "encode")
		if w.get("/n") != "nothing" {
			t.Errorf("stored %s", w.get("/n"))
		}
		u, err := n.Store(bg, 2)
		w.is(u, err)
		s := n.Watch(bg)
		w.expect(s, "2 v0")
		w.set("/n", "3")
		w.wants(w.expect(s, "2 v0 malformed").Err, "watch", "/n", odd, "decode")
		_, err = n.Read(bg)
		w.wants(err, "read", "/n", odd, "decode")
		_, err = n.Modify(bg, increment)
		w.wants(err, "modify", "/n", odd, "decode")

		// Nothing is added to a codec that has nothing.
		none := config.New(w.c, "/n", config.Codec[int]{}.Check(func(int) error { return nil }))
		_, err = none.Read(bg)
		w.wants(err, "read", "/n", nil, "no Decode")
		_, err = none.Store(bg, 1)
		w.wants(err, "store", "/n", nil, "no Encode")
	})
}

// storings are what Store must do. In each the name says what is guaranteed.
var storings = []struct {
	name string
	run  func(w *world, n *config.Value[int])
}{
	{"what is malformed, null or may not be read is replaced, and costs one look and one write", func(w *world, n *config.Value[int]) {
		u, err := n.Store(bg, 1) // the first makes a witness
		w.is(u, err)
		for i, meddle := range []func(){
			func() { w.set("/n", "one") },
			func() {
				_, err := w.op.Set("/n", nil, -1)
				w.must(err)
			},
			func() {
				_, err := w.op.SetACL("/n", zk.WorldACL(zk.PermAll&^zk.PermRead), -1)
				w.must(err)
			},
		} {
			meddle()
			var requests []string
			w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if f.Dir == coordtest.ToServer && f.N > 0 {
					requests = append(requests, f.Op)
				}
				return coordtest.Pass
			})
			u, err := n.Store(bg, 2+i)
			w.must(err)
			w.link.OnFrame(nil)
			if got := strings.Join(requests, " "); got != "exists multi" || u.Value != 2+i {
				w.Errorf("stored %+v by %s", u, got)
			}
		}
		_, err = w.op.SetACL("/n", zk.WorldACL(zk.PermAll), -1)
		w.must(err)
		w.is(n.Read(bg))
	}},
	{"what is missing is created with what is above it", func(w *world, _ *config.Value[int]) {
		u, err := config.New(w.c, "/a/b/n", numbers).Store(bg, 1)
		w.must(err)
		if u.Version != 0 || w.get("/a/b/n") != "1" {
			w.Errorf("%+v, stored\n%s", u, w.Tree())
		}
	}},
	{"of many all are stored, one after the other", func(w *world, n *config.Value[int]) {
		other, _ := w.dial(nil)
		values := []*config.Value[int]{n, config.New(other, "/n", numbers)}
		var wg sync.WaitGroup
		var mu sync.Mutex
		versions := make(map[int32]bool)
		for i := range 40 {
			wg.Go(func() {
				u, err := values[i%2].Store(bg, i)
				w.must(err)
				mu.Lock()
				defer mu.Unlock()
				versions[u.Version] = true
			})
		}
		wg.Wait()
		if u, err := n.Read(bg); err != nil || u.Version != 39 || len(versions) != 40 {
			w.Errorf("in the end %+v, %v; %d versions", u, err, len(versions))
		}
	}},
	{"what another stores after it stays, though the answer is lost (R60)", func(w *world, n *config.Value[int]) {
		u, err := n.Store(bg, 1)
		w.is(u, err)
		w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Op == "multi" && f.Dir == coordtest.ToClient {
				w.link.OnFrame(nil)
				w.set("/n", "9")
				return coordtest.HangUp
			}
			return coordtest.Pass
		})
		u, err = n.Store(bg, 2)
		w.must(err)
		if u.Value != 2 || u.Version != 1 || w.get("/n") != "9" {
			w.Errorf("returned %+v, stored %s", u, w.get("/n"))
		}
	}},
	{"what cannot be right is refused at once", func(w *world, _ *config.Value[int]) {
		w.link.Cut() // nothing is asked
		_, err := config.New(w.c, "n", numbers).Store(bg, 1)
		w.wants(err, "store", "n", coord.ErrInvalidPath)
		_, err = config.New(w.c, "/n", decoder(number)).Store(bg, 1)
		w.wants(err, "store", "/n", nil, "no Encode")
		_, err = config.New(w.c, "/n", config.Text()).Store(bg, "\xff")
		w.wants(err, "store", "/n", nil, "encode")
		_, err = config.New(w.c, "/n", config.Text()).Store(bg, strings.Repeat("x", coord.MaxData+1))
		w.wants(err, "store", "/n", nil, "encode")
		w.wants(config.New(w.c, "n/", numbers).Delete(bg), "delete", "n/", coord.ErrInvalidPath)
	}},
	{"the ensemble's refusal, the end of ctx and that of the client are returned", func(w *world, n *config.Value[int]) {
		_, err := w.op.Create("/n", []byte("1"), 0, zk.WorldACL(zk.PermRead))
		w.must(err)
		_, err = n.Store(bg, 2)
		w.wants(err, "store", "/n", zk.ErrNoAuth)
		w.link.Cut()
		w.await(w.c, coord.Suspended)
		cause := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(bg, T/10, cause)
		defer cancel()
		_, err = n.Store(ctx, 2)
		w.wants(err, "store", "/n", cause)
		w.wants(n.Delete(ctx), "delete", "/n", cause)
		w.must(w.c.Close())
		_, err = n.Store(bg, 2)
		w.wants(err, "store", "/n", coord.ErrClosed)
		w.wants(n.Delete(bg), "delete", "/n", coord.ErrClosed)
	}},
	{"what is deleted is gone, and to delete what is not there is no error, nor needs it a codec", func(w *world, n *config.Value[int]) {
		u, err := n.Store(bg, 1)
		w.is(u, err)
		none := config.New(w.c, "/n", config.Codec[int]{})
		w.must(none.Delete(bg))
		if w.get("/n") != "nothing" {
			w.Errorf("stored %s", w.get("/n"))
		}
		w.must(none.Delete(bg))
		w.must(config.New(w.c, "/no/such", numbers).Delete(bg))
		if strings.Contains(w.Tree(), "/no") {
			w.Errorf("made\n%s", w.Tree())
		}
	}},
	{"what has children is not deleted", func(w *world, n *config.Value[int]) {
		w.create("/n", "1")
		w.create("/n/below", "1")
		w.wants(n.Delete(bg), "delete", "/n", zk.ErrNotEmpty)
	}},
	{"what another creates after a delete stays, though the answer is lost (R60)", func(w *world, n *config.Value[int]) {
		u, err := n.Store(bg, 1)
		w.is(u, err)
		w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Op == "multi" && f.Dir == coordtest.ToClient {
				w.link.OnFrame(nil)
				w.create("/n", "9")
				return coordtest.HangUp
			}
			return coordtest.Pass
		})
		w.must(n.Delete(bg))
		if w.get("/n") != "9" {
			w.Errorf("stored %s", w.get("/n"))
		}
	}},
	{"a Watch that is begun after it on the same client shows nothing older", func(w *world, n *config.Value[int]) {
		for i := range 20 {
			u, err := n.Store(bg, i)
			w.is(u, err)
			ctx, stop := context.WithCancel(bg)
			if seen := <-n.Watch(ctx).Updates(); seen.Mzxid != u.Mzxid {
				w.Errorf("stored %+v, then watched %+v", u, seen)
			}
			stop()
			synctest.Wait()
		}
	}},
}

func TestStoreAndDelete(t *testing.T) {
	for _, x := range storings {
		t.Run(x.name, func(t *testing.T) {
			bubble(t, func(w *world) { x.run(w, config.New(w.c, "/n", numbers)) })
		})
	}
}
