package config_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// readings are what Tree.Read must do. In each the name says what is guaranteed.
var readings = []struct {
	name string
	run  func(w *world, tree *config.Tree[int])
}{
	{"it returns all keys as they are now, and what is wrong with each", func(w *world, tree *config.Tree[int]) {
		w.Must(w.numbers(map[string]int{"a": 1, "db/port": 2, "db/host": 3}))
		w.Set("/app/db/host", "ada")
		_, err := w.op.Create("/app/secret", []byte("7"), 0, zk.DigestACL(zk.PermAll, "some", "one"))
		w.Must(err)
		now, err := tree.Read(bg)
		w.Must(err)
		if got := sayKeys(now); got != "a=1 db/host=0(bad) db/port=2 secret=0(unreadable)" {
			w.Errorf("got %q", got)
		}
		w.WantsOp(now.Keys["db/host"].Err, "read", "/app/db/host", nil, "decode")
		w.WantsOp(now.Keys["secret"].Err, "read", "/app/secret", zk.ErrNoAuth)
		_, stat, err := w.op.Get("/app/a")
		w.Must(err)
		if u := now.Keys["a"]; u.Mzxid != stat.Mzxid || !u.Modified.Equal(time.UnixMilli(stat.Mtime)) || !u.Read.Equal(time.Now()) {
			w.Errorf("a is %+v, %+v", u, stat)
		}
	}},
	{"a path that is not there has no keys", func(w *world, tree *config.Tree[int]) {
		now, err := tree.Read(bg)
		if w.Must(err); len(now.Keys) > 0 || now.Suspended {
			w.Errorf("got %+v", now)
		}
	}},
	{"its server catches up first; what a stream follows is not read again", func(w *world, tree *config.Tree[int]) {
		w.Must(w.numbers(map[string]int{"a": 1, "b": 2}))
		var requests []string
		w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Dir == coordtest.ToServer && f.N > 0 {
				requests = append(requests, f.Op)
			}
			return coordtest.Pass
		})
		_, err := tree.Read(bg)
		w.Must(err)
		if len(requests) != 6 || requests[0] != "sync" { // and the children of three, and the data of two
			w.Errorf("requests %q", requests)
		}
		tree.Watch(bg)
		w.Set("/app/a", "3")
		time.Sleep(time.Second) // of the bubble
		w.Rest()
		requests = nil
		now, err := tree.Read(bg)
		if w.Must(err); !slices.Equal(requests, []string{"sync"}) || sayKeys(now) != "a=3 b=2" {
			w.Errorf("requests %q, got %q", requests, sayKeys(now))
		}
	}},
	{"what was stored before the call is in it, even by another client", func(w *world, tree *config.Tree[int]) {
		other := w.Dial(nil, nil).Client
		theirs := config.NewTree(other, "/app", numbers)
		tree.Watch(bg)
		for i := range 50 {
			w.Must(published(bg, theirs, map[string]int{"a": i, fmt.Sprint("k", i%3): i}, fmt.Sprint("k", (i+1)%3)))
			now, err := tree.Read(bg)
			w.Must(err)
			_, gone := now.Keys[fmt.Sprint("k", (i+1)%3)]
			if now.Keys["a"].Value != i || now.Keys[fmt.Sprint("k", i%3)].Value != i || gone {
				w.Errorf("after publication %d: %s", i, sayKeys(now))
			}
		}
	}},
	{"it waits for a connection, across sessions, as long as ctx allows (R61)", func(w *world, tree *config.Tree[int]) {
		w.Must(w.numbers(map[string]int{"a": 1}))
		heal := w.link.Stall(coordtest.Both)
		cause := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(bg, time.Second, cause)
		defer cancel()
		began := time.Now()
		_, err := tree.Read(ctx)
		w.WantsOp(err, "read", "/app", cause)
		if d := time.Since(began); d != time.Second {
			w.Errorf("after %v", d)
		}
		time.AfterFunc(2*T, heal)
		now, err := tree.Read(bg)
		if w.Must(err); sayKeys(now) != "a=1" {
			w.Errorf("got %q", sayKeys(now))
		}
		w.Must(w.c.Close())
		_, err = tree.Read(bg)
		w.WantsOp(err, "read", "/app", coord.ErrClosed)
	}},
	{"ctx ends it while what is below is read", func(w *world, tree *config.Tree[int]) {
		w.Must(w.numbers(map[string]int{"a": 1}))
		cause := errors.New("enough")
		ctx, heal := w.giveUp(cause, "getData", coordtest.ToClient)
		_, err := tree.Read(ctx)
		w.WantsOp(err, "read", "/app", cause)
		heal()
	}},
	{"what cannot be right is refused at once, and what may not be listed", func(w *world, _ *config.Tree[int]) {
		_, err := w.op.Create("/secret", nil, 0, zk.WorldACL(zk.PermAll&^zk.PermRead))
		w.Must(err)
		_, err = config.NewTree(w.c, "/secret", numbers).Read(bg)
		w.WantsOp(err, "read", "/secret", zk.ErrNoAuth)
		w.link.Cut() // nothing is asked
		_, err = config.NewTree(w.c, "app", numbers).Read(bg)
		w.WantsOp(err, "read", "app", coord.ErrInvalidPath)
		_, err = config.NewTree(w.c, "/app", config.Codec[int]{Encode: encodeNumber}).Read(bg)
		w.WantsOp(err, "read", "/app", nil, "no Decode")
	}},
	{"a decoder that panics is an error of its key, and one that ends its goroutine is one of Read", func(w *world, _ *config.Tree[int]) {
		w.Must(w.numbers(map[string]int{"a": 1}))
		now, err := config.NewTree(w.c, "/app", decoder(func([]byte) (int, error) { panic("no") })).Read(bg)
		w.Must(err)
		w.WantsOp(now.Keys["a"].Err, "read", "/app/a", nil, "panicked")
		_, err = config.NewTree(w.c, "/app", decoder(func([]byte) (int, error) { runtime.Goexit(); return 0, nil })).Read(bg)
		w.WantsOp(err, "read", "/app", nil)
	}},
}

func TestTreeRead(t *testing.T) {
	for _, x := range readings {
		t.Run(x.name, func(t *testing.T) {
			bubble(t, func(w *world) { x.run(w, config.NewTree(w.c, "/app", numbers)) })
		})
	}
}
