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
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/rwlock"
)

// What is too large for a server is known to the byte: what is let pass has the length
// that servers take, the real one too, and for one byte more they hang up.
func TestSizeIsExact(t *testing.T) {
	exact := func(t testing.TB, m *meter, servers []string) {
		acl := aclOf(5000)
		c := dialed(t, m, servers, acl)
		path := fmt.Sprintf("/size-%d", time.Now().UnixNano())
		multi := func(ctx context.Context, n int) error {
			_, err := c.Kit().Session().Multi(ctx,
				coord.OpCheck("/", -1),
				coord.OpCreate(path, make([]byte, n/2), coord.Persistent),
				coord.OpSet(path, make([]byte, n-n/2), 0),
				coord.OpDelete(path, 1))
			return err
		}
		most := sort.Search(limit, func(n int) bool { return errors.Is(multi(givenUp(), n), coord.ErrTooLarge) }) - 1
		must(t, multi(bg, most))
		if err := multi(bg, most+1); !coord.Refused(err) {
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
		if err == nil || coord.Refused(err) {
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
			if err := lock.Downgrade(bg, h); !coord.Refused(err) || h.Err() != nil {
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
