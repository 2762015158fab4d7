package config_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// is checks that u is what is stored at /n.
func (w *world) is(u config.Update[int], err error) {
	w.Helper()
	w.Must(err)
	_, stat, err := w.op.Get("/n")
	w.Must(err)
	if fmt.Sprint(u.Value) != w.Get("/n") || u.Version != stat.Version || u.Mzxid != stat.Mzxid ||
		!u.Modified.Equal(time.UnixMilli(stat.Mtime)) || u.Err != nil || u.Suspended {
		w.Errorf("got %+v, stored is %s, %+v", u, w.Get("/n"), stat)
	}
}

// What has been written comes back with its version, its transaction and its time, as
// Read, Watch and the ensemble show it: created or changed, even if the answer is
// lost, in the next session, and without witnesses.
func TestWrittenIsReturned(t *testing.T) {
	locked := func(w *world) {
		_, err := w.op.SetACL("/", zk.WorldACL(zk.PermRead|zk.PermCreate), -1)
		w.Must(err)
		_, err = w.op.Create("/_zkcoord", nil, 0, zk.WorldACL(zk.PermRead))
		w.Must(err)
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
				w.Expire(w.client)
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
		w.WantsOp(err, "read", "/n", config.ErrMissing)
		if u.Value != 100 || u.Err != err || u.Mzxid != 0 {
			t.Errorf("read %+v", u)
		}
		s := n.Watch(bg)
		if u := w.expect(s, "none missing"); u.Value != 100 {
			t.Errorf("watch: %+v", u)
		}
		w.Create("/n", "one")
		if u := w.expect(s, "none malformed"); u.Value != 100 {
			t.Errorf("watch: %+v", u)
		}
		w.Delete("/n")
		w.expect(s, "none missing")
		u, err = n.Modify(bg, increment)
		w.is(u, err)
		w.expect(s, "101 v0")
		w.Delete("/n")
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
		w.WantsOp(err, "store", "/n", odd, "encode")
		_, err = n.Modify(bg, increment)
		w.WantsOp(err, "modify", "/n", odd, "encode")
		w.WantsOp(published(bg, config.NewTree(w.c, "/", codec), map[string]int{"n": 1}), "publish", "/", odd, `"n"`, "encode")
		if w.Get("/n") != "nothing" {
			t.Errorf("stored %s", w.Get("/n"))
		}
		u, err := n.Store(bg, 2)
		w.is(u, err)
		s := n.Watch(bg)
		w.expect(s, "2 v0")
		w.Set("/n", "3")
		w.WantsOp(w.expect(s, "2 v0 malformed").Err, "watch", "/n", odd, "decode")
		_, err = n.Read(bg)
		w.WantsOp(err, "read", "/n", odd, "decode")
		_, err = n.Modify(bg, increment)
		w.WantsOp(err, "modify", "/n", odd, "decode")

		// Nothing is added to a codec that has nothing.
		none := config.New(w.c, "/n", config.Codec[int]{}.Check(func(int) error { return nil }))
		_, err = none.Read(bg)
		w.WantsOp(err, "read", "/n", nil, "no Decode")
		_, err = none.Store(bg, 1)
		w.WantsOp(err, "store", "/n", nil, "no Encode")
	})
}
