package config_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// FuzzTree has a Tree follow znodes of hostile names with hostile bytes, on two
// levels: it shows what their decoder makes of them, and that they are gone.
func FuzzTree(f *testing.F) {
	server, err := coordtest.Start()
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(server.Close)
	c, err := coord.Dial(context.Background(), []string{server.Addr()}, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { c.Close() })
	tree := config.NewTree(c, "/fuzz", config.JSON[any]()).Watch(context.Background())
	op := c.Conn()
	if _, err := op.Create("/fuzz", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		f.Fatal(err)
	}
	for _, seed := range []struct{ name, data, below string }{
		{"a", "1", "2"}, {"..", "", ""}, {"a/b", "{", "}"}, {"\x00", "null", "\xff"}, {"日本", `"日本"`, "\ufff0"}, {" ", "[]", " "},
		{"zookeeper", "1e999", ""}, {"_zkcoord", "{}", ""},
	} {
		f.Add(seed.name, []byte(seed.data), []byte(seed.below))
	}
	f.Fuzz(func(t *testing.T, name string, data, below []byte) {
		path := "/fuzz/" + name
		if len(name) > 1<<10 || zkpath.Check(path) != nil {
			return
		}
		if _, err := op.Create(path, data, 0, zk.WorldACL(zk.PermAll)); err != nil {
			return // a level that is missing
		}
		if _, err := op.Create(path+"/below", below, 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
		ours := slices.Contains(strings.Split(name, "/"), "_zkcoord") // by whose name no key goes
		await(t, tree, func(k config.Values[any]) bool {
			return shows(k, name, data, len(data) > 0 && !ours) && shows(k, name+"/below", below, below != nil && !ours)
		})
		for _, p := range []string{path + "/below", path} {
			if err := op.Delete(p, -1); err != nil {
				t.Fatal(err)
			}
		}
		await(t, tree, func(k config.Values[any]) bool { return len(k.Keys) == 0 })
	})
}

// shows reports whether k has the key as data say, if it is one, or else not.
func shows(k config.Values[any], key string, data []byte, is bool) bool {
	u, has := k.Keys[key]
	_, err := config.JSON[any]().Decode(data)
	return has == is && (!is || (u.Err == nil) == (err == nil))
}

func await(t *testing.T, s *event.Stream[config.Values[any]], ok func(config.Values[any]) bool) {
	t.Helper()
	late := time.After(10 * time.Second)
	for {
		if k, any := s.Latest(); any && ok(k) {
			return
		}
		select {
		case <-s.Updates():
		case <-s.Done():
			t.Fatal(s.Err())
		case <-late:
			k, _ := s.Latest()
			t.Fatalf("the tree shows %+v", k)
		}
	}
}
