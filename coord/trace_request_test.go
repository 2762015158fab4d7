package coord_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// requested returns a Trace that notes all requests, and what it has noted.
func requested() (*coord.Trace, func() []coord.RequestInfo) {
	var mu sync.Mutex
	var all []coord.RequestInfo
	hook := func(ctx context.Context, i coord.RequestInfo) {
		if of := ctx.Value(number{}); of != nil && of != i.Op || ctx.Err() != nil {
			i.Err = fmt.Errorf("context %v", ctx)
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, i)
	}
	return &coord.Trace{Request: hook}, func() []coord.RequestInfo {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// Each request that goes out is reported, once, with its path as the program knows it
// and the context of its operation: the program's own, those of watches, those that
// make directories, and those that keep a session alive.
func TestTraceOfRequests(t *testing.T) {
	bubble(t, func(w *world) {
		trace, said := requested()
		l := w.line()
		c := w.client(l, coord.Options{Trace: trace, Chroot: "/app"})
		r := harness.RecordLink(l)
		s := c.Kit().Session()
		of := func(op string) context.Context { return context.WithValue(bg, number{}, op) }
		must(t, s.InDir(of("create"), "/a", func() error {
			_, err := s.Create(of("create"), "/a/b", nil, coord.Persistent)
			return err
		}))
		_, err := s.Set(of("set"), "/a/b", []byte("x"), -1)
		must(t, err)
		_, err = s.Get(of("get"), "/a/b")
		must(t, err)
		_, err = s.Exists(of("exists"), "/none")
		must(t, err)
		_, _, err = s.Children(of("children"), "/a")
		must(t, err)
		must(t, s.Sync(of("sync"), "/a"))
		if err := s.Delete(of("delete"), "/a", -1); !errors.Is(err, coord.ErrNotEmpty) {
			t.Errorf("delete: %v", err)
		}
		_, err = s.Txn(of("txn"), coord.OpCheck("/a/b", -1), coord.OpSet("/a/b", nil, -1))
		must(t, err)
		<-c.Watch(bg, "/a/b", event.Data).Updates()
		h := c.Kit().NewHold(bg, "hold", "/a/b", func(k *coord.Keeper) error {
			must(t, k.Acquired(s, "", 1))
			<-k.Released()
			return nil
		})
		must(t, h.Wait())
		time.Sleep(s.Timeout() / 5) // one heartbeat
		must(t, h.Release(bg))

		var got []string
		for _, i := range said() {
			if i.Begin.IsZero() || i.Sent.Before(i.Begin) || i.End.Before(i.Sent) || i.Session != s.ID() {
				t.Errorf("reported %+v", i)
			}
			if i.Err != nil {
				i.Path += ": " + i.Err.Error()
			}
			got = append(got, i.Op+" "+i.Path)
		}
		want := []string{
			"create /a/b: coord: znode does not exist",
			"create /a: coord: znode does not exist",
			"create /",
			"create /a",
			"create /a/b",
			"set /a/b",
			"get /a/b",
			"exists /none: coord: znode does not exist",
			"children /a",
			"sync /a",
			"delete /a: coord: znode has children",
			"txn /a/b",
			"watch /a/b",
			"renew /a/b",
		}
		if out := r.Requests(); !slices.Equal(got, want) || len(out) != len(got) {
			t.Errorf("reported\n%s\nwent out\n%s", strings.Join(got, "\n"), strings.Join(out, "\n"))
		}
	})
}

// A request that comes to nothing is reported as well: one whose answer is lost, each
// of its repetitions, and one that is given up before there is a connection.
func TestTraceOfLostRequests(t *testing.T) {
	bubble(t, func(w *world) {
		trace, said := requested()
		l := w.line()
		c := w.client(l, coord.Options{Trace: trace})
		s := c.Kit().Session()
		lose := 1
		l.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Op == "setData" && f.Dir == coordtest.ToClient && lose > 0 {
				lose--
				return coordtest.HangUp
			}
			return coordtest.Pass
		})
		_, err := s.Create(bg, "/a", nil, coord.Persistent)
		must(t, err)
		_, err = s.Set(bg, "/a", nil, -1)
		must(t, err)
		l.Cut()
		w.Await(c, coord.Suspended)
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		_, err = s.Get(ctx, "/a")
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("get: %v", err)
		}
		for n, want := range []func(i coord.RequestInfo) bool{
			func(i coord.RequestInfo) bool { return i.Op == "create" && i.Err == nil },
			func(i coord.RequestInfo) bool { return i.Op == "set" && i.Err != nil && !refused(i.Err) },
			func(i coord.RequestInfo) bool { return i.Op == "set" && i.Err == nil },
			func(i coord.RequestInfo) bool {
				return i.Op == "get" && i.Sent.IsZero() && i.End.Sub(i.Begin) == time.Second && errors.Is(i.Err, context.DeadlineExceeded)
			},
		} {
			if all := said(); len(all) != 4 || !want(all[n]) {
				t.Errorf("reported %+v", all)
			}
		}
	})
}

// A request that was sent and is given up is reported when it is given up, with the
// reason that its caller gets, and not again when its answer comes after all.
func TestTraceOfRequestsGivenUp(t *testing.T) {
	for _, p := range plains {
		t.Run(p.op, func(t *testing.T) {
			bubble(t, func(w *world) {
				trace, said := requested()
				l := w.line()
				c := w.client(l, coord.Options{Trace: trace})
				_, err := c.Create(bg, "/a", nil, coord.Persistent)
				must(w, err)
				before := len(said())
				heal := l.Stall(coordtest.ToClient)
				ctx, cancel := context.WithTimeout(bg, time.Second)
				defer cancel()
				began := time.Now()
				if err := p.do(ctx, c); !errors.Is(err, context.DeadlineExceeded) {
					w.Errorf("error %v", err)
				}
				check := func() {
					w.Helper()
					all := said()[before:]
					if len(all) != 1 {
						w.Fatalf("reported %+v", all)
					}
					i := all[0]
					if i.Op != p.op || i.Session == 0 || !i.Sent.Equal(began) || i.End.Sub(began) != time.Second || !errors.Is(i.Err, context.DeadlineExceeded) {
						w.Errorf("reported %+v", i)
					}
				}
				check()
				heal()
				time.Sleep(time.Minute)
				check()
			})
		})
	}
}

// Without a Trace a request costs what it costs without this package's ability to
// report; with one, some allocations more.
func BenchmarkRequest(b *testing.B) {
	for name, trace := range map[string]*coord.Trace{
		"no trace": nil,
		"trace":    {Request: func(context.Context, coord.RequestInfo) {}},
	} {
		b.Run(name, func(b *testing.B) {
			server := coordtest.NewServer(b)
			s := server.Client(b, &coord.Options{Trace: trace}).Kit().Session()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Exists(bg, "/"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
