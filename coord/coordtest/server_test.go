package coordtest_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/jute"
)

// bubble runs f in a bubble with a server and a world on it. The bubble fails
// if a goroutine of either outlives f.
func bubble(t *testing.T, f func(t *testing.T, s *coordtest.Server, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := coordtest.NewServer(t)
		f(t, s, newWorld(t, s.Dial, "/root"))
	})
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestFreeze(t *testing.T) {
	bubble(t, func(t *testing.T, s *coordtest.Server, w *world) {
		a := w.raw()
		a.SetDeadline(time.Time{})
		a.handshake(0, 40000, 0, nil)
		b := w.raw()
		b.SetDeadline(time.Time{})
		b.handshake(0, 4000, 0, nil)
		thaw, again := s.Freeze(), s.Freeze()
		for i := range int32(100) {
			a.send(i, int32(3), "/root", false)
		}
		b.send(int32(1), jute.OpExists, "/root", false)
		gone := w.raw()
		gone.send(int32(0), int64(0), int32(40000), int64(0), []byte{})
		gone.send(int32(1), jute.OpCreate, "/root/zombie", []byte{}, int32(1), int32(31), worldScheme, "anyone", int32(1))
		synctest.Wait()
		gone.Close()
		a.SetReadDeadline(time.Now().Add(20 * time.Second))
		if _, err := a.receive(); err == nil {
			t.Error("a frozen server answers")
		}
		equal(t, "sessions", len(s.Sessions()), 2)
		again()
		again()
		if _, err := a.receive(); err == nil {
			t.Error("a frozen server answers")
		}
		a.SetReadDeadline(time.Time{})
		thaw()
		for i := range int32(100) {
			w.log.Reset()
			a.expect("a")
			if !strings.HasPrefix(w.log.String(), fmt.Sprintf("a: xid %d,", i)) {
				t.Fatalf("reply %d: %s", i, w.log.String())
			}
		}
		if _, err := b.receive(); err == nil {
			t.Error("an overdue session lives on")
		}
		if !strings.Contains(s.Tree(), "zombie") {
			t.Error("a request is lost that arrived before the client hung up")
		}
	})
}

func TestSequenceRunsOut(t *testing.T) {
	bubble(t, func(t *testing.T, s *coordtest.Server, w *world) {
		a := w.connect("a", long)
		must(t, s.SetSequence("/root", 2147483646))
		create := func(want string) {
			t.Helper()
			got, err := a.Create("/root/n-", nil, zk.FlagSequence, open)
			equal(t, "created", fmt.Sprint(got, err), want)
		}
		create("/root/n-2147483646<nil>")
		create("/root/n-2147483647<nil>")
		create("zk: node already exists")
		create("zk: node already exists")
		got, err := a.Create("/root/other-", nil, zk.FlagSequence, open)
		equal(t, "other name", fmt.Sprint(got, err), "/root/other-2147483647<nil>")
		// Within a multi the number goes on, beyond the end.
		res, err := a.Multi(&zk.CreateRequest{Path: "/root/m-", Flags: zk.FlagSequence, Acl: open},
			&zk.CreateRequest{Path: "/root/m-", Flags: zk.FlagSequence, Acl: open})
		must(t, err)
		equal(t, "multi", res[0].String+" "+res[1].String, "/root/m-2147483647 /root/m--2147483648")
		if err := s.SetSequence("/none", 1); err == nil {
			t.Error("set the sequence of no node")
		}
	})
}

func TestContainers(t *testing.T) {
	bubble(t, func(t *testing.T, s *coordtest.Server, w *world) {
		a := w.connect("a", long)
		container := func(path string) {
			_, err := a.CreateContainer(path, nil, zk.FlagContainer, open)
			must(t, err)
		}
		container("/root/never")
		container("/root/used")
		container("/root/in-use")
		must(t, a.create("/root/used/x", nil, 0))
		must(t, a.create("/root/in-use/x", nil, 0))
		must(t, a.Delete("/root/used/x", -1))
		a.watch("e", "/root/used")
		want := "/root \"\"\n/root/in-use \"\" container\n/root/in-use/x \"\"\n/root/never \"\" container\n"
		start := time.Now()
		for s.Tree() != want {
			time.Sleep(time.Second)
		}
		if d := time.Since(start); d < 58*time.Second || d > 62*time.Second {
			t.Errorf("reaped after %v", d)
		}
		a.saw("a minute later")
		equal(t, "log", w.log.String(), "a minute later: a saw [\"Deleted /root/used\"]\n")
		must(t, a.Delete("/root/in-use/x", -1))
		s.Reap()
		equal(t, "tree", s.Tree(), "/root \"\"\n/root/never \"\" container\n")
	})
}

func TestTree(t *testing.T) {
	bubble(t, func(t *testing.T, s *coordtest.Server, w *world) {
		a := w.connect("a", long)
		must(t, a.create("/root/long", []byte(strings.Repeat("x", 100)), 0))
		must(t, a.create("/root/binary", []byte("\x00\xff"), 0))
		equal(t, "tree", s.Tree(), "/root \"\"\n/root/binary \"\\x00\\xff\"\n/root/long \""+strings.Repeat("x", 64)+"\"... (100 bytes)\n")
	})
}

func TestCloseEndsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := coordtest.NewServer(t)
		w := newWorld(t, s.Dial, "/root")
		r := w.raw() // reads nothing that it is sent
		r.handshake(0, 40000, 0, nil)
		for range 100 {
			r.send(int32(1), jute.OpExists, "/root", false)
		}
		direct, err := s.Dial(t.Context(), "", "")
		must(t, err)
		w.connect("a", long)
		s.Freeze()
		s.Close()
		s.Close()
		if _, err := direct.Read(make([]byte, 1)); err == nil {
			t.Error("a connection to a closed server")
		}
		if _, err := s.Dial(t.Context(), "", ""); err == nil {
			t.Error("dialed a closed server")
		}
	})
}

func TestTCP(t *testing.T) {
	s, err := coordtest.Start()
	must(t, err)
	defer s.Close()
	equal(t, "address", s.Addr(), s.Addr())
	conn, _, err := zk.Connect([]string{s.Addr()}, long, zk.WithLogger(silent{}))
	must(t, err)
	defer conn.Close()
	_, err = conn.Create("/x", nil, zk.FlagEphemeral, open)
	must(t, err)
	s.Close()
	if _, err := net.Dial("tcp", s.Addr()); err == nil {
		t.Error("still listening")
	}
}

func TestClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := coordtest.NewServer(t)
		a := s.Client(t, nil)
		b := s.Client(t, &coord.Options{SessionTimeout: 6 * time.Second})
		if s.LinkOf(a) == nil || s.LinkOf(a) == s.LinkOf(b) {
			t.Error("each client has a link of its own")
		}
		equal(t, "link of none", s.LinkOf(nil), nil)
		equal(t, "sessions", len(s.Sessions()), 2)
		heal := s.LinkOf(b).Cut()
		time.Sleep(10 * time.Second)
		equal(t, "sessions", len(s.Sessions()), 1)
		heal()
		time.Sleep(10 * time.Second)
		equal(t, "sessions", len(s.Sessions()), 2)
	})
}

var errTimeout interface{ Timeout() bool }

func isTimeout(err error) bool { return errors.As(err, &errTimeout) && errTimeout.Timeout() }
