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
			res, err := s.Txn(bg, ops...)
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
			res, err := s.Txn(bg, ops[0], ops[1], coord.OpSet("/q", nil, 9), coord.OpDelete("/q", 0))
			if !refused(err) || !errors.Is(err, coord.ErrBadVersion) || len(res) != 4 {
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
				res, err := s.Txn(bg, ops[0], tt.op)
				if !refused(err) || !errors.Is(err, tt.want) || len(res) != 2 || res[0].Err != nil || res[1].Err != err {
					t.Errorf("%v: %+v, %v", tt.op, res, err)
				}
			}
			res, err := s.Txn(bg, coord.OpSet("/q", make([]byte, limit/2), -1), coord.OpSet("/q", make([]byte, limit/2), -1))
			if !refused(err) || !errors.Is(err, coord.ErrTooLarge) || res[0].Err != nil || res[1].Err != nil {
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
					_, err := s.Txn(ctx, ops...)
					if !errors.Is(err, coord.ErrUnknown) || refused(err) || errors.Is(err, errEnough) != (act == coordtest.Drop) {
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
			if _, err := s.Txn(givenUp(), ops...); err != errEnough {
				t.Errorf("ctx has ended: %v", err)
			}
			heal := l.Cut()
			synctest.Wait()
			ctx, cancel := context.WithTimeoutCause(bg, time.Second, errEnough)
			defer cancel()
			if _, err := s.Txn(ctx, ops...); err != errEnough {
				t.Errorf("ctx ends before there is a connection: %v", err)
			}
			time.AfterFunc(time.Second, func() {
				w.Fake.Expire(s.ID())
				heal()
			})
			if _, err := s.Txn(bg, ops...); !errors.Is(err, coord.ErrExpired) || errors.Is(err, coord.ErrUnknown) {
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
			_, err := s.Txn(bg, ops...)
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
				_, err := s.Txn(ctx, coord.OpCreate(fmt.Sprintf("/%d", i), nil, 0))
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
		_, err := s.Txn(bg, op)
		must(t, err)
		if n, err := s.Get(bg, "/a"); err != nil || !bytes.Equal(n.Data, []byte("good")) {
			t.Errorf("%q, %v", n.Data, err)
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
