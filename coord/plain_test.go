package coord_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
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
			if !errors.As(err, &e) || e.Op != tt.op || e.Path != tt.path || !errors.Is(err, tt.want) || !coord.Refused(err) || len(err.Error()) > 300 {
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

// The end of ctx ends every request at once, in every state of the connection, and
// so does Close. The error then tells whether a write may have been carried out.
func TestPlainRequestsEndWithContext(t *testing.T) {
	for _, state := range []struct {
		name string
		make func(w *world, l *coordtest.Link, c *coord.Client)
		sent bool // a request is
	}{
		{"ctx has ended", nil, false},
		{"connected, and the server is silent", func(_ *world, l *coordtest.Link, _ *coord.Client) { l.Stall(coordtest.ToClient) }, true},
		{"connected, and the line takes nothing", func(_ *world, l *coordtest.Link, _ *coord.Client) { l.Stall(coordtest.ToServer) }, true},
		{"connected, with many requests before it", func(_ *world, l *coordtest.Link, c *coord.Client) {
			l.Stall(coordtest.ToServer)
			for range 100 { // more than are let in at a time
				go c.Exists(bg, "/a") // ends with c
			}
			synctest.Wait()
		}, false},
		{"suspended", func(w *world, l *coordtest.Link, c *coord.Client) {
			l.Cut()
			w.Await(c, coord.Suspended)
		}, false},
		{"expired", func(w *world, l *coordtest.Link, c *coord.Client) {
			l.Cut()
			w.Await(c, coord.Expired)
		}, false},
		{"expired, and the server does not greet", func(w *world, l *coordtest.Link, c *coord.Client) {
			l.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if f.Op == "connect" {
					return coordtest.Drop
				}
				return coordtest.Pass
			})
			w.Fake.Expire(c.Kit().Session().ID())
			w.Await(c, coord.Expired)
		}, false},
		{"closed", func(_ *world, _ *coordtest.Link, c *coord.Client) { c.Close() }, false},
	} {
		for _, p := range plains {
			t.Run(state.name+", "+p.op, func(t *testing.T) {
				bubble(t, func(w *world) {
					l := w.line()
					c := w.client(l, coord.Options{})
					_, err := c.Create(bg, "/a", []byte("1"), 0)
					must(t, err)
					r := harness.RecordLink(l)
					ctx, cancel := context.WithCancelCause(bg)
					want := errEnough
					if state.make == nil {
						cancel(errEnough)
					} else {
						state.make(w, l, c)
						time.AfterFunc(time.Second, func() { cancel(errEnough) })
					}
					if state.name == "closed" {
						want = coord.ErrClosed
					}
					before := len(r.Requests())
					w.Within(time.Second+soon, p.op, func() { err = p.do(ctx, c) })
					var e *coord.Error
					if !errors.As(err, &e) || e.Op != p.op || !errors.Is(err, want) || coord.Refused(err) {
						t.Errorf("error %v, want %v", err, want)
					}
					if unknown := errors.Is(err, coord.ErrUnknown); unknown != (p.write && state.sent) {
						t.Errorf("error %v; is unknown: %v", err, unknown)
					}
					// What was not sent never will be.
					time.Sleep(time.Minute)
					for _, op := range r.Requests()[before:] {
						if p.write && !state.sent && (strings.HasPrefix(op, p.op) || strings.HasPrefix(op, "multi")) {
							t.Errorf("sent after all: %q", op)
						}
					}
				})
			})
		}
	}
	// Close ends what is under way.
	for _, p := range plains {
		t.Run("closing, "+p.op, func(t *testing.T) {
			bubble(t, func(w *world) {
				l := w.line()
				c := w.client(l, coord.Options{})
				_, err := c.Create(bg, "/a", []byte("1"), 0)
				must(t, err)
				l.Stall(coordtest.ToClient)
				began := time.Now()
				time.AfterFunc(time.Second, func() { c.Close() })
				if err = p.do(bg, c); !errors.Is(err, coord.ErrClosed) || errors.Is(err, coord.ErrUnknown) != p.write || time.Since(began) > time.Second+soon {
					t.Errorf("after %v: %v", time.Since(began), err)
				}
			})
		})
	}
}

// Whichever frame is lost, alone or with the connection, a read is answered, and a
// write is carried out once or not at all: the error tells, or says that it cannot.
func TestPlainRequestsAndLostFrames(t *testing.T) {
	for _, p := range plains {
		for n := 1; ; n++ {
			met := false
			for _, act := range []coordtest.Action{coordtest.HangUp, coordtest.Drop} {
				t.Run(fmt.Sprintf("%s, frame %d, %v", p.op, n, act), func(t *testing.T) {
					bubble(t, func(w *world) {
						l := w.line()
						c := w.client(l, coord.Options{SessionTimeout: 6 * time.Second})
						_, err := c.Create(bg, "/a", []byte("1"), 0)
						must(t, err)
						frames := 0
						l.OnFrame(func(f coordtest.Frame) coordtest.Action {
							if f.Op == "ping" {
								return coordtest.Pass
							}
							if frames++; frames == n {
								met = true
								return act
							}
							return coordtest.Pass
						})
						err = p.do(bg, c)
						switch {
						case !p.write && err != nil, coord.Refused(err):
							t.Errorf("error %v", err)
						case p.write && err != nil && !errors.Is(err, coord.ErrUnknown):
							t.Errorf("not sent, with a connection: %v", err)
						}
						must(t, c.Sync(bg, "/"))
						_, a, errA := c.Get(bg, "/a")
						_, thereB, errB := c.Exists(bg, "/b")
						must(t, errB)
						done := 0
						switch p.op {
						case "create":
							done = map[bool]int{true: 1}[thereB]
						case "delete":
							done = map[bool]int{true: 1}[errors.Is(errA, coord.ErrNoNode)]
						default:
							done = int(a.Version)
						}
						if done > 1 || p.write && err == nil && done != 1 || !p.write && done != 0 {
							t.Errorf("carried out %d times, with the error %v", done, err)
						}
					})
				})
			}
			if !met {
				break
			}
		}
	}
}

// What was not sent before its session expired is done in the next, where nothing is
// read that is older than what has been seen.
func TestPlainRequestsInTheNextSession(t *testing.T) {
	for _, p := range plains {
		t.Run(p.op, func(t *testing.T) {
			bubble(t, func(w *world) {
				l := w.line()
				c := w.client(l, coord.Options{})
				_, err := c.Create(bg, "/a", []byte("1"), 0)
				must(t, err)
				s := c.Kit().Session()
				heal := l.Cut()
				w.Await(c, coord.Suspended)
				time.AfterFunc(time.Minute, func() { heal() })
				r := harness.RecordLink(l)
				if must(t, p.do(bg, c)); s.Err() == nil {
					t.Error("the session has not ended")
				}
				got := slices.DeleteFunc(r.Requests(), func(op string) bool { return op == "connect" })
				if !p.write && p.op != "sync" && (len(got) != 2 || got[0] != "sync /") {
					t.Errorf("asked for %q, want a sync first", got)
				}
			})
		})
	}
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

// A request that is just small enough is sent, and the server takes it; one that is
// a byte larger is not sent.
func TestPlainRequestSize(t *testing.T) {
	exact := func(t testing.TB, m *meter, servers []string) {
		c := dialed(t, m, servers, nil)
		dir := fmt.Sprintf("/size-%d", time.Now().UnixNano())
		for what, do := range map[string]func(n int) error{
			"create":    func(n int) error { _, err := c.Create(bg, dir+"-a", make([]byte, n), 0); return err },
			"sequence":  func(n int) error { _, err := c.Create(bg, dir+"-b", make([]byte, n), coord.Sequential); return err },
			"container": func(n int) error { _, err := c.Create(bg, dir+"-c", make([]byte, n), coord.Container); return err },
			"txn": func(n int) error {
				_, err := c.Txn(bg, coord.OpCreate(dir+"-t", nil, 0), coord.OpSet(dir+"-t", make([]byte, n), 0))
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
		set := func(n int) error { _, err := c.Set(bg, dir+"-a", make([]byte, n), -1); return err }
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
