package coord_test

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/jute"
)

// A field is a number of watched paths whose values somebody else changes.
type field struct {
	tb      testing.TB
	root    string
	writer  *coord.Client
	streams []*event.Stream[event.Snapshot]
}

func newField(tb testing.TB, writer, reader *coord.Client, root string, n int) *field {
	f := &field{tb: tb, root: root, writer: writer}
	create(tb, writer, root, "", 0)
	f.each(n, func(i int) error {
		_, err := writer.Conn().Create(f.path(i), []byte("new"), 0, zk.WorldACL(zk.PermAll))
		return err
	})
	for i := range n {
		f.streams = append(f.streams, reader.Watch(bg, f.path(i), event.Data))
	}
	f.settled("new")
	return f
}

func (f *field) path(i int) string { return fmt.Sprintf("%s/%d", f.root, i) }

func (f *field) each(n int, do func(i int) error) {
	f.tb.Helper()
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := worker; i < n; i += 8 {
				if err := do(i); err != nil {
					f.tb.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func (f *field) set(value string) {
	f.tb.Helper()
	f.each(len(f.streams), func(i int) error {
		_, err := f.writer.Conn().Set(f.path(i), []byte(value), -1)
		return err
	})
}

// settled waits until every stream has arrived at value, with the link up.
func (f *field) settled(value string) {
	f.tb.Helper()
	late := time.After(time.Minute)
	for i, s := range f.streams {
		for {
			if snap, ok := s.Latest(); ok && string(snap.Data) == value && !snap.Suspended {
				break
			}
			select {
			case <-s.Updates():
			case <-s.Done():
				f.tb.Fatalf("stream %d ended: %v", i, s.Err())
			case <-late:
				snap, _ := s.Latest()
				f.tb.Fatalf("stream %d is at %q (suspended: %v), want %q", i, snap.Data, snap.Suspended, value)
			}
		}
	}
}

// R37, R52, R56: many watches, values that change while the connection is down
// and while it comes back, requests of others in between: no change is lost.
func TestNoEventIsLostInReconnects(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		c, writer := w.client(l, coord.Options{}), w.client(w.line(), coord.Options{})
		f := newField(t, writer, c, "/field", 1000)
		for i := range harness.Times(4, 8) {
			heal := l.Cut()
			if i%2 == 0 {
				f.set("early" + strconv.Itoa(i))
			}
			var wg sync.WaitGroup
			for range 20 { // they go out as soon as there is a connection
				wg.Go(func() { c.Exists(bg, "/") })
				wg.Go(func() { c.Conn().Exists("/") })
			}
			heal()
			last := strconv.Itoa(i)
			f.set(last)
			f.settled(last)
			wg.Wait()
		}
	})
}

// The same with a real server, whose timing is its own.
func TestNoEventIsLostInReconnectsOnServer(t *testing.T) {
	e := ensemble.Shared(t)
	l := coordtest.NewLink(nil)
	defer l.Close()
	dial := func(o *coord.Options) *coord.Client {
		ctx, cancel := context.WithTimeout(bg, 30*time.Second)
		defer cancel()
		c, err := coord.Dial(ctx, e.Servers(), o)
		must(t, err)
		t.Cleanup(func() { c.Close() })
		return c
	}
	c, writer := dial(&coord.Options{Dial: l.Dial}), dial(nil)
	id := c.Kit().Session().ID()
	f := newField(t, writer, c, fmt.Sprintf("/field-%d", time.Now().UnixNano()), 300)
	for i := range harness.Times(6, 15) {
		l.Reset()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() { c.Exists(bg, "/") })
			wg.Go(func() { c.Conn().Exists("/") })
		}
		last := strconv.Itoa(i)
		f.set(last)
		f.settled(last)
		wg.Wait()
	}
	if c.Kit().Session().ID() != id {
		t.Error("the session is lost")
	}
}

// The newest zxid that a client has seen is what a server goes by when it tells
// which watches have fired meanwhile. The library's record of it races; what
// goes over the wire must be right.
func TestFramesCarryTheNewestZxid(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		var mu sync.Mutex
		var seen int64 // by the client, going by the wire
		var connects, sets int
		dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := l.Dial(ctx, network, addr)
			mu.Lock()
			before := seen
			mu.Unlock()
			return &harness.Tap{Conn: conn,
				Connect: func(r *jute.ConnectRequest) {
					mu.Lock()
					defer mu.Unlock()
					connects++
					if r.Zxid != before || r.Timeout != 6*time.Second {
						t.Errorf("handshake %d says zxid %#x, want %#x; and asks for a timeout of %v", connects, r.Zxid, before, r.Timeout)
					}
				},
				Reply: func(body []byte) []byte {
					mu.Lock()
					defer mu.Unlock()
					if h := jute.NewDecoder(body).ReplyHeader(); h.Xid >= 0 {
						seen = max(seen, h.Zxid)
					}
					return body
				},
				Request: func(body []byte) []byte {
					mu.Lock()
					defer mu.Unlock()
					d := jute.NewDecoder(body)
					if d.RequestHeader().Op == jute.OpSetWatches {
						sets++
						if got := d.SetWatches().Zxid; got != before {
							t.Errorf("behind handshake %d SetWatches says zxid %#x, want %#x", connects, got, before)
						}
					}
					return body
				}}, err
		}
		c, err := coord.Dial(bg, []string{"server"}, &coord.Options{Dial: dial, SessionTimeout: 6 * time.Second})
		must(t, err)
		w.Cleanup(func() { c.Close() })
		writer := w.client(w.line(), coord.Options{})
		f := newField(t, writer, c, "/field", 10)
		for i := range 10 {
			l.Reset()
			f.set(strconv.Itoa(i))
			f.settled(strconv.Itoa(i))
			set(t, c, "/field", "own") // the client's own writes count too
		}
		mu.Lock()
		defer mu.Unlock()
		if connects < 11 || sets == 0 || seen == 0 {
			t.Errorf("%d handshakes, %d SetWatches, newest zxid %d", connects, sets, seen)
		}
	})
}
