package coord_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/ask"
	"github.com/zkcoord/zkcoord/internal/harness"
)

func askIn(s *coord.Session) ask.Session[coord.Op, coord.OpResult] {
	return ask.Of(s).(ask.Session[coord.Op, coord.OpResult])
}

// Requests that are started go out in that order before the first is answered, and a
// listing behind a create shows what was created: one round trip for all of them.
func TestStartedInOneRoundTrip(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		c := w.client(l, coord.Options{Chroot: "/app"})
		create(t, c, "/a", "", 0)
		r, a := harness.RecordLink(l), askIn(c.Kit().Session())
		heal := l.Stall(coordtest.ToClient)
		txn := a.Txn(coord.OpCreate("/a/n-", nil, coord.Ephemeral|coord.Sequential), coord.OpSet("/a", []byte("x"), -1))
		sync, list := a.Sync("/a"), a.Children("/a")
		del, none := a.Delete("/a", -1), a.Delete("/none", -1)
		bad := a.Txn(coord.OpCheck("/a", -1), coord.OpDelete("/none", -1), coord.OpCheck("/a", -1))
		synctest.Wait()
		want := []string{"multi /app/a/n-", "sync /app/a", "getChildren2 /app/a", "delete /app/a", "delete /app/none", "check /app/a"}
		if got := r.Requests(); len(got) != 6 || !slices.Equal(got[:5], want[:5]) {
			t.Errorf("went out: %q", got)
		}
		if isClosed(txn.Done()) || isClosed(list.Done()) {
			t.Fatal("over before the answer")
		}
		heal()
		<-bad.Done()
		res, err := txn.Result()
		if err != nil || len(res) != 2 || !strings.HasPrefix(res[0].Path, "/a/n-00") || res[1].Stat.NumChildren != 1 {
			t.Errorf("created %+v, %v", res, err)
		}
		if _, err := sync.Result(); err != nil {
			t.Error(err)
		}
		if names, err := list.Result(); err != nil || len(names) != 1 || "/a/"+names[0] != res[0].Path {
			t.Errorf("listed %q, %v", names, err)
		}
		if _, err := del.Result(); !errors.Is(err, coord.ErrNotEmpty) {
			t.Errorf("deleted: %v", err)
		}
		if _, err := none.Result(); !errors.Is(err, coord.ErrNoNode) {
			t.Errorf("deleted what is not there: %v", err)
		}
		if res, err := bad.Result(); !errors.Is(err, coord.ErrNoNode) || res[0].Err != nil || !errors.Is(res[1].Err, coord.ErrNoNode) || res[2].Err != nil {
			t.Errorf("refused: %+v, %v", res, err)
		}
		if _, err := a.Children("x").Result(); !errors.Is(err, coord.ErrInvalidPath) {
			t.Errorf("a path that is none: %v", err)
		}
		if (*ask.Pending[int])(nil).Done() != nil {
			t.Error("what was not started is over")
		}
	})
}

// A request that was started is over in any case: with its answer; with ErrUnknown, if the
// connection ends on which it was sent; or with the end of the session before it was sent.
func TestStartedIsOver(t *testing.T) {
	for name, tt := range map[string]struct {
		before, after func(w *world, l *coordtest.Link, c *coord.Client)
		want          []error
		within        time.Duration
	}{
		"connection lost": {
			func(_ *world, l *coordtest.Link, _ *coord.Client) { l.Stall(coordtest.ToClient) },
			func(_ *world, l *coordtest.Link, _ *coord.Client) { l.Reset() },
			[]error{coord.ErrUnknown, zk.ErrConnectionClosed}, 0,
		},
		"connection lost before": {
			func(w *world, l *coordtest.Link, c *coord.Client) { l.Cut(); w.Await(c, coord.Suspended) },
			func(w *world, l *coordtest.Link, c *coord.Client) { w.Await(c, coord.Expired) },
			[]error{coord.ErrExpired}, 0,
		},
		"closed": {
			func(_ *world, l *coordtest.Link, _ *coord.Client) { l.Stall(coordtest.ToClient) },
			func(_ *world, _ *coordtest.Link, c *coord.Client) { go c.Close() },
			[]error{coord.ErrUnknown, coord.ErrClosed}, 2 * time.Second,
		},
		"closed before": {
			func(_ *world, _ *coordtest.Link, c *coord.Client) { c.Close() },
			func(*world, *coordtest.Link, *coord.Client) {},
			[]error{coord.ErrClosed}, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				l := w.line()
				c := w.client(l, coord.Options{})
				a := askIn(c.Kit().Session())
				tt.before(w, l, c)
				p := a.Txn(coord.OpCreate("/a", nil, 0))
				synctest.Wait()
				tt.after(w, l, c)
				began := time.Now()
				<-p.Done()
				if d := time.Since(began); d > tt.within {
					t.Errorf("over after %v", d)
				}
				_, err := p.Result()
				for _, want := range tt.want {
					if !errors.Is(err, want) {
						t.Errorf("%v, want %v", err, want)
					}
				}
				if unknown := errors.Is(err, coord.ErrUnknown); unknown != (len(tt.want) == 2) {
					t.Errorf("unknown %v: %v", unknown, err)
				}
			})
		})
	}
}

// A turnstile is a conn of which nothing is written while turn is full.
type turnstile struct {
	net.Conn
	turn chan struct{} // has a buffer of one
}

func (s turnstile) Write(b []byte) (int, error) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	return s.Conn.Write(b)
}

// What is not written when the connection ends is made on the next one, in order, and
// once; and what is given up before it is written is never made.
func TestUnwrittenRequestsOutliveTheConnection(t *testing.T) {
	bubble(t, func(w *world) {
		block := make(chan struct{}, 1)
		l := w.line()
		c := w.client(l, coord.Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := l.Dial(ctx, network, addr)
			return turnstile{conn, block}, err
		}})
		create(t, c, "/n", "", 0)
		s := c.Kit().Session()
		block <- struct{}{} // the next write hangs
		var all []*ask.Pending[[]coord.OpResult]
		for i := range 20 {
			all = append(all, askIn(s).Txn(coord.OpSet("/n", fmt.Append(nil, i), -1)))
			synctest.Wait() // the first alone is in that write
		}
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		if err := s.Delete(ctx, "/n", -1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("gave up: %v", err)
		}
		l.Reset()
		synctest.Wait()
		<-block
		last := int32(0)
		for i, p := range all {
			<-p.Done()
			res, err := p.Result()
			switch {
			case i == 0 && !errors.Is(err, coord.ErrUnknown), i > 0 && err != nil:
				t.Errorf("write %d: %v", i, err)
			case i > 0 && res[0].Stat.Version <= last:
				t.Errorf("write %d made version %d, after %d", i, res[0].Stat.Version, last)
			case i > 0:
				last = res[0].Stat.Version
			}
		}
		if last != 19 {
			t.Errorf("written %d times", last)
		}
	})
}

// After a reconnect the watches are presented before anything else is asked for.
func TestWatchesArePresentedFirst(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		c := w.client(l, coord.Options{})
		create(t, c, "/n", "1", 0)
		for _, kind := range []event.Kind{event.Data, event.Children, event.Presence} {
			<-c.Watch(bg, "/n", kind).Updates()
			<-c.Watch(bg, "/none", kind).Updates()
		}
		heal := l.Cut()
		w.Await(c, coord.Suspended)
		r := harness.RecordLink(l)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { _, _, _ = c.Get(bg, "/n") })
		}
		synctest.Wait()
		heal()
		wg.Wait()
		if got := r.Requests(); len(got) < 12 || got[0] != "connect" || got[1] != "setWatches" {
			t.Errorf("asked for %q", got)
		}
	})
}

// A program that watches with go-zookeeper's own methods hears of the changes, also after
// a reconnect, beside the client's watches on the same znode.
func TestWatchesOfTheLibrary(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		c, other := w.client(l, coord.Options{}), w.client(w.line(), coord.Options{})
		create(t, c, "/n", "", 0)
		ours := c.Watch(bg, "/n", event.Data)
		<-ours.Updates()
		for range 2 {
			_, _, theirs, err := c.Conn().GetW("/n")
			must(t, err)
			heal := l.Cut()
			w.Await(c, coord.Suspended)
			heal()
			w.Await(c, coord.Connected)
			synctest.Wait()
			stat, err := other.Set(bg, "/n", nil, -1)
			must(t, err)
			synctest.Wait()
			select {
			case ev := <-theirs:
				if ev.Type != zk.EventNodeDataChanged || ev.Path != "/n" {
					t.Errorf("event %+v", ev)
				}
			default:
				t.Error("no event")
			}
			if snap, _ := ours.Latest(); snap.Version != stat.Version {
				t.Errorf("version %d, want %d", snap.Version, stat.Version)
			}
		}
	})
}
