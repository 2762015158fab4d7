package coord_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
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
		if err != nil || n.EphemeralOwner != s.ID() || !n.Exists {
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
				if !errors.Is(tt.err, want) || !coord.Refused(tt.err) {
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

// Of a transaction it is known whether it was refused, and by which op; whether it
// may have been carried out; and whether it was never sent.
func TestMulti(t *testing.T) {
	ops := []coord.Op{coord.OpCheck("/", -1), coord.OpCreate("/q/n-", []byte("x"), coord.Ephemeral|coord.Sequential), coord.OpSet("/q", nil, 0)}
	start := func(w *world) (*coordtest.Link, *coord.Session) {
		l := w.line()
		c := w.client(l, coord.Options{Chroot: "/root"})
		must(w, c.Kit().Session().InDir(bg, "/q", func() error { _, err := c.Kit().Session().Create(bg, "/q/x", nil, 0); return err }))
		must(w, c.Kit().Session().Delete(bg, "/q/x", 0))
		return l, c.Kit().Session()
	}
	carriedOut := func(s *coord.Session) bool {
		names, _, err := s.Children(bg, "/q")
		must(t, err)
		return len(names) > 0
	}
	t.Run("carried out", func(t *testing.T) {
		bubble(t, func(w *world) {
			_, s := start(w)
			res, err := s.Multi(bg, ops...)
			if err != nil || len(res) != 3 || res[1].Path != "/q/n-0000000001" || res[2].Stat.Version != 1 || res[2].Stat.NumChildren != 1 {
				t.Errorf("%+v, %v", res, err)
			}
			if !carriedOut(s) {
				t.Error("not carried out")
			}
		})
	})
	t.Run("refused by an op", func(t *testing.T) {
		bubble(t, func(w *world) {
			_, s := start(w)
			res, err := s.Multi(bg, ops[0], ops[1], coord.OpSet("/q", nil, 9), coord.OpDelete("/q", 0))
			if !coord.Refused(err) || !errors.Is(err, coord.ErrBadVersion) || len(res) != 4 {
				t.Fatalf("%+v, %v", res, err)
			}
			for i, r := range res {
				if (i == 2) != (r.Err != nil) || i == 2 && !errors.Is(r.Err, coord.ErrBadVersion) {
					t.Errorf("result %d: %v", i, r.Err)
				}
			}
			if carriedOut(s) {
				t.Error("carried out")
			}
		})
	})
	t.Run("not sent for what it asks", func(t *testing.T) {
		bubble(t, func(w *world) {
			l, s := start(w)
			r := harness.RecordLink(l)
			for _, tt := range []struct {
				op   coord.Op
				want error
			}{
				{coord.OpCreate("q", nil, 0), coord.ErrInvalidPath},
				{coord.OpCreate("/q/", nil, 0), coord.ErrInvalidPath},
				{coord.OpSet("/q/..", nil, 0), coord.ErrInvalidPath},
				{coord.OpDelete("", 0), coord.ErrInvalidPath},
				{coord.OpCheck("//", 0), coord.ErrInvalidPath},
				{coord.OpCreate("/q/c", nil, coord.Container), zk.ErrInvalidFlags},
				{coord.OpCreate("/q/c", nil, coord.Persistent.TTL(time.Hour)), zk.ErrInvalidFlags},
				{coord.OpCreate("/q/c", nil, 128), zk.ErrInvalidFlags},
				{coord.Op{}, zk.ErrBadArguments},
			} {
				res, err := s.Multi(bg, ops[0], tt.op)
				if !coord.Refused(err) || !errors.Is(err, tt.want) || len(res) != 2 || res[0].Err != nil || res[1].Err != err {
					t.Errorf("%v: %+v, %v", tt.op, res, err)
				}
			}
			res, err := s.Multi(bg, coord.OpSet("/q", make([]byte, limit/2), -1), coord.OpSet("/q", make([]byte, limit/2), -1))
			if !coord.Refused(err) || !errors.Is(err, coord.ErrTooLarge) || res[0].Err != nil || res[1].Err != nil {
				t.Errorf("too large: %v, %+v", err, res)
			}
			if got := r.Requests(); len(got) != 0 {
				t.Errorf("sent %q", got)
			}
		})
	})
	for _, dir := range []coordtest.Direction{coordtest.ToServer, coordtest.ToClient} {
		for _, act := range []coordtest.Action{coordtest.HangUp, coordtest.Drop} {
			t.Run(fmt.Sprintf("lost %v, %v", dir, act), func(t *testing.T) {
				bubble(t, func(w *world) {
					l, s := start(w)
					met := 0
					l.OnFrame(func(f coordtest.Frame) coordtest.Action {
						if f.Dir == dir && f.Op == "multi" {
							met++
							return act
						}
						return coordtest.Pass
					})
					ctx, cancel := context.WithTimeoutCause(bg, time.Second, errEnough)
					defer cancel()
					_, err := s.Multi(ctx, ops...)
					if !errors.Is(err, coord.ErrUnknown) || coord.Refused(err) || errors.Is(err, errEnough) != (act == coordtest.Drop) {
						t.Errorf("error %v", err)
					}
					must(t, s.Sync(bg, "/"))
					if met != 1 || carriedOut(s) != (dir == coordtest.ToClient) {
						t.Errorf("sent %d times, carried out: %v", met, carriedOut(s))
					}
				})
			})
		}
	}
	t.Run("never sent", func(t *testing.T) {
		bubble(t, func(w *world) {
			l, s := start(w)
			r := harness.RecordLink(l)
			if _, err := s.Multi(givenUp(), ops...); err != errEnough {
				t.Errorf("ctx has ended: %v", err)
			}
			heal := l.Cut()
			synctest.Wait()
			ctx, cancel := context.WithTimeoutCause(bg, time.Second, errEnough)
			defer cancel()
			if _, err := s.Multi(ctx, ops...); err != errEnough {
				t.Errorf("ctx ends before there is a connection: %v", err)
			}
			time.AfterFunc(time.Second, func() {
				w.Fake.Expire(s.ID())
				heal()
			})
			if _, err := s.Multi(bg, ops...); !errors.Is(err, coord.ErrExpired) || errors.Is(err, coord.ErrUnknown) {
				t.Errorf("the session ends before there is a connection: %v", err)
			}
			if slices.Contains(r.Requests(), "multi /root") {
				t.Errorf("sent %q", r.Requests())
			}
		})
	})
	t.Run("the session ends while an answer is due", func(t *testing.T) {
		bubble(t, func(w *world) {
			l, s := start(w)
			l.Stall(coordtest.ToClient)
			time.AfterFunc(time.Second, func() { w.Fake.Expire(s.ID()) })
			_, err := s.Multi(bg, ops...)
			if !errors.Is(err, coord.ErrUnknown) || !errors.Is(err, coord.ErrExpired) && !errors.Is(err, zk.ErrConnectionClosed) {
				t.Errorf("error %v", err)
			}
		})
	})
}

// An answer that is there counts, though ctx has ended at the same moment.
func TestAnswerBeatsEndOfContext(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		s := w.client(l, coord.Options{}).Kit().Session()
		for i := range 50 {
			ctx, cancel := context.WithCancel(bg)
			heal := l.Stall(coordtest.ToClient)
			answered := make(chan error, 1)
			go func() {
				_, err := s.Multi(ctx, coord.OpCreate(fmt.Sprintf("/%d", i), nil, 0))
				answered <- err
			}()
			synctest.Wait()
			heal()
			cancel()
			if err := <-answered; err != nil && !errors.Is(err, coord.ErrUnknown) {
				t.Fatalf("round %d: %v", i, err)
			}
			n, err := s.Exists(bg, fmt.Sprintf("/%d", i))
			if err != nil || !n.Exists {
				t.Fatalf("round %d: %+v, %v", i, n, err)
			}
		}
	})
}

// The data of an Op and of a request are copied: a caller that has given up may write to
// them again while the request is under way.
func TestDataAreCopied(t *testing.T) {
	bubble(t, func(w *world) {
		s := w.client(w.line(), coord.Options{}).Kit().Session()
		data := []byte("good")
		op := coord.OpCreate("/a", data, 0)
		copy(data, "evil")
		_, err := s.Multi(bg, op)
		must(t, err)
		if n, err := s.Get(bg, "/a"); err != nil || !bytes.Equal(n.Data, []byte("good")) {
			t.Errorf("%q, %v", n.Data, err)
		}
	})
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

// InDir makes what is missing, again if it is removed again, but not forever; and
// what else is wrong is returned.
func TestInDir(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		r := harness.RecordLink(l)
		s := w.client(l, coord.Options{Chroot: "/root"}).Kit().Session()
		put := func() error { _, err := s.Create(bg, "/d/e/a", nil, 0); return err }
		must(t, s.InDir(bg, "/d/e", put))
		if err := s.InDir(bg, "/d/e", put); !errors.Is(err, coord.ErrNodeExists) {
			t.Errorf("put again: %v", err)
		}
		if got := r.Requests(); !slices.Contains(got, "createContainer /root/d/e") {
			t.Errorf("the directory is no container: %q", got)
		}
		calls := 0
		err := s.InDir(bg, "/f", func() error {
			calls++
			n, err := s.Exists(bg, "/f")
			if must(t, err); n.Exists {
				must(t, s.Delete(bg, "/f", -1))
			}
			_, err = s.Create(bg, "/f/a", nil, 0)
			return err
		})
		if !errors.Is(err, coord.ErrNoNode) || !coord.Refused(err) || calls != 8 {
			t.Errorf("after %d calls: %v", calls, err)
		}
		if err := s.InDir(bg, "f", put); !errors.Is(err, coord.ErrInvalidPath) {
			t.Errorf("no path: %v", err)
		}
	})
}

// What a mode and an op print tells what they are.
func TestModeAndOpString(t *testing.T) {
	for mode, want := range map[coord.Mode]string{
		coord.Persistent: "persistent", coord.Ephemeral | coord.Sequential: "ephemeral|sequential", coord.Container: "container",
		coord.Persistent.TTL(1500 * time.Microsecond): "TTL(2ms)", coord.Sequential.TTL(time.Minute): "TTL(1m0s)|sequential",
		coord.Persistent.TTL(-1): "invalid TTL", coord.Sequential.TTL(-1): "invalid TTL", 64: "0x40",
	} {
		if got := mode.String(); got != want {
			t.Errorf("%#x is %q, want %q", int64(mode), got, want)
		}
	}
	ops := fmt.Sprint([]coord.Op{coord.OpCreate("/a", nil, 0), coord.OpSet("/b", nil, 0), coord.OpDelete("/c", 0), coord.OpCheck("/d", 0), {}})
	if want := "[create /a set /b delete /c check /d invalid ]"; ops != want {
		t.Errorf("%q, want %q", ops, want)
	}
}

// CreateAll makes what is missing, the chroot as well, and that stays when it has no
// children any more.
func TestCreateAll(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client(w.line(), coord.Options{Chroot: "/deep/root"})
		s := c.Kit().Session()
		must(t, s.CreateAll(bg, "/a/b"))
		must(t, s.CreateAll(bg, "/a/b"))
		must(t, s.Delete(bg, "/a/b", -1))
		must(t, s.Delete(bg, "/a", -1))
		for range 3 {
			w.Fake.Reap()
		}
		if n, err := s.Exists(bg, "/"); err != nil || !n.Exists || n.EphemeralOwner != 0 {
			t.Errorf("the root is %+v, %v", n, err)
		}
		if err := s.CreateAll(bg, "a"); !errors.Is(err, coord.ErrInvalidPath) {
			t.Errorf("a path that cannot be one: %v", err)
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
