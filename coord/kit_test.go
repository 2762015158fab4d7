package coord_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
)

// A stream of a recipe ends once, with one cause, for whatever reason; and whatever
// run does, Close does not wait for more than that.
func TestNewStream(t *testing.T) {
	for _, tt := range []struct {
		name, path string
		ctx        context.Context
		end        func(w *world, c *coord.Client, cancel func()) // once the first value is there
		run        func(context.Context, event.Publisher[int]) error
		want       error
		text       string
		never      bool // run is not called
	}{
		{name: "run returns why", run: func(context.Context, event.Publisher[int]) error { return coord.ErrNoAuth },
			want: coord.ErrNoAuth, text: "follow /a: coord: access denied"},
		{name: "the end of another stream is not wrapped twice", run: func(context.Context, event.Publisher[int]) error {
			return &coord.Error{Op: "watch", Path: "/b", Err: coord.ErrNoAuth}
		}, want: coord.ErrNoAuth, text: "follow /a: coord: access denied"},
		{name: "ctx ends", end: func(_ *world, _ *coord.Client, cancel func()) { cancel() }, want: errEnough, text: "follow /a: enough"},
		{name: "the client is closed", end: func(_ *world, c *coord.Client, _ func()) { c.Close() },
			want: coord.ErrClosed, text: "follow /a: coord: client closed"},
		{name: "run returns nil when ctx ends", run: func(ctx context.Context, _ event.Publisher[int]) error {
			<-ctx.Done()
			return nil
		}, end: func(_ *world, _ *coord.Client, cancel func()) { cancel() }, want: errEnough, text: "follow /a: enough"},
		{name: "run gives no reason", run: func(context.Context, event.Publisher[int]) error { return nil },
			text: "follow /a: coord: recipe ended without a cause"},
		{name: "run does not return", run: func(context.Context, event.Publisher[int]) error {
			runtime.Goexit()
			return nil
		}, text: "follow /a: coord: function ended its goroutine instead of returning"},
		{name: "no path", path: "a/", want: coord.ErrInvalidPath, never: true, text: `follow a/: coord: invalid path "a/": does not begin with a slash`},
		{name: "ctx has ended", ctx: givenUp(), want: errEnough, never: true, text: "follow /a: enough"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(w *world) {
				c := w.client(w.line(), coord.Options{Chroot: "/root"})
				ctx := tt.ctx
				if ctx == nil {
					ctx = bg
				}
				ctx, cancel := context.WithCancelCause(ctx)
				defer cancel(nil)
				path := tt.path
				if path == "" {
					path = "/a"
				}
				called := false
				s := coord.NewStream(ctx, c, "follow", path, func(ctx context.Context, p event.Publisher[int]) error {
					called = true
					p.Publish(42)
					if tt.run != nil {
						return tt.run(ctx, p)
					}
					<-ctx.Done()
					return context.Cause(ctx)
				})
				synctest.Wait()
				if tt.end != nil {
					if isClosed(s.Done()) {
						t.Error("over too soon")
					}
					tt.end(w, c, func() { cancel(errEnough) })
				}
				<-s.Done()
				err := s.Err()
				var e *coord.Error
				if !errors.As(err, &e) || e.Op != "follow" || e.Path != path || err.Error() != tt.text || tt.want != nil && !errors.Is(err, tt.want) {
					t.Errorf("ended with %q, want %q", err, tt.text)
				}
				if v, ok := s.Latest(); called == tt.never || ok != called || called && v != 42 {
					t.Errorf("called: %v; latest %v", called, v)
				}
			})
		})
	}
	bubble(t, func(w *world) {
		c := w.client(w.line(), coord.Options{})
		c.Close()
		s := coord.NewStream(bg, c, "follow", "/a", func(context.Context, event.Publisher[int]) error { panic("called") })
		if !isClosed(s.Done()) || !errors.Is(s.Err(), coord.ErrClosed) {
			t.Errorf("of a closed client: %v", s.Err())
		}
	})
}

// What a kit is made of: sessions, tasks that Close waits for, values that all users
// share.
func TestKit(t *testing.T) {
	bubble(t, func(w *world) {
		acl, want := coord.Auth{Scheme: "digest", Credential: []byte("user:secret")}.ACL(coord.PermRead), coord.ACL{Perms: 1, Scheme: "digest", ID: "user:5w9W4eL3797Y4Wq8AcKUPPk8ha4="}
		if acl != want {
			t.Errorf("digest is %v, want %v", acl, want)
		}
		c := w.client(w.line(), coord.Options{})
		k := c.Kit()
		if k != c.Kit() {
			t.Error("another kit each time")
		}
		s, err := k.Await(bg)
		if must(t, err); s != k.Session() || s.ID() == 0 || k.IsPastSession(s.ID()) {
			t.Errorf("session %v", s.ID())
		}
		w.Fake.Expire(s.ID())
		<-s.Done()
		if !k.IsPastSession(s.ID()) || k.IsPastSession(s.ID()+1) {
			t.Error("the session is not past")
		}
		if k.Session() == s {
			t.Error("no next session")
		}
		if got, want := k.ACL(), []coord.ACL{{Perms: coord.PermAll, Scheme: "world", ID: "anyone"}}; !slices.Equal(got, want) {
			t.Errorf("ACL %v, want %v", got, want)
		}
		type key struct{}
		k.Values().Store(key{}, 1)
		if v, ok := c.Kit().Values().Load(key{}); !ok || v != 1 {
			t.Errorf("value %v", v)
		}
		ended := false
		if !k.Go(func(ctx context.Context) {
			<-ctx.Done()
			time.Sleep(time.Second)
			ended = errors.Is(context.Cause(ctx), coord.ErrClosed)
		}) {
			t.Error("not run")
		}
		c.Close()
		if !ended {
			t.Error("Close has not waited")
		}
		if k.Go(func(context.Context) { panic("run") }) {
			t.Error("run after Close")
		}
		if _, err := k.Await(bg); !errors.Is(err, coord.ErrClosed) {
			t.Errorf("Await after Close: %v", err)
		}
	})
}

// What is lost can be acquired again; what has ended otherwise is not lost.
func TestIsLost(t *testing.T) {
	for _, err := range []error{coord.ErrExpired, coord.ErrDeleted, coord.ErrRevoked} {
		if !coord.IsLost(&coord.Error{Op: "lost", Path: "/a", Err: fmt.Errorf("%w: more", err)}) {
			t.Errorf("%v: not lost", err)
		}
	}
	for _, err := range []error{nil, coord.ErrReleased, coord.ErrLocked, coord.ErrClosed, coord.ErrExhausted, coord.ErrUnknown, coord.ErrNoAuth, context.Canceled} {
		if coord.IsLost(err) {
			t.Errorf("%v: lost", err)
		}
	}
}

// A connect string as ZooKeeper's tools take it gives servers and a chroot.
func TestParseServers(t *testing.T) {
	for _, tt := range []struct {
		connect string
		servers []string
		chroot  string
	}{
		{"zk1", []string{"zk1:2181"}, ""},
		{"zk1:2182,zk2", []string{"zk1:2182", "zk2:2181"}, ""},
		{" zk1 , zk2:1,", []string{"zk1:2181", "zk2:1"}, ""},
		{"zk1:2181,zk2:2181/app", []string{"zk1:2181", "zk2:2181"}, "/app"},
		{"zk1/a/b", []string{"zk1:2181"}, "/a/b"},
		{"zk1/", []string{"zk1:2181"}, ""},
		{"[::1]:2182,[2001:db8::1],::2/app", []string{"[::1]:2182", "[2001:db8::1]:2181", "[::2]:2181"}, "/app"},
	} {
		servers, chroot, err := coord.ParseServers(tt.connect)
		if err != nil || !slices.Equal(servers, tt.servers) || chroot != tt.chroot {
			t.Errorf("%q: %q, %q, %v; want %q, %q", tt.connect, servers, chroot, err, tt.servers, tt.chroot)
		}
	}
	for _, bad := range []string{"", "/", "/app", ",", "zk1:0", "zk1:x", "zk1/app/", "zk1//", "zk 1", "zk1:1:2", "zk1/a,zk2/b/"} {
		if servers, chroot, err := coord.ParseServers(bad); err == nil || servers != nil || chroot != "" {
			t.Errorf("%q: %q, %q, %v", bad, servers, chroot, err)
		}
	}
	if _, _, err := coord.ParseServers("zk1/app/"); !errors.Is(err, coord.ErrInvalidPath) {
		t.Errorf("a chroot that ends with a slash: %v", err)
	}
}
