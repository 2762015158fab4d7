package coord_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sort"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/zkpath"
	"github.com/zkcoord/zkcoord/rwlock"
)

// What is too large for a server is known to the byte: what is let pass has the length
// that servers take, the real one too, and for one byte more they hang up.
func TestSizeIsExact(t *testing.T) {
	exact := func(t testing.TB, m *meter, servers []string) {
		acl := aclOf(5000)
		c := dialed(t, m, servers, acl)
		path := fmt.Sprintf("/size-%d", time.Now().UnixNano())
		data := make([]byte, limit)
		multi := func(ctx context.Context, n int) error {
			_, err := c.Kit().Session().Txn(ctx,
				coord.OpCheck("/", -1),
				coord.OpCreate(path, data[:n/2], coord.Persistent),
				coord.OpSet(path, data[n/2:n], 0),
				coord.OpDelete(path, 1))
			return err
		}
		most := sort.Search(limit, func(n int) bool { return errors.Is(multi(givenUp(), n), coord.ErrTooLarge) }) - 1
		must(t, multi(bg, most))
		if err := multi(bg, most+1); !refused(err) {
			t.Errorf("one byte more: %v", err)
		}
		if conns, longest := m.carried(); conns != 1 || longest != limit {
			t.Errorf("with %d bytes of data %d connections, and a request of %d bytes, want %d", most, conns, longest, limit)
		}
		list := make([]zk.ACL, len(acl))
		for i, a := range acl {
			list[i] = zk.ACL(a)
		}
		n := most + 1
		_, err := c.Conn().Multi(
			&zk.CheckVersionRequest{Path: "/", Version: -1},
			&zk.CreateRequest{Path: path, Data: make([]byte, n/2), Acl: list},
			&zk.SetDataRequest{Path: path, Data: make([]byte, n-n/2), Version: 0},
			&zk.DeleteRequest{Path: path, Version: 1})
		if err == nil || refused(err) {
			t.Errorf("one byte more, sent all the same: %v", err)
		}
	}
	t.Run("fake", func(t *testing.T) {
		bubble(t, func(w *world) { exact(w, &meter{dial: w.line().Dial}, []string{"server"}) })
	})
	t.Run("real", func(t *testing.T) {
		exact(t, &meter{dial: new(net.Dialer).DialContext}, ensemble.Shared(t).Servers())
	})
}

// An access list that leaves no room for anything, and a credential that is more than
// a server takes, are refused before anything is dialed.
func TestDialRefusesWhatHasNoRoom(t *testing.T) {
	for _, x := range []struct {
		what string
		opts coord.Options
	}{
		{"ACL of 2 entries", coord.Options{ACL: aclOf(limit)}},
		{"ACL of 50000 entries", coord.Options{ACL: slices.Repeat([]coord.ACL{{Perms: coord.PermAll, Scheme: "world", ID: "anyone"}}, 50_000)}},
		{"ACL of 2 entries", coord.Options{ACL: aclOf(limit - 10_000), Chroot: "/" + strings.Repeat("x", 10_000)}},
		{"credential of 1048576 bytes", coord.Options{Auth: []coord.Auth{{Scheme: "digest", Credential: make([]byte, limit-5)}}}},
	} {
		ctx, cancel := context.WithCancel(bg)
		x.opts.Dial = func(context.Context, string, string) (net.Conn, error) {
			cancel()
			return nil, net.ErrClosed
		}
		c, err := coord.Dial(ctx, []string{"server"}, &x.opts)
		if ctx.Err() != nil {
			t.Errorf("%s: dialed", x.what)
		}
		cancel()
		if c != nil || !strings.Contains(fmt.Sprint(err), x.what) || len(fmt.Sprint(err)) > 300 {
			t.Errorf("%s: %.400v", x.what, err)
		}
	}
}

// As much as leaves room is taken: data that are replaced need none for the access
// list, and a write lock that has just enough of it says so when a read lock in its
// place would need more, and stays what it is.
func TestJustEnoughRoom(t *testing.T) {
	bubble(t, func(w *world) {
		m := &meter{dial: w.line().Dial}
		c := dialed(w, m, []string{"server"}, aclOf(40<<10))
		modify := func(n int) error {
			_, err := config.New(c, "/value", config.Text()).Modify(bg, func(string) (string, error) {
				return strings.Repeat("x", n), nil
			})
			return err
		}
		must(t, modify(maxData-10<<10))
		must(t, modify(maxData))
		for n := limit - 40; ; n -= 20 {
			m := &meter{dial: w.line().Dial}
			c := dialed(w, m, []string{"server"}, aclOf(n))
			lock := rwlock.New(c, "/l")
			h := lock.AcquireWrite(bg)
			if h.Wait() != nil && n > limit-300 {
				continue
			}
			must(t, h.Err())
			if err := lock.Downgrade(bg, h); !refused(err) || h.Err() != nil {
				t.Errorf("with an access list of %d bytes: %v; %v", n, err, h.Err())
			}
			must(t, h.Release(bg))
			if conns, longest := m.carried(); conns != 1 || longest > limit {
				t.Errorf("%d connections, and a request of %d bytes", conns, longest)
			}
			break
		}
	})
}

// CheckSize says what Multi would, and asks nothing.
func TestCheckSize(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client(w.line(), coord.Options{})
		for _, tt := range []struct {
			op   coord.Op
			want error
		}{
			{coord.OpSet("/a", make([]byte, 1<<19), -1), nil},
			{coord.OpSet("/a", make([]byte, 1<<20), -1), coord.ErrTooLarge},
			{coord.OpDelete("a", -1), coord.ErrInvalidPath},
		} {
			if err := c.Kit().CheckSize(tt.op); !errors.Is(err, tt.want) {
				t.Errorf("%v: %v, want %v", tt.op, err, tt.want)
			}
		}
		if err := c.Kit().CheckSize(coord.OpSet("/a", make([]byte, 1<<19), -1), coord.OpSet("/b", make([]byte, 1<<19), -1)); !errors.Is(err, coord.ErrTooLarge) {
			t.Errorf("two at once: %v", err)
		}
	})
}

// What a server would hang up on is not sent.
func TestLongPaths(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		c := w.client(l, coord.Options{})
		r := harness.RecordLink(l)
		good := "/" + strings.Repeat("ü", 8191) + "x"
		if err := zkpath.Check(good); len(good) != 16<<10 || err != nil {
			t.Errorf("Check of %d bytes = %v", len(good), err)
		}
		for _, bad := range []string{good + "x", "/" + strings.Repeat("a/", 1<<20) + "a"} {
			err := zkpath.Check(bad)
			if !errors.Is(err, coord.ErrInvalidPath) || len(err.Error()) > 1000 {
				t.Errorf("Check of %d bytes = %.1000v", len(bad), err)
			}
			for _, s := range []*event.Stream[event.Snapshot]{c.Watch(bg, bad, event.Data), c.Kit().WatchUntilDeleted(bg, bad)} {
				if !errors.Is(s.Err(), coord.ErrInvalidPath) {
					t.Errorf("a stream on %d bytes: %.1000v", len(bad), s.Err())
				}
			}
		}
		synctest.Wait()
		if got := r.Requests(); len(got) > 0 {
			t.Errorf("asked for %.100q", got)
		}
	})
}

// A request that is just small enough is sent, and the server takes it; one that is
// a byte larger is not sent.
func TestPlainRequestSize(t *testing.T) {
	exact := func(t testing.TB, m *meter, servers []string) {
		c := dialed(t, m, servers, nil)
		dir := fmt.Sprintf("/size-%d", time.Now().UnixNano())
		data := make([]byte, limit)
		for what, do := range map[string]func(n int) error{
			"create":    func(n int) error { _, err := c.Create(bg, dir+"-a", data[:n], 0); return err },
			"sequence":  func(n int) error { _, err := c.Create(bg, dir+"-b", data[:n], coord.Sequential); return err },
			"container": func(n int) error { _, err := c.Create(bg, dir+"-c", data[:n], coord.Container); return err },
			"txn": func(n int) error {
				_, err := c.Txn(bg, coord.OpCreate(dir+"-t", nil, 0), coord.OpSet(dir+"-t", data[:n], 0))
				return err
			},
		} {
			n := limit
			for errors.Is(do(n), coord.ErrTooLarge) {
				n--
			}
			if conns, longest := m.carried(); conns != 1 || longest != limit {
				t.Errorf("%s: %d bytes of data, %d connections, the longest request is of %d bytes", what, n, conns, longest)
			}
		}
		set := func(n int) error { _, err := c.Set(bg, dir+"-a", data[:n], -1); return err }
		n := limit
		for errors.Is(set(n), coord.ErrTooLarge) {
			n--
		}
		if conns, longest := m.carried(); conns != 1 || longest != limit {
			t.Errorf("set: %d bytes of data, %d connections, the longest request is of %d bytes", n, conns, longest)
		}
	}
	t.Run("fake", func(t *testing.T) {
		bubble(t, func(w *world) { exact(w, &meter{dial: w.line().Dial}, []string{"server"}) })
	})
	t.Run("real", func(t *testing.T) {
		exact(t, &meter{dial: new(net.Dialer).DialContext}, ensemble.Shared(t).Servers())
	})
}
