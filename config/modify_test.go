package config_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
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
)

// modifyings are what Modify must do. In each the name says what is guaranteed.
var modifyings = []struct {
	name string
	run  func(w *world)
}{
	{"it creates what is missing, and what is missing above it, to stay", func(w *world) {
		n, err := add(bg, w.c, "/a/b/n")
		w.must(err)
		if n != 1 || w.get("/a/b/n") != "1" {
			w.Errorf("returned %d and stored %s", n, w.get("/a/b/n"))
		}
		for _, path := range []string{"/a", "/a/b", "/a/b/n"} {
			if _, stat, err := w.op.Get(path); err != nil || stat.EphemeralOwner != 0 {
				w.Errorf("%s: %+v, %v", path, stat, err)
			}
		}
		n, err = add(bg, w.c, "/a/b/n")
		w.must(err)
		if n != 2 || w.get("/a/b/n") != "2" {
			w.Errorf("returned %d and stored %s", n, w.get("/a/b/n"))
		}
	}},
	{"all is below the chroot, which is made", func(w *world) {
		c, _ := w.dial(&coord.Options{Chroot: "/deep/down"})
		_, err := add(bg, c, "/a/n")
		w.must(err)
		_, err = config.New(c, "/", config.Text()).Modify(bg, func(s string) (string, error) { return s + "1", nil })
		w.must(err)
		if w.get("/deep/down/a/n") != "1" || w.get("/deep/down") != "1" || w.get("/_zkcoord") != "nothing" {
			w.Errorf("stored\n%s", w.Tree())
		}
	}},
	{"a change costs one read and one write", func(w *world) {
		for range 2 {
			_, err := add(bg, w.c, "/n")
			w.must(err)
		}
		var requests []string
		w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Dir == coordtest.ToServer && f.N > 0 {
				requests = append(requests, f.Op)
			}
			return coordtest.Pass
		})
		_, err := add(bg, w.c, "/n")
		w.must(err)
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
				w.must(err)
			})
		}
		wg.Wait()
		names, _, err := w.op.Children("/_zkcoord")
		w.must(err)
		if len(names) == 0 || len(names) > 8 || w.get("/n") != "50" {
			w.Errorf("%d witnesses, %s stored", len(names), w.get("/n"))
		}
		w.must(w.c.Close())
		w.reap()
		if tree := w.Tree(); strings.Contains(tree, "_zkcoord") {
			w.Errorf("left\n%s", tree)
		}
	}},
	{"a write of another client in between is not lost, and the change is made of it", func(w *world) {
		w.create("/n", "1")
		saw := []int{}
		n, err := config.New(w.c, "/n", numbers).Modify(bg, func(n int) (int, error) {
			saw = append(saw, n)
			if len(saw) <= 3 {
				w.set("/n", fmt.Sprint(100*len(saw)))
			}
			return n + 1, nil
		})
		w.must(err)
		if n.Value != 301 || w.get("/n") != "301" || !slices.Equal(saw, []int{1, 100, 200, 300}) {
			w.Errorf("returned %+v and stored %s after %v", n, w.get("/n"), saw)
		}
	}},
	{"so is a delete, a create, and both", func(w *world) {
		for _, x := range []struct {
			name, before, after string
			meddle              func()
		}{
			{"create", "", "6", func() { w.create("/n", "5") }},
			{"delete", "1", "1", func() { w.delete("/n") }},
			{"delete and create", "1", "6", func() { w.delete("/n"); w.create("/n", "4"); w.set("/n", "5") }},
		} {
			if x.before != "" {
				w.create("/n", x.before)
			}
			once := sync.OnceFunc(x.meddle)
			_, err := config.New(w.c, "/n", numbers).Modify(bg, func(n int) (int, error) {
				once()
				return n + 1, nil
			})
			w.must(err)
			if got := w.get("/n"); got != x.after {
				w.Errorf("%s: stored %s, want %s", x.name, got, x.after)
			}
			w.delete("/n")
		}
	}},
	{"an error of change is returned, and nothing is written", func(w *world) {
		w.create("/n", "1")
		mine := errors.New("too much")
		_, err := config.New(w.c, "/n", numbers).Modify(bg, func(int) (int, error) { return 9, mine })
		w.wants(err, "modify", "/n", mine)
		_, err = config.New(w.c, "/m", numbers).Modify(bg, func(int) (int, error) { return 9, mine })
		w.wants(err, "modify", "/m", mine)
		if w.get("/n") != "1" || w.get("/m") != "nothing" {
			w.Errorf("stored\n%s", w.Tree())
		}
	}},
	{"what is malformed is not replaced", func(w *world) {
		for _, bad := range []string{"one", "panic"} {
			w.create("/n", bad)
			_, err := add(bg, w.c, "/n")
			w.wants(err, "modify", "/n", nil, "decode")
			if w.get("/n") != bad {
				w.Errorf("stored %s", w.get("/n"))
			}
			w.delete("/n")
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
			{func(int) ([]byte, error) { return make([]byte, coord.MaxData+1), nil }, nil},
		} {
			_, err := config.New(w.c, "/n", config.Codec[int]{Decode: number, Encode: x.encode}).Modify(bg, increment)
			w.wants(err, "modify", "/n", x.target, "encode")
		}
		if w.get("/n") != "nothing" {
			w.Errorf("stored\n%s", w.Tree())
		}
	}},
	{"the most that can be stored is stored", func(w *world) {
		big := strings.Repeat("x", coord.MaxData)
		for range 2 {
			got, err := config.New(w.c, "/n", config.Text()).Modify(bg, func(string) (string, error) { return big, nil })
			w.must(err)
			if got.Value != big || w.get("/n") != big {
				w.Error("stored something else")
			}
		}
	}},
	{"no bytes are stored as such, and not as null", func(w *world) {
		var replies [][]byte
		c := w.through(func(conn net.Conn) net.Conn { return spy{conn, &replies} })
		_, err := config.New(c, "/n", config.Codec[string]{
			Decode: config.Text().Decode,
			Encode: func(string) ([]byte, error) { return nil, nil },
		}).Modify(bg, func(s string) (string, error) { return s, nil })
		w.must(err)
		u, err := config.New(c, "/n", config.Text()).Read(bg)
		w.must(err)
		last := replies[len(replies)-1]
		if u.Value != "" || !bytes.Equal(last[20:24], []byte{0, 0, 0, 0}) { // behind length, xid, zxid and error
			w.Errorf("read %q; answer % x", u.Value, last)
		}
	}},
	{"a panic of change passes through, and does no harm", func(w *world) {
		w.create("/n", "1")
		func() {
			defer func() {
				if p := recover(); p != "mine" {
					w.Errorf("recovered %v", p)
				}
			}()
			_, _ = config.New(w.c, "/n", numbers).Modify(bg, func(int) (int, error) { panic("mine") })
		}()
		n, err := add(bg, w.c, "/n")
		w.must(err)
		if n != 2 {
			w.Errorf("returned %d", n)
		}
	}},
	{"what cannot be right is refused at once", func(w *world) {
		w.link.Cut() // nothing is asked
		_, err := add(bg, w.c, "n")
		w.wants(err, "modify", "n", coord.ErrInvalidPath)
		_, err = config.New(w.c, "/n", config.Codec[int]{Encode: encodeNumber}).Modify(bg, increment)
		w.wants(err, "modify", "/n", nil)
		_, err = config.New(w.c, "/n", config.Codec[int]{Decode: number}).Modify(bg, increment)
		w.wants(err, "modify", "/n", nil)
		_, err = config.New(w.c, "/n", numbers).Modify(bg, nil)
		w.wants(err, "modify", "/n", nil)
	}},
	{"the ensemble's refusal is returned", func(w *world) {
		_, err := w.op.Create("/n", []byte("1"), 0, zk.WorldACL(zk.PermRead))
		w.must(err)
		_, err = add(bg, w.c, "/n")
		w.wants(err, "modify", "/n", zk.ErrNoAuth)
		_, err = add(bg, w.c, "/n/below")
		w.wants(err, "modify", "/n/below", zk.ErrNoAuth)
		_, err = w.op.Create("/e", []byte("1"), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		w.must(err)
		_, err = add(bg, w.c, "/e/n")
		w.wants(err, "modify", "/e/n", zk.ErrNoChildrenForEphemerals)
	}},
	{"it ends with ctx at once while cut off, and that is no doubt (R61, R71)", func(w *world) {
		w.create("/n", "1")
		heal := w.link.Stall(coordtest.Both)
		w.await(w.c, coord.Suspended)
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(bg)
		time.AfterFunc(T/10, func() { cancel(cause) })
		began := time.Now()
		_, err := add(ctx, w.c, "/n")
		w.wants(err, "modify", "/n", cause)
		if errors.Is(err, config.ErrUnknown) || time.Since(began) != T/10 {
			w.Errorf("%v after %v", err, time.Since(began))
		}
		_, err = add(ctx, w.c, "/n")
		w.wants(err, "modify", "/n", cause)
		heal()
		n, err := add(bg, w.c, "/n")
		w.must(err)
		if n != 2 {
			w.Errorf("returned %d", n)
		}
	}},
	{"who leaves while an answer is due is told that the outcome is unknown, and the next change is exact", func(w *world) {
		_, err := add(bg, w.c, "/n")
		w.must(err)
		for _, dir := range []coordtest.Direction{coordtest.ToServer, coordtest.ToClient} {
			cause := errors.New("enough")
			ctx, cancel := context.WithCancelCause(bg)
			var heal func()
			w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if f.Op == "multi" && f.Dir == dir {
					w.link.OnFrame(nil)
					heal = w.link.Stall(dir)
					cancel(cause)
				}
				return coordtest.Pass
			})
			_, err := add(ctx, w.c, "/n")
			w.wants(err, "modify", "/n", cause)
			w.wants(err, "modify", "/n", config.ErrUnknown)
			heal()
			_, err = add(bg, w.c, "/n")
			w.must(err)
		}
		// What was under way has been carried out in the end: there was no fault
		// but impatience.
		if got := w.get("/n"); got != "5" {
			w.Errorf("stored %s", got)
		}
	}},
	{"it ends with the client, and goes on in the next session (R47)", func(w *world) {
		_, err := add(bg, w.c, "/n")
		w.must(err)
		for range 3 {
			w.flap(func() { w.Expire(w.c.Session().ID()) })
			_, err = add(bg, w.c, "/n")
			w.must(err)
		}
		if w.get("/n") != "4" {
			w.Errorf("stored %s", w.get("/n"))
		}
		heal := w.link.Stall(coordtest.Both)
		time.AfterFunc(2*T, heal)
		_, err = add(bg, w.c, "/n")
		w.must(err)
		w.must(w.c.Close())
		_, err = add(bg, w.c, "/n")
		w.wants(err, "modify", "/n", coord.ErrClosed)
		if errors.Is(err, config.ErrUnknown) {
			w.Error(err)
		}
	}},
	{"a Watch started after it on the same client never shows anything older", func(w *world) {
		_, err := add(bg, w.c, "/n")
		w.must(err)
		ctx, cancel := context.WithCancel(bg)
		defer cancel()
		for range 2 { // without another stream on the znode, and with one
			for range 100 {
				n, err := add(bg, w.c, "/n")
				w.must(err)
				one, stop := context.WithCancel(bg)
				s := config.New(w.c, "/n", numbers).Watch(one)
				if u := <-s.Updates(); u.Value < n || u.Err != nil {
					w.Errorf("after %d was stored a new stream began with %s", n, say(u))
				}
				stop()
			}
			config.New(w.c, "/n", numbers).Watch(ctx)
			synctest.Wait()
		}
	}},
	{"a lost answer does not count twice, and a lost request counts (R60)", func(w *world) {
		_, err := add(bg, w.c, "/n")
		w.must(err)
		want := 1
		for _, dir := range []coordtest.Direction{coordtest.ToServer, coordtest.ToClient} {
			for _, action := range []coordtest.Action{coordtest.Drop, coordtest.HangUp, coordtest.PassAndHangUp} {
				met := false
				w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
					if !met && f.Op == "multi" && f.Dir == dir {
						met = true
						return action
					}
					return coordtest.Pass
				})
				n, err := add(bg, w.c, "/n")
				w.must(err)
				if want++; n != want || w.get("/n") != fmt.Sprint(want) {
					w.Errorf("direction %d, action %d: returned %d, stored %s, want %d", dir, action, n, w.get("/n"), want)
				}
			}
		}
	}},
	{"what could not be sent is no doubt: if ctx ends it was not carried out, and if the session does it is sent in the next", func(w *world) {
		_, err := add(bg, w.c, "/n")
		w.must(err)
		cuts := 1
		cutOff := func(n int) (int, error) {
			if cuts--; cuts >= 0 {
				time.AfterFunc(2*T, w.link.Cut())
				w.await(w.c, coord.Suspended)
			}
			return n + 1, nil
		}
		cause := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(bg, T/10, cause)
		defer cancel()
		_, err = config.New(w.c, "/n", numbers).Modify(ctx, cutOff)
		w.wants(err, "modify", "/n", cause)
		if errors.Is(err, config.ErrUnknown) || w.get("/n") != "1" {
			w.Errorf("%v; stored %s", err, w.get("/n"))
		}
		w.await(w.c, coord.Connected)
		old := w.c.Session()
		cuts = 1
		n, err := config.New(w.c, "/n", numbers).Modify(bg, cutOff)
		w.must(err)
		if n.Value != 2 || w.get("/n") != "2" || w.c.Session() == old {
			w.Errorf("returned %+v, stored %s", n, w.get("/n"))
		}
	}},
	{"when the client has given up the session and the ensemble has not, the outcome is known (R91)", func(w *world) {
		_, err := add(bg, w.c, "/n")
		w.must(err)
		want := 1
		for _, x := range []struct {
			name string
			hurt func() (heal func())
		}{
			{"the request is lost", func() func() { return w.link.Stall(coordtest.ToServer) }},
			{"the answer is lost", func() func() { return w.link.Stall(coordtest.ToClient) }},
			{"the request is carried out late", w.Freeze},
		} {
			old := w.c.Session()
			w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
				dir := coordtest.ToServer
				if x.name == "the answer is lost" {
					dir = coordtest.ToClient
				}
				if f.Op == "multi" && f.Dir == dir {
					w.link.OnFrame(nil)
					time.AfterFunc(T*3/4, x.hurt())
				}
				return coordtest.Pass
			})
			n, err := add(bg, w.c, "/n")
			w.must(err)
			if want++; n != want || w.get("/n") != fmt.Sprint(want) {
				w.Errorf("%s: returned %d, stored %s, want %d", x.name, n, w.get("/n"), want)
			}
			if w.c.Session() == old {
				w.Errorf("%s: the session is the same", x.name)
			}
		}
	}},
	{"nor does it when the answer to the question what became of it is lost, too (R60)", func(w *world) {
		_, err := add(bg, w.c, "/n")
		w.must(err)
		want := 1
		for _, dir := range []coordtest.Direction{coordtest.ToServer, coordtest.ToClient} {
			lost := []string{"multi", "setData"} // the first in direction dir, the answer to the second
			w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if len(lost) == 2 && f.Op == lost[0] && f.Dir == dir || len(lost) == 1 && f.Op == lost[0] && f.Dir == coordtest.ToClient {
					lost = lost[1:]
					return coordtest.HangUp
				}
				return coordtest.Pass
			})
			n, err := add(bg, w.c, "/n")
			w.must(err)
			if want++; n != want || w.get("/n") != fmt.Sprint(want) || len(lost) > 0 {
				w.Errorf("direction %d: returned %d, stored %s, want %d; still to be lost: %v", dir, n, w.get("/n"), want, lost)
			}
		}
	}},
	{"a new session begins with new witnesses", func(w *world) {
		for range 2 {
			multis := 0
			w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if f.Op == "multi" && f.Dir == coordtest.ToServer {
					multis++
				}
				return coordtest.Pass
			})
			_, err := add(bg, w.c, "/n")
			w.must(err)
			if multis != 1 {
				w.Errorf("%d transactions for one change", multis)
			}
			w.flap(func() { w.Expire(w.c.Session().ID()) })
		}
	}},
	{"what became of a change is learned in the next session, too", func(w *world) {
		for i, dir := range []coordtest.Direction{coordtest.ToServer, coordtest.ToClient} {
			w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if f.Op != "multi" || f.Dir != dir {
					return coordtest.Pass
				}
				w.link.OnFrame(nil)
				w.Expire(w.c.Session().ID()) // a request that is lost, or an answer
				return coordtest.HangUp
			})
			was := w.c.Session()
			n, err := add(bg, w.c, "/n")
			if w.must(err); n != i+1 || w.get("/n") != fmt.Sprint(n) || was.Err() == nil {
				w.Errorf("direction %d: returned %d, stored %s", dir, n, w.get("/n"))
			}
		}
	}},
	{"witnesses that an operator deletes, changes or forbids to write are replaced or done without", func(w *world) {
		_, err := add(bg, w.c, "/n")
		w.must(err)
		witnesses := func() string {
			names, _, err := w.op.Children("/_zkcoord")
			w.must(err)
			return "/_zkcoord/" + names[0]
		}
		w.delete(witnesses() + "/session")
		w.delete(witnesses())
		_, err = add(bg, w.c, "/n")
		w.must(err)
		w.delete(witnesses() + "/session")
		w.reap()
		_, err = add(bg, w.c, "/n")
		w.must(err)
		w.set(witnesses(), "what is this?")
		_, err = add(bg, w.c, "/n")
		w.must(err)
		for names, _, _ := w.op.Children("/_zkcoord"); len(names) > 0; names = names[1:] {
			_, err = w.op.SetACL("/_zkcoord/"+names[0], zk.WorldACL(zk.PermRead), -1)
			w.must(err)
		}
		for range 2 {
			_, err = add(bg, w.c, "/n")
			w.must(err)
		}
		if w.get("/n") != "6" {
			w.Errorf("stored %s", w.get("/n"))
		}
	}},
	{"a version of -1, which would mean any, is not sent (R38)", func(w *world) {
		w.create("/n", "the version behind this is forged")
		c := w.through(func(conn net.Conn) net.Conn { return forger{conn} })
		_, err := config.New(c, "/n", config.Text()).Modify(bg, func(string) (string, error) { return "new", nil })
		w.wants(err, "modify", "/n", nil)
		if err == nil || !strings.Contains(err.Error(), "-1") {
			w.Errorf("got %v", err)
		}
		if w.get("/n") == "new" {
			w.Error("stored")
		}
	}},
}

// A forger makes the version -1 of what stands behind the data of a reply.
type forger struct{ net.Conn }

func (f forger) Read(b []byte) (int, error) {
	n, err := f.Conn.Read(b)
	const data = "the version behind this is forged"
	if i := bytes.Index(b[:n], []byte(data)); i >= 0 && i+len(data)+36 <= n {
		binary.BigEndian.PutUint32(b[i+len(data)+32:], 0xffffffff)
	}
	return n, err
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
	for _, x := range modifyings {
		t.Run(x.name, func(t *testing.T) { bubble(t, x.run) })
	}
}

// Where the ensemble does not let a client have witnesses, changes are made without,
// and a lost answer is judged by what is there.
func TestWithoutWitnesses(t *testing.T) {
	locked := func(w *world) {
		_, err := w.op.SetACL("/", zk.WorldACL(zk.PermRead), -1)
		w.must(err)
	}
	lose := func(w *world, dir coordtest.Direction, and func()) {
		w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Op == "multi" && f.Dir == dir {
				w.link.OnFrame(nil)
				and()
				return coordtest.HangUp
			}
			return coordtest.Pass
		})
	}
	for _, x := range []struct {
		name    string
		dir     coordtest.Direction
		meddle  func(w *world) // when the frame is lost
		unknown bool
		want    string
	}{
		{"no fault", 0, nil, false, "2"},
		{"the request is lost", coordtest.ToServer, func(*world) {}, false, "2"},
		{"the answer is lost", coordtest.ToClient, func(*world) {}, true, "2"},
		{"the request is lost, and another stores something else", coordtest.ToServer, func(w *world) { w.set("/n", "7") }, false, "8"},
		{"the request is lost, and another stores the same", coordtest.ToServer, func(w *world) { w.set("/n", "2") }, true, "2"},
		{"the request is lost, and the session is over", coordtest.ToServer, func(w *world) { w.Expire(w.c.Session().ID()) }, true, "1"},
	} {
		t.Run(x.name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.create("/n", "1")
				locked(w)
				if x.meddle != nil {
					lose(w, x.dir, func() { x.meddle(w) })
				}
				_, err := add(bg, w.c, "/n")
				if errors.Is(err, config.ErrUnknown) != x.unknown || !x.unknown && err != nil {
					t.Errorf("error %v", err)
				}
				if got := w.get("/n"); got != x.want {
					t.Errorf("stored %s, want %s", got, x.want)
				}
				if tree := w.Tree(); strings.Contains(tree, "_zkcoord") {
					t.Errorf("there are witnesses:\n%s", tree)
				}
			})
		})
	}
}
