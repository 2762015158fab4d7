package coord_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/harness"
)

const secret = "hunter2"

// A journal is a place for logs.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.String()
}

func (j *journal) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// A refused credential ends Dial, and says which scheme it was, and no more. It
// may take a few attempts: a server that hangs up behind its refusal can destroy
// it on the way. Between attempts Dial pauses, each time for longer, so the bound
// leaves room for several in a row that are lost.
func TestDialWithWrongCredentials(t *testing.T) {
	for name, auth := range map[string][]coord.Auth{
		"alone":  {{Scheme: "kerberos", Credential: []byte(secret)}},
		"first":  {{Scheme: "kerberos", Credential: []byte(secret)}, {Scheme: "digest", Credential: []byte("u:" + secret)}},
		"second": {{Scheme: "digest", Credential: []byte("u:" + secret)}, {Scheme: "kerberos", Credential: []byte(secret)}},
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				bubble(t, func(w *world) {
					var j journal
					w.Within(5*time.Second, "Dial", func() {
						_, err := coord.Dial(bg, []string{"server"}, &coord.Options{Dial: w.line().Dial, Auth: auth, Logger: j.logger()})
						if !errors.Is(err, zk.ErrAuthFailed) || !strings.Contains(err.Error(), `"kerberos"`) {
							t.Errorf("error %v, want that the credential of scheme kerberos is refused", err)
						}
						if strings.Contains(err.Error()+j.String(), secret) {
							t.Errorf("the secret is told: %v; log:\n%s", err, &j)
						}
					})
				})
			}
		})
	}
}

// R61: with credentials Dial waits for an answer to them, and no longer than its
// ctx.
func TestDialWithCredentialsEndsWithItsContext(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		l.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Op == "auth" || f.Op == "exists" {
				return coordtest.Drop
			}
			return coordtest.Pass
		})
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		w.Within(time.Second+soon, "Dial", func() {
			_, err := coord.Dial(ctx, []string{"server"}, &coord.Options{Dial: l.Dial, Auth: []coord.Auth{{Scheme: "digest", Credential: []byte("u:" + secret)}}})
			if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), secret) {
				t.Errorf("error %v", err)
			}
		})
	})
}

// What one client guards another cannot read without the credential; with it
// the first can, also after a reconnect and in a new session; and the secret is
// in no log.
func TestCredentialsOnEveryConnection(t *testing.T) {
	bubble(t, func(w *world) {
		var j journal
		l := w.line()
		auth := coord.Auth{Scheme: "digest", Credential: []byte("u:" + secret)}
		c := w.client(l, coord.Options{Auth: []coord.Auth{auth}, ACL: []coord.ACL{auth.ACL(coord.PermAll)}, Logger: j.logger()})
		other := w.client(w.line(), coord.Options{})
		must(t, c.Kit().Session().MakeDir(bg, "/ours/deep"))
		get := func(c *coord.Client) error {
			_, _, err := c.Get(bg, "/ours/deep")
			return err
		}
		for range 3 {
			must(t, get(c))
			if err := get(other); !errors.Is(err, zk.ErrNoAuth) {
				t.Errorf("without the credential: %v, want %v", err, zk.ErrNoAuth)
			}
			w.Flap(c, l.Reset)
			must(t, get(c))
			w.Flap(c, func() { w.Fake.Expire(c.Kit().Session().ID()) })
		}
		for _, text := range []string{fmt.Sprint(auth), fmt.Sprintf("%v %+v %#v %s", auth, auth, auth, auth), j.String()} {
			if strings.Contains(text, secret) || text == "" {
				t.Errorf("the secret is told, or nothing at all:\n%s", text)
			}
		}
		if !strings.Contains(j.String(), "connected") {
			t.Errorf("log:\n%s", &j)
		}
	})
}

// Paths are below the chroot: those given and those told; what is missing of it
// is made when it is needed.
func TestChroot(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client(w.line(), coord.Options{Chroot: "/apps/one"})
		for path, full := range map[string]string{"/": "/apps/one", "/a": "/apps/one/a"} {
			if got := c.FullPath(path); got != full {
				t.Errorf("FullPath(%q) = %q, want %q", path, got, full)
			}
		}
		if tree := w.Tree(); strings.Contains(tree, "apps") {
			t.Errorf("before it is needed there is\n%s", tree)
		}
		s := c.Watch(bg, "/a", event.Presence)
		if snap := <-s.Updates(); snap.Exists || snap.Path != "/a" {
			t.Errorf("first %+v", snap)
		}
		must(t, c.Kit().Session().MakeDir(bg, c.FullPath("/a")))
		if snap := <-s.Updates(); !snap.Exists || snap.Path != "/a" {
			t.Errorf("then %+v", snap)
		}
	})
	if c := newClientAt(t, "/"); c != "/x" {
		t.Errorf("FullPath without a chroot = %q", c)
	}
}

func newClientAt(t *testing.T, chroot string) (full string) {
	bubble(t, func(w *world) { full = w.client(w.line(), coord.Options{Chroot: chroot}).FullPath("/x") })
	return full
}

// R41: directories are containers where the server has them, made anew though
// they are removed all the time, and persistent where it has not.
func TestMakeDir(t *testing.T) {
	t.Run("reaped all the time", func(t *testing.T) {
		bubble(t, func(w *world) {
			l := w.line()
			c := w.client(l, coord.Options{})
			ctx, cancel := context.WithCancel(bg)
			var made int
			l.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if f.Dir == coordtest.ToServer && strings.HasPrefix(f.Op, "createContainer") && made%3 != 0 {
					w.Fake.Reap()
				}
				if f.Dir == coordtest.ToServer {
					made++
				}
				return coordtest.Pass
			})
			defer cancel()
			for i := range 100 {
				leaf := fmt.Sprintf("/a/b/c%d", i)
				for {
					must(t, c.Kit().Session().MakeDir(ctx, "/a/b"))
					if _, err := c.Conn().Create(leaf, nil, 0, zk.WorldACL(zk.PermAll)); err == nil {
						break
					} else if !errors.Is(err, zk.ErrNoNode) {
						t.Fatal(err)
					}
				}
				must(t, c.Conn().Delete(leaf, -1))
			}
			w.Fake.Reap()
			w.Fake.Reap()
			w.Fake.Reap()
			if tree := w.Tree(); strings.Contains(tree, "/a") {
				t.Errorf("what is empty is no container:\n%s", tree)
			}
		})
	})
	// The parent goes between its own creation and that of its child.
	remove := func(t *testing.T, path string, times int, f func(w *world, made func() (creates []string), err error)) {
		bubble(t, func(w *world) {
			l := w.line()
			c, other := w.client(l, coord.Options{}), w.client(w.line(), coord.Options{})
			r := harness.RecordLink(l)
			var removed int
			above := path[:strings.LastIndexByte(path, '/')]
			l.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if f.Dir == coordtest.ToServer && f.Path == path && removed < times {
					if err := other.Conn().Delete(above, -1); err == nil {
						removed++
					} else if !errors.Is(err, zk.ErrNoNode) {
						t.Error(err)
					}
				}
				r.Add(f)
				return coordtest.Pass
			})
			err := c.Kit().Session().MakeDir(bg, path)
			f(w, r.Requests, err)
			if removed == 0 {
				t.Error("nothing was removed")
			}
		})
	}
	for _, path := range []string{"/a/b", "/a/b/c", "/a/b/c/d"} {
		t.Run("removed now and then "+path, func(t *testing.T) {
			remove(t, path, 3, func(w *world, _ func() []string, err error) {
				if err != nil || !strings.Contains(w.Tree(), path) {
					t.Errorf("MakeDir = %v; tree\n%s", err, w.Tree())
				}
			})
		})
		t.Run("removed forever "+path, func(t *testing.T) {
			remove(t, path, 1<<30, func(w *world, made func() []string, err error) {
				if err == nil || !errors.Is(err, zk.ErrNoNode) || !strings.Contains(err.Error(), path+": it is removed as soon as it is made: "+zk.ErrNoNode.Error()) {
					t.Errorf("MakeDir = %v", err)
				}
				if got := made(); len(got) < 8 || len(got) > 20 {
					t.Errorf("%d requests: %q", len(got), got)
				}
			})
		})
	}
	t.Run("no containers", func(t *testing.T) {
		bubble(t, func(w *world) {
			l := w.line()
			c, err := coord.Dial(bg, []string{"server"}, &coord.Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := l.Dial(ctx, network, addr)
				return withoutContainers(conn), err
			}})
			must(t, err)
			defer c.Close()
			must(t, c.Kit().Session().MakeDir(bg, "/a/b/c"))
			must(t, c.Kit().Session().MakeDir(bg, "/a/b/c"))
			w.Fake.Reap()
			if !strings.Contains(w.Tree(), "/a/b/c") {
				t.Errorf("tree\n%s", w.Tree())
			}
		})
	})
	t.Run("refused", func(t *testing.T) {
		bubble(t, func(w *world) {
			c := w.client(w.line(), coord.Options{})
			create(t, c, "/closed", "", 0)
			_, err := c.Conn().SetACL("/closed", zk.WorldACL(zk.PermRead), -1)
			must(t, err)
			create(t, c, "/short", "", coord.Ephemeral)
			for path, want := range map[string]error{"/closed/a": zk.ErrNoAuth, "/closed/a/b": zk.ErrNoAuth, "/short/a/b": zk.ErrNoChildrenForEphemerals} {
				if err := c.Kit().Session().MakeDir(bg, path); !errors.Is(err, want) || !strings.Contains(err.Error(), path[:8]) {
					t.Errorf("MakeDir(%s) = %v, want %v", path, err, want)
				}
			}
			must(t, c.Kit().Session().MakeDir(bg, "/"))
		})
	})
}

// R55: a logger or a trace function that blocks stalls nothing but Close, and
// all is told in order.
func TestBlockingTraceStallsNothing(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		var h history
		trace := h.trace()
		open := make(chan struct{})
		trace.HoldBegin = func(_ context.Context, i coord.HoldInfo) {
			h.add(0, "acquired %s %s %v", i.Op, i.Path, i.Token > 0)
		}
		trace.HoldEnd = func(_ context.Context, i coord.HoldInfo) { h.add(0, "lost %v", errors.Is(i.Err, coord.ErrExpired)) }
		trace.HoldDone = func(_ context.Context, i coord.HoldInfo) { h.add(0, "done %v", errors.Is(i.Err, coord.ErrExpired)) }
		trace.DialFailed = func(_ context.Context, i coord.SessionInfo) { h.add(0, "failed %s", i.Server); <-open }
		c := w.client(l, coord.Options{Trace: trace, Logger: slog.New(slog.NewTextHandler(blocked(open), nil))})
		hold := take(c, "/lock", nil)
		must(t, hold.Wait())
		heal := l.Cut()
		<-hold.Lost()
		<-hold.Done()
		heal()
		w.Within(10*time.Second, "reconnect", func() { w.Await(c, coord.Connected) })
		must(t, within(w, func() error { _, _, err := c.Exists(bg, "/"); return err }))
		synctest.Wait()
		time.AfterFunc(time.Minute, func() { close(open) })
		start := time.Now()
		c.Close()
		if time.Since(start) < time.Minute {
			t.Error("Close has not waited for what is to be told")
		}
		said := strings.Join(h.said, ", ")
		for range 100 {
			said = strings.ReplaceAll(said, "failed server:2181, failed", "failed")
		}
		if want := "connected, acquired take /lock true, suspended, failed server:2181, lost true, expired, done true, connected"; said != want &&
			said != strings.Replace(want, "expired, done true", "done true, expired", 1) {
			t.Errorf("was told %s\nwant %s", said, want)
		}
	})
}

type blocked chan struct{}

func (b blocked) Write(p []byte) (int, error) {
	<-b
	return len(p), nil
}
