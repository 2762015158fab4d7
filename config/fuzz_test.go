package config_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// A deep has what hostile JSON can make trouble with.
type deep struct {
	N    int
	S    string
	M    map[string]*deep
	A    []any
	Next *deep
	T    time.Time
}

// treacherous decodes by the first byte: it fails, panics with something odd, or
// reaches where there is nothing.
func treacherous(data []byte) (int, error) {
	switch data[0] % 5 {
	case 0:
		return 1, errors.New(string(data))
	case 1:
		panic(data)
	case 2:
		panic(nil)
	case 3:
		var none *deep
		return none.N, nil
	}
	return int(data[len(data)/2]), nil
}

// FuzzDecode stores hostile bytes and checks that a stream, a read and a change
// say the same of them, that nothing but an error comes of them, and that the last
// good value stands.
func FuzzDecode(f *testing.F) {
	server, err := coordtest.Start()
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(server.Close)
	c, err := coord.Dial(bg, []string{server.Addr()}, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { c.Close() })
	if _, err := c.Conn().Create("/fuzz", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		"", "{}", `{"N":1}`, `{"N":1e400}`, `{"N":"1"}`, "null", "[]", "{\"S\":\"\xff\"}", `{"T":"yesterday"}`, "\x00", "\xff\xfe",
		strings.Repeat("[", 20_000), `{"A":` + strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000) + "}", `{"Next":{"Next":{"N":7}}}`, "{} {}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > maxData {
			return
		}
		_, wrong := config.JSON[deep]().Decode(data)
		hostile(t, c, data, config.JSON[deep]().Decode, wrong == nil)
		if (wrong == nil) != (json.Unmarshal(data, new(deep)) == nil) {
			t.Errorf("JSON: %v", wrong)
		}
		text, wrong := config.Text().Decode(data)
		hostile(t, c, data, config.Text().Decode, wrong == nil)
		if (wrong == nil) != utf8.Valid(data) || wrong == nil && text != string(data) {
			t.Errorf("Text: %q, %v", text, wrong)
		}
		hostile(t, c, data, treacherous, len(data) > 0 && data[0]%5 == 4)
	})
}

// hostile checks what becomes of data under decode, which takes it if good is set.
func hostile[T any](t *testing.T, c *coord.Client, data []byte, decode func([]byte) (T, error), good bool) {
	const path = "/fuzz"
	v := config.New(c, path, config.Codec[T]{
		Decode: decode,
		Encode: func(T) ([]byte, error) { return []byte("changed"), nil },
	})
	fits := func(op string, err error) {
		t.Helper()
		var e *coord.Error
		if (err == nil) != good || err != nil &&
			(!errors.As(err, &e) || e.Op != op || e.Path != path || !strings.HasPrefix(e.Err.Error(), "decode: ")) {
			t.Errorf("%s of %q: %v", op, data, err)
		}
	}
	stat, err := c.Conn().Set(path, data, -1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	s := v.Watch(ctx)
	select {
	case u := <-s.Updates():
		fits("watch", u.Err)
		if good != (u.Mzxid == stat.Mzxid) || !good && u.Mzxid != 0 {
			t.Errorf("watch of %q: %+v", data, u)
		}
	case <-s.Done():
		t.Fatal(s.Err())
	}
	_, err = v.Read(ctx)
	fits("read", err)
	_, err = v.Modify(ctx, func(v T) (T, error) { return v, nil })
	fits("modify", err)
	now, _, err := c.Conn().Get(path)
	if err != nil || good != (string(now) == "changed") && string(data) != "changed" || !good && !bytes.Equal(now, data) {
		t.Errorf("%q was stored, and %q is, %v", data, now, err)
	}
}

// FuzzNames gives hostile paths and keys. Whatever is refused is refused before
// anything is asked for, and what is not is stored where it should be.
func FuzzNames(f *testing.F) {
	server, err := coordtest.Start()
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(server.Close)
	c, err := coord.Dial(bg, []string{server.Addr()}, &coord.Options{Chroot: "/names"})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { c.Close() })
	for _, seed := range [][3]string{
		{"/a", "b", "c"}, {"/", "b/c", "b"}, {"/a", "", "x"}, {"/a/", "b", "b"}, {"/a", "../b", "."}, {"/a", "b\x00", "\xff"}, {"/a", "b", "b"},
		{"/zookeeper", "quota", "config"}, {"/_zkcoord", "config-x", "y"}, {"/a", "/b", "c//d"}, {"/é", "日本", "\ufff0"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, path, key, remove string) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if len(path)+len(key)+len(remove) > 1<<10 {
			return
		}
		at := strings.TrimSuffix(path, "/") + "/" + key
		valid := zkpath.Check(path) == nil && zkpath.Check(at) == nil && key != "" &&
			remove != "" && zkpath.Check(strings.TrimSuffix(path, "/")+"/"+remove) == nil && remove != key
		err := published(ctx, config.NewTree(c, path, config.Text()), map[string]string{key: "value"}, remove)
		var e *coord.Error
		switch {
		case valid && err != nil && !errors.Is(err, zk.ErrNotEmpty):
			t.Errorf("publish of %q, %q: %v", path, key, err)
		case !valid && (!errors.As(err, &e) || e.Op != "publish" || e.Path != path):
			t.Errorf("publish of %q, %q, without %q: %v", path, key, remove, err)
		}
		if err == nil {
			if u, err := config.New(c, at, config.Text()).Read(ctx); err != nil || u.Value != "value" {
				t.Errorf("read of %q: %+v, %v", at, u, err)
			}
		}
		_, err = config.New(c, path, config.Text()).Modify(ctx, func(string) (string, error) { return "modified", nil })
		if (err == nil) != (zkpath.Check(path) == nil) {
			t.Errorf("change of %q: %v", path, err)
		}
	})
}
