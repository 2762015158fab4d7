package config_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// sayKeys puts keys in words: "a=1 b/c=2".
func sayKeys[T any](k config.Values[T]) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(k.Keys)) {
		u := k.Keys[name]
		word := fmt.Sprintf("%s=%v", name, u.Value)
		switch {
		case errors.Is(u.Err, zk.ErrNoAuth):
			word += "(unreadable)"
		case u.Err != nil:
			word += "(bad)"
		}
		if u.Suspended != k.Suspended {
			word += "(suspended otherwise)"
		}
		words = append(words, word)
	}
	text := strings.Join(words, " ")
	if k.Suspended {
		text += "?"
	}
	return text
}

// A Tree shows every key below its path and nothing else: what is created,
// changed, removed and made anew, on all levels; last good values; and whether
// the connection is down.
func TestTree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := coordtest.NewServer(t)
		c, op := server.Client(t, nil), server.Client(t, nil).Conn()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		create := func(path string, data []byte) {
			t.Helper()
			_, err := op.Create(path, data, 0, zk.WorldACL(zk.PermAll))
			must(err)
		}
		set := func(path, data string) {
			t.Helper()
			_, err := op.Set(path, []byte(data), -1)
			must(err)
		}
		tree := config.NewTree(c, "/app", config.JSON[int]()).Watch(t.Context())
		expect := func(want string) {
			t.Helper()
			time.Sleep(time.Second)
			select {
			case k := <-tree.Updates():
				if got := sayKeys(k); got != want {
					t.Fatalf("got %q, want %q", got, want)
				}
			default:
				t.Fatalf("nothing new, want %q", want)
			}
		}
		quiet := func() {
			t.Helper()
			time.Sleep(time.Second)
			select {
			case k := <-tree.Updates():
				t.Fatalf("unexpected: %q", sayKeys(k))
			default:
			}
		}
		expect("") // nothing there
		create("/app", nil)
		quiet()
		create("/app/a", []byte("1"))
		expect("a=1")
		create("/app/dir", nil) // a directory
		quiet()
		create("/app/dir/b", []byte("2"))
		expect("a=1 dir/b=2")
		set("/app/a", "no number")
		expect("a=1(bad) dir/b=2")
		set("/app/a", "3")
		expect("a=3 dir/b=2")
		create("/app/dir/b/below", []byte("4")) // below a key
		expect("a=3 dir/b=2 dir/b/below=4")
		must(op.Delete("/app/dir/b/below", -1))
		must(op.Delete("/app/dir/b", -1))
		expect("a=3")
		must(op.Delete("/app/a", -1))
		create("/app/a", []byte("3")) // R31: the same version and bytes
		expect("a=3")
		heal := server.Cut(c)
		expect("a=3?")
		set("/app/a", "5")
		create("/app/late", []byte("6"))
		heal()
		expect("a=5 late=6")
		server.Expire(c.Kit().Session().ID())
		time.Sleep(time.Minute)
		if k, _ := tree.Latest(); sayKeys(k) != "a=5 late=6" {
			t.Errorf("after the session's end: %q", sayKeys(k))
		}
		<-tree.Updates()
		create("/app/e", []byte{}) // empty is a value, if a bad one
		expect("a=5 e=0(bad) late=6")
		_, err := op.Create("/app/secret", []byte("7"), 0, zk.DigestACL(zk.PermAll, "some", "one"))
		must(err)
		expect("a=5 e=0(bad) late=6 secret=0(unreadable)")
		must(op.Delete("/app/secret", -1))
		expect("a=5 e=0(bad) late=6")
		for _, name := range []string{"a", "e", "late", "dir"} {
			must(op.Delete("/app/"+name, -1))
		}
		must(op.Delete("/app", -1))
		expect("")
		create("/app", []byte("0")) // R32; the path itself is no key
		create("/app/x", []byte("8"))
		expect("x=8")
	})
}

// At the root a Tree shows none of what Modify and Publish keep for themselves.
func TestTreeOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := coordtest.NewServer(t)
		c := server.Client(t, nil)
		tree := config.NewTree(c, "/", config.JSON[int]()).Watch(t.Context())
		if err := published(t.Context(), config.NewTree(c, "/", config.JSON[int]()), map[string]int{"a": 1, "_zkcoordination": 2}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if k, _ := tree.Latest(); sayKeys(k) != "_zkcoordination=2 a=1" {
			t.Errorf("got %q", sayKeys(k))
		}
	})
}

// What cannot be followed is refused at once, and the end has a cause.
func TestTreeEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := coordtest.NewServer(t)
		c := server.Client(t, nil)
		for path, codec := range map[string]config.Codec[string]{"app": config.Text(), "/app": {}} {
			if s := config.NewTree(c, path, codec).Watch(t.Context()); s.Err() == nil || !strings.Contains(s.Err().Error(), path) {
				t.Errorf("%q: %v", path, s.Err())
			}
		}
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		s := config.NewTree(c, "/app", config.Text()).Watch(ctx)
		panics := config.NewTree(c, "/", decoder(func([]byte) (int, error) { panic("hostile") })).Watch(t.Context())
		op := server.Client(t, nil).Conn()
		if _, err := op.Create("/a", []byte("1"), 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if k, _ := panics.Latest(); k.Keys["a"].Err == nil || !strings.Contains(k.Keys["a"].Err.Error(), "/a: ") {
			t.Errorf("a decoder that panics: %+v", k)
		}
		cancel(cause)
		<-s.Done()
		if !errors.Is(s.Err(), cause) {
			t.Errorf("ended with %v", s.Err())
		}
		c.Close()
		<-panics.Done()
		if !errors.Is(panics.Err(), coord.ErrClosed) {
			t.Errorf("ended with %v", panics.Err())
		}
	})
}

// Keys that come and go faster than they can be followed do not wear a Tree out: it
// ends on what is there, however often the same names are used again.
func TestTreeComesAndGoes(t *testing.T) {
	server, err := coordtest.Start() // with a network, for its disorder
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	c, err := coord.Dial(t.Context(), []string{server.Addr()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tree := config.NewTree(c, "/app", config.JSON[any]()).Watch(t.Context())
	op := c.Conn()
	create := func(path, data string) {
		t.Helper()
		if _, err := op.Create(path, []byte(data), 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	create("/app", "")
	for i := range harness.Times(400, 2000) {
		path := fmt.Sprint("/app/n", i%3)
		create(path, "1")
		create(path+"/below", "2")
		await(t, tree, func(k config.Values[any]) bool { return len(k.Keys) == 2 })
		for _, p := range []string{path + "/below", path} {
			if err := op.Delete(p, -1); err != nil {
				t.Fatal(err)
			}
		}
		await(t, tree, func(k config.Values[any]) bool { return len(k.Keys) == 0 })
	}
}
