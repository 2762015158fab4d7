package coord_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// A plain request of a client, by its Op in errors. It returns the error alone.
type plain struct {
	op    string
	write bool
	do    func(ctx context.Context, c *coord.Client) error
}

// plains are all requests that a Client makes. They expect "/a" to be there, with
// version zero and no children, and "/b" not to be.
var plains = []plain{
	{"get", false, func(ctx context.Context, c *coord.Client) error { _, _, err := c.Get(ctx, "/a"); return err }},
	{"exists", false, func(ctx context.Context, c *coord.Client) error { _, _, err := c.Exists(ctx, "/a"); return err }},
	{"children", false, func(ctx context.Context, c *coord.Client) error { _, _, err := c.Children(ctx, "/a"); return err }},
	{"sync", false, func(ctx context.Context, c *coord.Client) error { return c.Sync(ctx, "/a") }},
	{"create", true, func(ctx context.Context, c *coord.Client) error { _, err := c.Create(ctx, "/b", nil, 0); return err }},
	{"set", true, func(ctx context.Context, c *coord.Client) error {
		_, err := c.Set(ctx, "/a", []byte("2"), -1)
		return err
	}},
	{"delete", true, func(ctx context.Context, c *coord.Client) error { return c.Delete(ctx, "/a", -1) }},
	{"txn", true, func(ctx context.Context, c *coord.Client) error {
		_, err := c.Txn(ctx, coord.OpCheck("/a", -1), coord.OpSet("/a", []byte("2"), -1))
		return err
	}},
}

// Requests do what they say, below the chroot, which they make if it is missing.
func TestPlainRequests(t *testing.T) {
	inBoth(t, func(t testing.TB, dial func(coord.Options) *coord.Client) {
		op := dial(coord.Options{})
		root := fmt.Sprintf("/plain-%d", time.Now().UnixNano())
		c := dial(coord.Options{Chroot: root + "/app"})
		path, err := c.Create(bg, "/a", []byte("1"), coord.Persistent)
		if err != nil || path != "/a" {
			t.Fatalf("created %q: %v", path, err)
		}
		data, stat, err := op.Get(bg, root+"/app/a")
		if err != nil || string(data) != "1" || stat.Version != 0 || stat.Created().IsZero() {
			t.Errorf("got %q, %+v, %v", data, stat, err)
		}
		if data, again, err := c.Get(bg, "/a"); err != nil || string(data) != "1" || again != stat {
			t.Errorf("got %q, %+v, %v", data, again, err)
		}
		if stat, err = c.Set(bg, "/a", []byte("22"), 0); err != nil || stat.Version != 1 || stat.DataLength != 2 {
			t.Errorf("set: %+v, %v", stat, err)
		}
		if got, there, err := c.Exists(bg, "/a"); got != stat || !there || err != nil {
			t.Errorf("exists: %+v, %v, %v", got, there, err)
		}
		for mode, want := range map[coord.Mode]string{
			coord.Ephemeral:                    "/a-ephemeral",
			coord.Container:                    "/a-container",
			coord.Sequential:                   "/a-sequential0000000001",
			coord.Ephemeral | coord.Sequential: "/a-ephemeral|sequential0000000001",
		} {
			path, err := c.Create(bg, "/a-"+mode.String(), nil, mode)
			if err != nil || path[:len(path)-1] != want[:len(want)-1] {
				t.Errorf("created %q, want %q: %v", path, want, err)
			}
		}
		for path, want := range map[string]string{"/": "/0000000000", "/a/": "/a/0000000000"} {
			got, err := c.Create(bg, path, nil, coord.Sequential)
			if err != nil || got[:len(got)-1] != want[:len(want)-1] {
				t.Errorf("created %q, want %q: %v", got, want, err)
			}
		}
		names, stat, err := c.Children(bg, "/")
		if err != nil || len(names) != 6 || stat.NumChildren != 6 || !slices.IsSorted(names) {
			t.Errorf("children %q, %+v, %v", names, stat, err)
		}
		must(t, c.Sync(bg, "/"))
		res, err := c.Txn(bg, coord.OpCheck("/a", 1), coord.OpCreate("/t-", nil, coord.Sequential), coord.OpSet("/a", nil, 1), coord.OpDelete("/a-container", -1))
		if err != nil || len(res) != 4 || !strings.HasPrefix(res[1].Path, "/t-00") || res[2].Stat.Version != 2 {
			t.Errorf("transaction: %+v, %v", res, err)
		}
		if data, stat, err := c.Get(bg, "/a"); err != nil || len(data) != 0 || stat.Version != 2 {
			t.Errorf("got %q, %+v, %v", data, stat, err)
		}
		if _, err := c.Create(bg, "/closed", nil, 0, coord.ACL{Perms: coord.PermAdmin, Scheme: "world", ID: "anyone"}); err != nil {
			t.Error(err)
		}
		if _, _, err := c.Get(bg, "/closed"); !errors.Is(err, coord.ErrNoAuth) {
			t.Errorf("get what is closed: %v", err)
		}
		must(t, c.Delete(bg, "/t-"+res[1].Path[3:], 0))
		c = dial(coord.Options{Chroot: root + "/other"})
		if res, err := c.Txn(bg, coord.OpCreate("/a", nil, 0), coord.OpCreate("/a/b", nil, 0)); err != nil || res[1].Path != "/a/b" {
			t.Errorf("transaction without a chroot: %+v, %v", res, err)
		}
	})
}

// inBoth runs f with a server in a bubble, and with a real one.
func inBoth(t *testing.T, f func(t testing.TB, dial func(coord.Options) *coord.Client)) {
	t.Run("fake", func(t *testing.T) {
		bubble(t, func(w *world) { f(t, func(o coord.Options) *coord.Client { return w.client(w.line(), o) }) })
	})
	t.Run("real", func(t *testing.T) {
		servers := ensemble.Shared(t).Servers()
		f(t, func(o coord.Options) *coord.Client {
			c, err := coord.Dial(bg, servers, &o)
			must(t, err)
			t.Cleanup(func() { c.Close() })
			return c
		})
	})
}

// What is refused says by which request, of which path, and why: what the ensemble
// refuses, and what cannot be right, of which nothing is sent.
func TestPlainRefusals(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		c := w.client(l, coord.Options{Chroot: "/root"})
		_, err := c.Create(bg, "/a", nil, 0)
		must(t, err)
		_, err = c.Create(bg, "/a/b", nil, 0)
		must(t, err)
		big := make([]byte, limit)
		get := func(path string) error { _, _, err := c.Get(bg, path); return err }
		children := func(path string) error { _, _, err := c.Children(bg, path); return err }
		exists := func(path string) error { _, _, err := c.Exists(bg, path); return err }
		create := func(path string, data []byte, mode coord.Mode) error {
			_, err := c.Create(bg, path, data, mode)
			return err
		}
		set := func(path string, data []byte, version int32) error {
			_, err := c.Set(bg, path, data, version)
			return err
		}
		txn := func(ops ...coord.Op) error { _, err := c.Txn(bg, ops...); return err }
		r := harness.RecordLink(l)
		for _, tt := range []struct {
			op, path string
			do       func() error
			want     error
		}{
			{"get", "/none", func() error { return get("/none") }, coord.ErrNoNode},
			{"children", "/none", func() error { return children("/none") }, coord.ErrNoNode},
			{"create", "/a", func() error { return create("/a", nil, 0) }, coord.ErrNodeExists},
			{"create", "/none/a", func() error { return create("/none/a", nil, 0) }, coord.ErrNoNode},
			{"create", "/", func() error { return create("/", nil, 0) }, coord.ErrNodeExists},
			{"create", "/c", func() error { return create("/c", nil, coord.Persistent.TTL(time.Second)) }, coord.ErrUnimplemented},
			{"set", "/a", func() error { return set("/a", nil, 9) }, coord.ErrBadVersion},
			{"set", "/none", func() error { return set("/none", nil, -1) }, coord.ErrNoNode},
			{"delete", "/a", func() error { return c.Delete(bg, "/a", -1) }, coord.ErrNotEmpty},
			{"txn", "/a", func() error { return txn(coord.OpCheck("/", -1), coord.OpSet("/a", nil, 9)) }, coord.ErrBadVersion},
			{"txn", "/none", func() error { return txn(coord.OpCheck("/none", -1), coord.OpSet("/a", nil, 9)) }, coord.ErrNoNode},
			{"", "", func() error { l.Cut(); return nil }, nil}, // from here on nothing is sent
			{"get", "a", func() error { return get("a") }, coord.ErrInvalidPath},
			{"exists", "/a/", func() error { return exists("/a/") }, coord.ErrInvalidPath},
			{"children", "", func() error { return children("") }, coord.ErrInvalidPath},
			{"sync", "/a//b", func() error { return c.Sync(bg, "/a//b") }, coord.ErrInvalidPath},
			{"create", "/a/", func() error { return create("/a/", nil, 0) }, coord.ErrInvalidPath},
			{"create", "//", func() error { return create("//", nil, coord.Sequential) }, coord.ErrInvalidPath},
			{"create", "/c", func() error { return create("/c", nil, coord.Ephemeral.TTL(time.Second)) }, zk.ErrInvalidFlags},
			{"create", "/c", func() error { return create("/c", big, 0) }, coord.ErrTooLarge},
			{"set", "/..", func() error { return set("/..", nil, 0) }, coord.ErrInvalidPath},
			{"set", "/a", func() error { return set("/a", big, 0) }, coord.ErrTooLarge},
			{"delete", "/\x00", func() error { return c.Delete(bg, "/\x00", 0) }, coord.ErrInvalidPath},
			{"txn", "a", func() error { return txn(coord.OpCheck("/", -1), coord.OpSet("a", nil, 9)) }, coord.ErrInvalidPath},
			{"txn", "/c", func() error { return txn(coord.OpCreate("/c", nil, coord.Container)) }, zk.ErrInvalidFlags},
			{"txn", "", func() error { return txn(coord.OpSet("/a", big[:limit/2], 9), coord.OpSet("/a", big[:limit/2], 9)) }, coord.ErrTooLarge},
			{"txn", "", func() error { return txn(coord.Op{}) }, zk.ErrBadArguments},
		} {
			if tt.op == "" {
				must(t, tt.do())
				r = harness.RecordLink(l)
				continue
			}
			err := tt.do()
			var e *coord.Error
			if !errors.As(err, &e) || e.Op != tt.op || e.Path != tt.path || !errors.Is(err, tt.want) || !refused(err) || len(err.Error()) > 300 {
				t.Errorf("%s %q: %.400v, want %v", tt.op, tt.path, err, tt.want)
			}
			if errors.As(e.Err, new(*coord.Error)) {
				t.Errorf("wrapped twice: %v", err)
			}
		}
		if got := r.Requests(); len(got) != 0 {
			t.Errorf("sent %q", got)
		}
	})
}

// A guarded write is one line: it is carried out while the hold lasts, and not after.
func TestGuardedWrite(t *testing.T) {
	inBoth(t, func(t testing.TB, dial func(coord.Options) *coord.Client) {
		c := dial(coord.Options{Chroot: fmt.Sprintf("/guarded-%d", time.Now().UnixNano())})
		_, err := c.Create(bg, "/balance", nil, 0)
		must(t, err)
		h := take(c, "/lock", nil)
		write := func() error {
			_, err := c.Txn(bg, h.Guard(), coord.OpSet("/balance", []byte("7"), -1))
			return err
		}
		must(t, h.Wait())
		must(t, write())
		must(t, h.Release(bg))
		var e *coord.Error
		if err := write(); !errors.As(err, &e) || e.Path != "/lock" || !errors.Is(err, coord.ErrNotHeld) || !errors.Is(err, zk.ErrNoNode) || err.Error() != "txn /lock: coord: not held" {
			t.Errorf("after the release: %v", err)
		}
		if _, stat, err := c.Get(bg, "/balance"); err != nil || stat.Version != 1 {
			t.Errorf("%+v, %v", stat, err)
		}
		// A guard is of the hold's own path, whatever the chroot of the client that
		// uses it; and before anything is held it lets nothing pass.
		h = c.Kit().NewHold(bg, "hold", "/none", func(k *coord.Keeper) error { <-k.Released(); return coord.ErrReleased })
		if _, err := dial(coord.Options{}).Txn(bg, h.Guard()); !errors.Is(err, coord.ErrNotHeld) {
			t.Errorf("not acquired: %v", err)
		}
		must(t, h.Release(bg))
	})
}
