package config_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// storings are what Store must do. In each the name says what is guaranteed.
var storings = []struct {
	name string
	run  func(w *world, n *config.Value[int])
}{
	{"what is malformed, null or may not be read is replaced, and costs one look and one write", func(w *world, n *config.Value[int]) {
		u, err := n.Store(bg, 1) // the first makes a witness
		w.is(u, err)
		for i, meddle := range []func(){
			func() { w.Set("/n", "one") },
			func() {
				_, err := w.op.Set("/n", nil, -1)
				w.Must(err)
			},
			func() {
				_, err := w.op.SetACL("/n", zk.WorldACL(zk.PermAll&^zk.PermRead), -1)
				w.Must(err)
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
			w.Must(err)
			w.link.OnFrame(nil)
			if got := strings.Join(requests, " "); got != "exists multi" || u.Value != 2+i {
				w.Errorf("stored %+v by %s", u, got)
			}
		}
		_, err = w.op.SetACL("/n", zk.WorldACL(zk.PermAll), -1)
		w.Must(err)
		w.is(n.Read(bg))
	}},
	{"what is missing is created with what is above it", func(w *world, _ *config.Value[int]) {
		u, err := config.New(w.c, "/a/b/n", numbers).Store(bg, 1)
		w.Must(err)
		if u.Version != 0 || w.Get("/a/b/n") != "1" {
			w.Errorf("%+v, stored\n%s", u, w.Tree())
		}
	}},
	{"of many all are stored, one after the other", func(w *world, n *config.Value[int]) {
		other := w.Dial(nil, nil).Client
		values := []*config.Value[int]{n, config.New(other, "/n", numbers)}
		var wg sync.WaitGroup
		var mu sync.Mutex
		versions := make(map[int32]bool)
		for i := range 40 {
			wg.Go(func() {
				u, err := values[i%2].Store(bg, i)
				w.Must(err)
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
				w.Set("/n", "9")
				return coordtest.HangUp
			}
			return coordtest.Pass
		})
		u, err = n.Store(bg, 2)
		w.Must(err)
		if u.Value != 2 || u.Version != 1 || w.Get("/n") != "9" {
			w.Errorf("returned %+v, stored %s", u, w.Get("/n"))
		}
	}},
	{"what cannot be right is refused at once", func(w *world, _ *config.Value[int]) {
		w.link.Cut() // nothing is asked
		_, err := config.New(w.c, "n", numbers).Store(bg, 1)
		w.WantsOp(err, "store", "n", coord.ErrInvalidPath)
		_, err = config.New(w.c, "/n", decoder(number)).Store(bg, 1)
		w.WantsOp(err, "store", "/n", nil, "no Encode")
		_, err = config.New(w.c, "/n", config.Text()).Store(bg, "\xff")
		w.WantsOp(err, "store", "/n", nil, "encode")
		_, err = config.New(w.c, "/n", config.Text()).Store(bg, strings.Repeat("x", maxData+1))
		w.WantsOp(err, "store", "/n", nil, "encode")
		w.WantsOp(config.New(w.c, "n/", numbers).Delete(bg), "delete", "n/", coord.ErrInvalidPath)
	}},
	{"the ensemble's refusal, the end of ctx and that of the client are returned", func(w *world, n *config.Value[int]) {
		_, err := w.op.Create("/n", []byte("1"), 0, zk.WorldACL(zk.PermRead))
		w.Must(err)
		_, err = n.Store(bg, 2)
		w.WantsOp(err, "store", "/n", zk.ErrNoAuth)
		w.link.Cut()
		w.Await(w.c, coord.Suspended)
		cause := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(bg, T/10, cause)
		defer cancel()
		_, err = n.Store(ctx, 2)
		w.WantsOp(err, "store", "/n", cause)
		w.WantsOp(n.Delete(ctx), "delete", "/n", cause)
		w.Must(w.c.Close())
		_, err = n.Store(bg, 2)
		w.WantsOp(err, "store", "/n", coord.ErrClosed)
		w.WantsOp(n.Delete(bg), "delete", "/n", coord.ErrClosed)
	}},
	{"what is deleted is gone, and to delete what is not there is no error, nor needs it a codec", func(w *world, n *config.Value[int]) {
		u, err := n.Store(bg, 1)
		w.is(u, err)
		none := config.New(w.c, "/n", config.Codec[int]{})
		w.Must(none.Delete(bg))
		if w.Get("/n") != "nothing" {
			w.Errorf("stored %s", w.Get("/n"))
		}
		w.Must(none.Delete(bg))
		w.Must(config.New(w.c, "/no/such", numbers).Delete(bg))
		if strings.Contains(w.Tree(), "/no") {
			w.Errorf("made\n%s", w.Tree())
		}
	}},
	{"what has children is not deleted", func(w *world, n *config.Value[int]) {
		w.Create("/n", "1")
		w.Create("/n/below", "1")
		w.WantsOp(n.Delete(bg), "delete", "/n", zk.ErrNotEmpty)
	}},
	{"what another creates after a delete stays, though the answer is lost (R60)", func(w *world, n *config.Value[int]) {
		u, err := n.Store(bg, 1)
		w.is(u, err)
		w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Op == "multi" && f.Dir == coordtest.ToClient {
				w.link.OnFrame(nil)
				w.Create("/n", "9")
				return coordtest.HangUp
			}
			return coordtest.Pass
		})
		w.Must(n.Delete(bg))
		if w.Get("/n") != "9" {
			w.Errorf("stored %s", w.Get("/n"))
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
