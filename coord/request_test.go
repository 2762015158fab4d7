package coord_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// ctx that has ended, and why.
var errEnough = errors.New("enough")

func givenUp() context.Context {
	ctx, cancel := context.WithCancelCause(bg)
	cancel(errEnough)
	return ctx
}

// The requests of a session do what they say, below the chroot, and to be not there
// is no error.
func TestSessionRequests(t *testing.T) {
	bubble(t, func(w *world) {
		op := w.client(w.line(), coord.Options{})
		c := w.client(w.line(), coord.Options{Chroot: "/root/app"})
		s := c.Kit().Session()
		if n, err := s.Get(bg, "/a"); n.Exists || err != nil {
			t.Errorf("Get before: %+v, %v", n, err)
		}
		if n, err := s.Exists(bg, "/a"); n.Exists || err != nil {
			t.Errorf("Exists before: %+v, %v", n, err)
		}
		if names, n, err := s.Children(bg, "/"); names != nil || n.Exists || err != nil {
			t.Errorf("Children before: %q, %+v, %v", names, n, err)
		}
		must(t, s.Sync(bg, "/a"))
		must(t, s.InDir(bg, "/", func() error {
			path, err := s.Create(bg, "/a", []byte("1"), coord.Persistent)
			if err == nil && path != "/a" {
				t.Errorf("created %q", path)
			}
			return err
		}))
		stat, err := s.Set(bg, "/a", []byte("22"), 0)
		if err != nil || stat.Version != 1 || stat.DataLength != 2 {
			t.Errorf("Set: %+v, %v", stat, err)
		}
		_, err = s.Create(bg, "/b", nil, coord.Ephemeral)
		must(t, err)
		n, err := s.Get(bg, "/a")
		if err != nil || string(n.Data) != "22" || n.Stat != stat || !n.Exists {
			t.Errorf("Get: %+v, %v", n, err)
		}
		n, err = s.Exists(bg, "/b")
		if err != nil || coord.SessionID(n.EphemeralOwner) != s.ID() || !n.Exists {
			t.Errorf("Exists: %+v, %v", n, err)
		}
		names, dir, err := s.Children(bg, "/")
		if err != nil || !slices.Equal(names, []string{"a", "b"}) || dir.NumChildren != 2 || !dir.Exists {
			t.Errorf("Children: %q, %+v, %v", names, dir, err)
		}
		if n, err := op.Kit().Session().Get(bg, "/root/app/a"); string(n.Data) != "22" || err != nil {
			t.Errorf("from above the chroot: %+v, %v", n, err)
		}
		must(t, s.Delete(bg, "/a", 1))
		if n, err := s.Exists(bg, "/a"); n.Exists || err != nil {
			t.Errorf("Exists after: %+v, %v", n, err)
		}
	})
}

// A refusal by the ensemble is the error of this package and of go-zookeeper that
// says why; and so is that of what could not be sent. Neither is repeated.
func TestSessionRefusals(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		c := w.client(l, coord.Options{})
		s := c.Kit().Session()
		op := w.client(w.line(), coord.Options{})
		for path, acl := range map[string][]coord.ACL{
			"/open":   nil,
			"/closed": {{Perms: coord.PermAdmin, Scheme: "world", ID: "anyone"}},
		} {
			_, err := op.Kit().Session().Create(bg, path, nil, coord.Persistent, acl...)
			must(t, err)
		}
		_, err := op.Kit().Session().Create(bg, "/open/a", nil, coord.Ephemeral)
		must(t, err)
		get := func(path string) error { _, err := s.Get(bg, path); return err }
		create := func(path string, mode coord.Mode, acl ...coord.ACL) error {
			_, err := s.Create(bg, path, nil, mode, acl...)
			return err
		}
		set := func(path string, data []byte, version int32) error {
			_, err := s.Set(bg, path, data, version)
			return err
		}
		r, sent := harness.RecordLink(l), 0
		for _, tt := range []struct {
			what string
			err  error
			want []error
			sent bool
		}{
			{"get closed", get("/closed"), []error{coord.ErrNoAuth, zk.ErrNoAuth}, true},
			{"create existing", create("/open", 0), []error{coord.ErrNodeExists, zk.ErrNodeExists}, true},
			{"create below none", create("/none/a", 0), []error{coord.ErrNoNode, zk.ErrNoNode}, true},
			{"create below ephemeral", create("/open/a/b", 0), []error{coord.ErrNoChildrenForEphemerals, zk.ErrNoChildrenForEphemerals}, true},
			{"create with a bad list", create("/b", 0, coord.ACL{Perms: 1, Scheme: "auth"}), []error{coord.ErrInvalidACL, zk.ErrInvalidACL}, true},
			{"create with a TTL", create("/b", coord.Persistent.TTL(time.Second)), []error{coord.ErrUnimplemented}, true},
			{"set another version", set("/open", nil, 7), []error{coord.ErrBadVersion, zk.ErrBadVersion}, true},
			{"set none", set("/none", nil, -1), []error{coord.ErrNoNode, zk.ErrNoNode}, true},
			{"delete with children", s.Delete(bg, "/open", -1), []error{coord.ErrNotEmpty, zk.ErrNotEmpty}, true},
			{"delete none", s.Delete(bg, "/none", -1), []error{coord.ErrNoNode, zk.ErrNoNode}, true},
			{"set too much", set("/open", make([]byte, limit), -1), []error{coord.ErrTooLarge}, false},
			{"get no path", get("open"), []error{coord.ErrInvalidPath}, false},
			{"create no path", create("/a/", 0), []error{coord.ErrInvalidPath}, false},
			{"set no path", set("", nil, -1), []error{coord.ErrInvalidPath}, false},
			{"delete no path", s.Delete(bg, "//", -1), []error{coord.ErrInvalidPath}, false},
			{"sync no path", s.Sync(bg, "/."), []error{coord.ErrInvalidPath}, false},
			{"create in no mode", create("/b", coord.Container|coord.Ephemeral), []error{zk.ErrInvalidFlags}, false},
			{"create with no TTL", create("/b", coord.Persistent.TTL(0)), []error{zk.ErrInvalidFlags}, false},
			{"create with too long a TTL", create("/b", coord.Persistent.TTL(1<<63-1)), []error{zk.ErrInvalidFlags}, false},
			{"create a number that might be two", create("/b", coord.Sequential), []error{zk.ErrInvalidFlags}, false},
		} {
			for _, want := range tt.want {
				if !errors.Is(tt.err, want) || !refused(tt.err) {
					t.Errorf("%s: %v, which is not %v", tt.what, tt.err, want)
				}
			}
			if tt.sent {
				sent++
			}
		}
		if got := r.Requests(); len(got) != sent {
			t.Errorf("sent %q, want %d requests", got, sent)
		}
	})
}

// Requests of a session are repeated until they are answered, whichever frame is
// lost; what is written twice is written.
func TestSessionRequestsAreRepeated(t *testing.T) {
	for what, do := range map[string]func(s *coord.Session) error{
		"get":      func(s *coord.Session) error { _, err := s.Get(bg, "/a"); return err },
		"exists":   func(s *coord.Session) error { _, err := s.Exists(bg, "/a"); return err },
		"children": func(s *coord.Session) error { _, _, err := s.Children(bg, "/a"); return err },
		"sync":     func(s *coord.Session) error { return s.Sync(bg, "/a") },
		"set":      func(s *coord.Session) error { _, err := s.Set(bg, "/a", nil, -1); return err },
		"create": func(s *coord.Session) error {
			_, err := s.Create(bg, "/b", nil, 0)
			if errors.Is(err, coord.ErrNodeExists) {
				err = nil
			}
			return err
		},
		"delete": func(s *coord.Session) error {
			err := s.Delete(bg, "/a", -1)
			if errors.Is(err, coord.ErrNoNode) {
				err = nil
			}
			return err
		},
	} {
		for _, dir := range []coordtest.Direction{coordtest.ToServer, coordtest.ToClient} {
			t.Run(fmt.Sprintf("%s, lost %v", what, dir), func(t *testing.T) {
				bubble(t, func(w *world) {
					l := w.line()
					c := w.client(l, coord.Options{})
					create(t, c, "/a", "", 0)
					met := 0
					l.OnFrame(func(f coordtest.Frame) coordtest.Action {
						if f.Dir == dir && f.Path != "" && met < 2 {
							met++
							return coordtest.HangUp
						}
						return coordtest.Pass
					})
					must(t, do(c.Kit().Session()))
					if met != 2 {
						t.Errorf("%d frames were lost, want 2", met)
					}
				})
			})
		}
	}
}

// Retry repeats until nil or a refusal, and ends with ctx and with the session.
func TestSessionRetry(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client(w.line(), coord.Options{})
		s := c.Kit().Session()
		calls := 0
		again := func(n int, last error) func() error {
			calls = 0
			return func() error {
				if calls++; calls < n {
					return fmt.Errorf("%w: answer lost", coord.ErrUnknown)
				}
				return last
			}
		}
		if err := s.Retry(bg, again(5, nil)); err != nil || calls != 5 {
			t.Errorf("%d calls: %v", calls, err)
		}
		if err := s.Retry(bg, again(3, coord.ErrNoAuth)); err != coord.ErrNoAuth || calls != 3 {
			t.Errorf("%d calls: %v", calls, err)
		}
		ctx, cancel := context.WithTimeoutCause(bg, time.Minute, errEnough)
		defer cancel()
		began := time.Now()
		if err := s.Retry(ctx, again(1000, nil)); err != errEnough || time.Since(began) != time.Minute || calls < 30 || calls > 150 {
			t.Errorf("%d calls, %v: %v", calls, time.Since(began), err)
		}
		time.AfterFunc(time.Second, func() { w.Fake.Expire(s.ID()) })
		if err := s.Retry(bg, again(1000, nil)); !errors.Is(err, coord.ErrExpired) {
			t.Errorf("expired: %v", err)
		}
		// The kit's begins again in the next session.
		w.Await(c, coord.Connected)
		var in []*coord.Session
		err := c.Kit().Retry(bg, func(s *coord.Session) error {
			if in = append(in, s); len(in) == 1 {
				w.Fake.Expire(s.ID())
				<-s.Done()
				return s.Err()
			}
			return s.Sync(bg, "/")
		})
		if err != nil || len(in) != 2 || in[0] == in[1] || in[1] != c.Kit().Session() {
			t.Errorf("in %d sessions: %v", len(in), err)
		}
		if err := c.Kit().Retry(givenUp(), func(s *coord.Session) error { return s.Sync(givenUp(), "/") }); err != errEnough {
			t.Errorf("ended: %v", err)
		}
		c.Close()
		if err := c.Kit().Retry(bg, func(s *coord.Session) error { return s.Sync(bg, "/") }); !errors.Is(err, coord.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
	})
}
