package config_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
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

// A guarantee is a test in a bubble. Its name says what is guaranteed.
type guarantee struct {
	name string
	run  func(w *world)
}

func run(t *testing.T, all []guarantee) {
	for _, x := range all {
		t.Run(x.name, func(t *testing.T) { bubble(t, x.run) })
	}
}

// modifyings are what Modify must do. In each the name says what is guaranteed.
var modifyings = []guarantee{
	{"it creates what is missing, and what is missing above it, to stay", func(w *world) {
		n, err := add(bg, w.c, "/a/b/n")
		w.Must(err)
		if n != 1 || w.Get("/a/b/n") != "1" {
			w.Errorf("returned %d and stored %s", n, w.Get("/a/b/n"))
		}
		for _, path := range []string{"/a", "/a/b", "/a/b/n"} {
			if _, stat, err := w.op.Get(path); err != nil || stat.EphemeralOwner != 0 {
				w.Errorf("%s: %+v, %v", path, stat, err)
			}
		}
		n, err = add(bg, w.c, "/a/b/n")
		w.Must(err)
		if n != 2 || w.Get("/a/b/n") != "2" {
			w.Errorf("returned %d and stored %s", n, w.Get("/a/b/n"))
		}
	}},
	{"all is below the chroot, which is made", func(w *world) {
		c := w.Dial(nil, &coord.Options{Chroot: "/deep/down"}).Client
		_, err := add(bg, c, "/a/n")
		w.Must(err)
		_, err = config.New(c, "/", config.Text()).Modify(bg, func(s string) (string, error) { return s + "1", nil })
		w.Must(err)
		if w.Get("/deep/down/a/n") != "1" || w.Get("/deep/down") != "1" || w.Get("/_zkcoord") != "nothing" {
			w.Errorf("stored\n%s", w.Tree())
		}
	}},
	{"a change costs one read and one write", func(w *world) {
		for range 2 {
			_, err := add(bg, w.c, "/n")
			w.Must(err)
		}
		var requests []string
		w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Dir == coordtest.ToServer && f.N > 0 {
				requests = append(requests, f.Op)
			}
			return coordtest.Pass
		})
		_, err := add(bg, w.c, "/n")
		w.Must(err)
		w.link.OnFrame(nil)
		if want := []string{"getData", "multi"}; !slices.Equal(requests, want) {
			w.Errorf("requests %q, want %q", requests, want)
		}
	}},
	{"it leaves no more znodes than changes are made at a time, and none when the client is closed", func(w *world) {
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				_, err := add(bg, w.c, "/n")
				w.Must(err)
			})
		}
		wg.Wait()
		names, _, err := w.op.Children("/_zkcoord")
		w.Must(err)
		if len(names) == 0 || len(names) > 8 || w.Get("/n") != "50" {
			w.Errorf("%d witnesses, %s stored", len(names), w.Get("/n"))
		}
		w.Must(w.c.Close())
		w.reap()
		if tree := w.Tree(); strings.Contains(tree, "_zkcoord") {
			w.Errorf("left\n%s", tree)
		}
	}},
	{"a write of another client in between is not lost, and the change is made of it", func(w *world) {
		w.Create("/n", "1")
		saw := []int{}
		n, err := config.New(w.c, "/n", numbers).Modify(bg, func(n int) (int, error) {
			saw = append(saw, n)
			if len(saw) <= 3 {
				w.Set("/n", fmt.Sprint(100*len(saw)))
			}
			return n + 1, nil
		})
		w.Must(err)
		if n.Value != 301 || w.Get("/n") != "301" || !slices.Equal(saw, []int{1, 100, 200, 300}) {
			w.Errorf("returned %+v and stored %s after %v", n, w.Get("/n"), saw)
		}
	}},
	{"so is a delete, a create, and both", func(w *world) {
		for _, x := range []struct {
			name, before, after string
			meddle              func()
		}{
			{"create", "", "6", func() { w.Create("/n", "5") }},
			{"delete", "1", "1", func() { w.Delete("/n") }},
			{"delete and create", "1", "6", func() { w.Delete("/n"); w.Create("/n", "4"); w.Set("/n", "5") }},
		} {
			if x.before != "" {
				w.Create("/n", x.before)
			}
			once := sync.OnceFunc(x.meddle)
			_, err := config.New(w.c, "/n", numbers).Modify(bg, func(n int) (int, error) {
				once()
				return n + 1, nil
			})
			w.Must(err)
			if got := w.Get("/n"); got != x.after {
				w.Errorf("%s: stored %s, want %s", x.name, got, x.after)
			}
			w.Delete("/n")
		}
	}},
	{"an error of change is returned, and nothing is written", func(w *world) {
		w.Create("/n", "1")
		mine := errors.New("too much")
		_, err := config.New(w.c, "/n", numbers).Modify(bg, func(int) (int, error) { return 9, mine })
		w.WantsOp(err, "modify", "/n", mine)
		_, err = config.New(w.c, "/m", numbers).Modify(bg, func(int) (int, error) { return 9, mine })
		w.WantsOp(err, "modify", "/m", mine)
		if w.Get("/n") != "1" || w.Get("/m") != "nothing" {
			w.Errorf("stored\n%s", w.Tree())
		}
	}},
	{"what is malformed is not replaced", func(w *world) {
		for _, bad := range []string{"one", "panic"} {
			w.Create("/n", bad)
			_, err := add(bg, w.c, "/n")
			w.WantsOp(err, "modify", "/n", nil, "decode")
			if w.Get("/n") != bad {
				w.Errorf("stored %s", w.Get("/n"))
			}
			w.Delete("/n")
		}
	}},
	{"an encoder that fails, panics or says too much stores nothing", func(w *world) {
		mine := errors.New("no words")
		for _, x := range []struct {
			encode func(int) ([]byte, error)
			target error
		}{
			{func(int) ([]byte, error) { return nil, mine }, mine},
			{func(int) ([]byte, error) { panic("no words") }, nil},
			{func(int) ([]byte, error) { return make([]byte, maxData+1), nil }, nil},
		} {
			_, err := config.New(w.c, "/n", config.Codec[int]{Decode: number, Encode: x.encode}).Modify(bg, increment)
			w.WantsOp(err, "modify", "/n", x.target, "encode")
		}
		if w.Get("/n") != "nothing" {
			w.Errorf("stored\n%s", w.Tree())
		}
	}},
	{"the most that can be stored is stored", func(w *world) {
		big := strings.Repeat("x", maxData)
		for range 2 {
			got, err := config.New(w.c, "/n", config.Text()).Modify(bg, func(string) (string, error) { return big, nil })
			w.Must(err)
			if got.Value != big || w.Get("/n") != big {
				w.Error("stored something else")
			}
		}
	}},
	{"no bytes are stored as such, and not as null", func(w *world) {
		var replies [][]byte
		c := w.DialThrough(func(conn net.Conn) net.Conn { return spy{conn, &replies} }, nil, nil).Client
		_, err := config.New(c, "/n", config.Codec[string]{
			Decode: config.Text().Decode,
			Encode: func(string) ([]byte, error) { return nil, nil },
		}).Modify(bg, func(s string) (string, error) { return s, nil })
		w.Must(err)
		u, err := config.New(c, "/n", config.Text()).Read(bg)
		w.Must(err)
		last := replies[len(replies)-1]
		if u.Value != "" || !bytes.Equal(last[20:24], []byte{0, 0, 0, 0}) { // behind length, xid, zxid and error
			w.Errorf("read %q; answer % x", u.Value, last)
		}
	}},
	{"a panic of change passes through, and does no harm", func(w *world) {
		w.Create("/n", "1")
		func() {
			defer func() {
				if p := recover(); p != "mine" {
					w.Errorf("recovered %v", p)
				}
			}()
			_, _ = config.New(w.c, "/n", numbers).Modify(bg, func(int) (int, error) { panic("mine") })
		}()
		n, err := add(bg, w.c, "/n")
		w.Must(err)
		if n != 2 {
			w.Errorf("returned %d", n)
		}
	}},
	{"what cannot be right is refused at once", func(w *world) {
		w.link.Cut() // nothing is asked
		_, err := add(bg, w.c, "n")
		w.WantsOp(err, "modify", "n", coord.ErrInvalidPath)
		_, err = config.New(w.c, "/n", config.Codec[int]{Encode: encodeNumber}).Modify(bg, increment)
		w.WantsOp(err, "modify", "/n", nil)
		_, err = config.New(w.c, "/n", config.Codec[int]{Decode: number}).Modify(bg, increment)
		w.WantsOp(err, "modify", "/n", nil)
		_, err = config.New(w.c, "/n", numbers).Modify(bg, nil)
		w.WantsOp(err, "modify", "/n", nil)
	}},
	{"the ensemble's refusal is returned", func(w *world) {
		_, err := w.op.Create("/n", []byte("1"), 0, zk.WorldACL(zk.PermRead))
		w.Must(err)
		_, err = add(bg, w.c, "/n")
		w.WantsOp(err, "modify", "/n", zk.ErrNoAuth)
		_, err = add(bg, w.c, "/n/below")
		w.WantsOp(err, "modify", "/n/below", zk.ErrNoAuth)
		_, err = w.op.Create("/e", []byte("1"), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		w.Must(err)
		_, err = add(bg, w.c, "/e/n")
		w.WantsOp(err, "modify", "/e/n", zk.ErrNoChildrenForEphemerals)
	}},
	{"it ends with ctx at once while cut off, and that is no doubt (R61, R71)", func(w *world) {
		w.Create("/n", "1")
		heal := w.link.Stall(coordtest.Both)
		w.Await(w.c, coord.Suspended)
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(bg)
		time.AfterFunc(T/10, func() { cancel(cause) })
		began := time.Now()
		_, err := add(ctx, w.c, "/n")
		w.WantsOp(err, "modify", "/n", cause)
		if errors.Is(err, coord.ErrUnknown) || time.Since(began) != T/10 {
			w.Errorf("%v after %v", err, time.Since(began))
		}
		_, err = add(ctx, w.c, "/n")
		w.WantsOp(err, "modify", "/n", cause)
		heal()
		n, err := add(bg, w.c, "/n")
		w.Must(err)
		if n != 2 {
			w.Errorf("returned %d", n)
		}
	}},
}

// A spy keeps what is read.
type spy struct {
	net.Conn
	all *[][]byte
}

func (s spy) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	if n > 0 {
		*s.all = append(*s.all, bytes.Clone(b[:n]))
	}
	return n, err
}

func TestModify(t *testing.T) {
	run(t, modifyings)
	run(t, modifyingsLost)
}
