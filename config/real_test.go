package config_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// TestReal does on a real server what the other tests do on the one in the process:
// it is about what servers answer.
func TestReal(t *testing.T) {
	w := harness.On(t, ensemble.Shared(t))
	root := w.Dir
	dial := func(opts *coord.Options) *coord.Client { return w.Dial(nil, opts).Client }
	client := w.Dial(nil, &coord.Options{Chroot: root})
	c, link := client.Client, client.Link
	publish := func(values map[string]int, remove ...string) error {
		return published(bg, config.NewTree(c, "/app", numbers), values, remove...)
	}
	get := func(path string) string {
		t.Helper()
		return w.Get(root + path)
	}
	lose := func(action coordtest.Action, dir coordtest.Direction) {
		link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Op != "multi" || f.Dir != dir {
				return coordtest.Pass
			}
			link.OnFrame(nil)
			return action
		})
	}

	// Changes, with every way of losing one; they come back as they are stored. (R60.)
	value := config.New(c, "/deep/down/n", numbers)
	want := 0
	for range 2 {
		for _, action := range []coordtest.Action{coordtest.Pass, coordtest.HangUp, coordtest.PassAndHangUp} {
			for _, dir := range []coordtest.Direction{coordtest.ToServer, coordtest.ToClient} {
				lose(action, dir)
				u, err := value.Modify(bg, increment)
				w.Must(err)
				data, stat, err := w.Op().Get(root + "/deep/down/n")
				w.Must(err)
				if want++; u.Value != want || string(data) != fmt.Sprint(want) {
					t.Fatalf("returned %d, stored %s, want %d", u.Value, data, want)
				}
				if u.Version != stat.Version || u.Mzxid != stat.Mzxid || u.Modified != time.UnixMilli(stat.Mtime) {
					t.Errorf("returned %+v, stored is %+v", u, stat)
				}
			}
		}
		lose(coordtest.HangUp, coordtest.ToClient)
		u, err := value.Store(bg, 7)
		w.Must(err)
		if read, err := value.Read(bg); err != nil || read.Value != 7 || read.Mzxid != u.Mzxid || read.Version != u.Version {
			t.Errorf("stored %+v, read %+v, %v", u, read, err)
		}
		lose(coordtest.HangUp, coordtest.ToClient)
		w.Must(value.Delete(bg))
		w.Must(value.Delete(bg))
		if got := get("/deep/down/n"); got != "nothing" {
			t.Errorf("stored %s", got)
		}
		want = 0
	}

	// A stream sees a delete and a create with the same version. (R31.)
	s := config.New(c, "/n", numbers).Watch(t.Context())
	next := func(want string) {
		t.Helper()
		for deadline := time.After(20 * time.Second); ; {
			select {
			case u := <-s.Updates():
				if say(u) == want {
					return
				}
				t.Logf("%s on the way to %s", say(u), want)
			case <-s.Done():
				t.Fatal(s.Err())
			case <-deadline:
				t.Fatalf("not %s", want)
			}
		}
	}
	next("none missing")
	for i := range 3 {
		link.OnFrame(nil)
		w.Create(root+"/n", fmt.Sprint(i))
		next(fmt.Sprintf("%d v0", i))
		link.Reset()
		w.Delete(root + "/n")
	}
	next("2 v0 missing")

	// Several at once.
	w.Must(publish(map[string]int{"a": 1, "a/b": 2, "db/host": 3}))
	err := publish(map[string]int{"db/host": 4, "new/k": 4}, "a")
	if !errors.Is(err, zk.ErrNotEmpty) || !strings.Contains(err.Error(), `"a"`) || get("/app/db/host") != "3" {
		t.Errorf("%v; stored %s", err, get("/app/db/host"))
	}
	for _, dir := range []coordtest.Direction{coordtest.ToServer, coordtest.ToClient} {
		lose(coordtest.HangUp, dir)
		w.Must(publish(map[string]int{"db/host": 5}, "a", "a/b", "none"))
		if get("/app/db/host") != "5" || get("/app/a") != "nothing" {
			t.Errorf("stored %s, %s", get("/app/db/host"), get("/app/a"))
		}
	}

	// As much as is let pass.
	big := strings.Repeat("x", maxData)
	w.Must(published(bg, config.NewTree(c, "/big", config.Text()), map[string]string{"a": big}))
	many := make(map[string]string)
	for i := range harness.Times(1_000, 9_000) {
		many[fmt.Sprint("key-", i)] = ""
	}
	w.Must(published(bg, config.NewTree(c, "/many", config.Text()), many))
	names := w.Children(root + "/many")
	if len(names) != len(many) || len(get("/big/a")) != len(big) {
		t.Errorf("%d keys stored", len(names))
	}
	var gone []string
	for key := range many {
		gone = append(gone, key)
	}
	w.Must(published(bg, config.NewTree(c, "/many", config.Text()), nil, gone...))

	// Without witnesses.
	auth := []coord.Auth{{Scheme: "digest", Credential: []byte("ada:lovelace")}}
	acl := zk.DigestACL(zk.PermAll, "ada", "lovelace")
	owner := dial(&coord.Options{Chroot: root + "/closed", Auth: auth, ACL: []coord.ACL{coord.ACL(acl[0])}})
	_, err = add(bg, owner, "/n")
	w.Must(err)
	_, err = w.Op().Create(root+"/open", nil, 0, acl)
	w.Must(err)
	_, err = w.Op().Create(root+"/open/n", []byte("1"), 0, zk.WorldACL(zk.PermAll))
	if !errors.Is(err, zk.ErrNoAuth) {
		t.Fatal(err)
	}
	_, err = owner.Conn().Create(root+"/open/n", []byte("1"), 0, zk.WorldACL(zk.PermAll))
	w.Must(err)
	stranger := dial(&coord.Options{Chroot: root + "/open"})
	n, err := add(bg, stranger, "/n")
	w.Must(err)
	if n != 2 || get("/open/n") != "2" {
		t.Errorf("returned %d, stored %s", n, get("/open/n"))
	}
	_, err = add(bg, dial(&coord.Options{Chroot: root + "/closed"}), "/n")
	if !errors.Is(err, zk.ErrNoAuth) || errors.Is(err, coord.ErrUnknown) {
		t.Errorf("a stranger: %v", err)
	}
}
