package watch_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
)

// R12, R55, R65: a thousand streams on one path are one watch and one request,
// and cost no goroutine; those who never read delay nobody.
func TestManyStreamsAreOneWatch(t *testing.T) {
	bubble(t, func(w *world) {
		w.Create("/a", "0")
		w.expect(w.c.Watch(bg, "/a", event.Data), event.Data, "0")
		w.asked()
		before := runtime.NumGoroutine()
		ctx, cancel := context.WithCancel(bg)
		var streams []*event.Stream[event.Snapshot]
		for range 1000 {
			streams = append(streams, w.c.Watch(ctx, "/a", event.Data))
		}
		for _, s := range streams { // each has the value at once, out of what is known
			w.expect(s, event.Data, "0")
		}
		if got := w.asked(); len(got) > 0 || w.Watches() != 1 {
			t.Errorf("late subscribers asked %q; %d watches", got, w.Watches())
		}
		if n := runtime.NumGoroutine() - before; n > 0 {
			t.Errorf("%d goroutines for 1,000 streams", n)
		}
		for i := range 10 { // nobody reads, but one
			w.Set("/a", fmt.Sprint(i))
			w.expect(streams[0], event.Data, fmt.Sprint(i))
		}
		if got := w.asked(); len(got) != 10 || w.Watches() != 1 {
			t.Errorf("10 changes made %d requests; %d watches", len(got), w.Watches())
		}
		for _, s := range streams[1:] {
			w.expect(s, event.Data, "9")
		}
		cancel()
		synctest.Wait()
		for _, s := range streams {
			if !errors.Is(s.Err(), context.Canceled) {
				t.Fatalf("a stream ended with %v", s.Err())
			}
		}
	})
}

// R12, R36, R53: once nobody looks, a change costs nothing more, nor does a
// reconnect, nor a new session; and a watch that was left over serves the
// next subscriber.
func TestNobodyLooks(t *testing.T) {
	bubble(t, func(w *world) {
		w.Create("/a", "0")
		ctx, cancel := context.WithCancel(bg)
		w.expect(w.c.Watch(ctx, "/a", event.Data), event.Data, "0")
		cancel()
		w.asked()
		w.Set("/a", "1")
		if got := w.asked(); len(got) > 0 || w.Watches() != 0 {
			t.Errorf("nobody looks, and %q was asked; %d watches", got, w.Watches())
		}
		ctx, cancel = context.WithCancel(bg)
		w.expect(w.c.Watch(ctx, "/a", event.Data), event.Data, "1")
		cancel()
		w.asked()
		w.expect(w.c.Watch(bg, "/a", event.Data), event.Data, "1")
		if got := w.asked(); len(got) != 1 || w.Watches() != 1 {
			t.Errorf("the watch was there, and %q was asked; %d watches", got, w.Watches())
		}
		w.Set("/a", "2")
		w.asked()

		ctx, cancel = context.WithCancel(bg)
		for i := range 100 {
			w.c.Watch(ctx, fmt.Sprintf("/b%d", i), event.Presence)
		}
		synctest.Wait()
		cancel()
		w.asked()
		w.Flap(w.c, func() { w.Expire(w.client) })
		for _, op := range w.asked() {
			if strings.Contains(op, "/b") {
				t.Errorf("nobody looks, and %q was asked in the new session", op)
			}
		}
		if n := w.Watches(); n != 1 {
			t.Errorf("%d watches in the new session, want the one of /a", n)
		}
	})
}

// Once nobody looks, what was read is not kept for later subscribers, though the watch
// is, and serves them.
func TestNobodyLooksAndNothingIsKept(t *testing.T) {
	for _, x := range []struct {
		kind event.Kind
		once bool
	}{{event.Data, false}, {event.Data, true}, {event.Children, false}} {
		t.Run(fmt.Sprintf("%v, once: %v", x.kind, x.once), func(t *testing.T) {
			bubble(t, func(w *world) {
				const n, size = 20, 200_000
				path := func(i int) string { return fmt.Sprintf("/a%d", i) }
				for i := range n {
					w.Create(path(i), "")
					if x.kind == event.Data {
						w.Set(path(i), strings.Repeat("x", size))
						continue
					}
					for k := range 10 {
						w.Create(fmt.Sprintf("%s/%d-%s", path(i), k, strings.Repeat("x", size/10)), "")
					}
				}
				follow := func(ctx context.Context, i int) *event.Stream[event.Snapshot] {
					if x.once {
						return w.c.Kit().WatchUntilDeleted(ctx, path(i))
					}
					return w.c.Watch(ctx, path(i), x.kind)
				}
				full := func(snap event.Snapshot) bool {
					return len(snap.Data) == size || len(snap.Children) == 10
				}
				before := w.Heap()
				ctx, cancel := context.WithCancel(bg)
				for i := range n {
					if snap := w.first(follow(ctx, i)); !full(snap) {
						t.Fatalf("%d bytes, %d children", len(snap.Data), len(snap.Children))
					}
				}
				cancel()
				if after := w.Heap(); after > before+size*n/4 {
					t.Errorf("heap grew from %d to %d bytes", before, after)
				}
				w.asked()
				if snap := w.first(follow(bg, 0)); !full(snap) {
					t.Errorf("a later subscriber sees %d bytes, %d children", len(snap.Data), len(snap.Children))
				}
				if got := w.asked(); len(got) != 1 || w.Watches() != n {
					t.Errorf("a later subscriber asks %q; %d watches of %d", got, w.Watches(), n)
				}
			})
		})
	}
}

// A stream abandoned before its first read was possible is not read for later.
func TestAbandonedBeforeItBegan(t *testing.T) {
	bubble(t, func(w *world) {
		heal := w.line.Cut()
		w.Await(w.c, coord.Suspended)
		ctx, cancel := context.WithCancel(bg)
		for i := range 100 {
			w.c.Watch(ctx, fmt.Sprintf("/b%d", i), event.Data)
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		w.asked()
		heal()
		w.Await(w.c, coord.Connected)
		if got := w.asked(); !slices.Equal(got, []string{"connect"}) { // while suspended none begins
			t.Errorf("requests %q for streams that are over", got)
		}
	})
}

// R33: watching reads and does nothing else, whatever becomes of the path.
func TestWatchingNeverWrites(t *testing.T) {
	bubble(t, func(w *world) {
		for _, k := range kinds {
			w.c.Watch(bg, "/a/b", k)
		}
		w.c.Kit().WatchUntilDeleted(bg, "/a/b")
		for range 5 {
			w.Create("/a", "")
			w.Create("/a/b", "")
			w.Create("/a/b/c", "")
			w.line.Reset()
			w.Delete("/a/b/c")
			w.Delete("/a/b")
			w.Delete("/a")
			w.Expire(w.client)
			time.Sleep(time.Minute)
		}
		for _, op := range w.asked() {
			switch op, _, _ := strings.Cut(op, " "); op {
			case "connect", "close", "exists", "getData", "getChildren2", "setWatches", "sync":
			default:
				t.Errorf("watching asked for %q", op)
			}
		}
	})
}

// Session events do not lead to reads by themselves (R37): an idle client asks
// for nothing, and on a reconnect once for each path.
func TestReconnectReadsEachPathOnce(t *testing.T) {
	bubble(t, func(w *world) {
		for i := range 20 {
			w.Create(fmt.Sprintf("/a%d", i), "")
			w.expect(w.c.Watch(bg, fmt.Sprintf("/a%d", i), event.Data), event.Data, "")
		}
		w.asked()
		time.Sleep(time.Hour)
		if got := w.asked(); len(got) > 0 {
			t.Errorf("an idle client asked %q", got)
		}
		w.Flap(w.c, w.line.Reset)
		if got := w.asked(); len(got) != 1+1+20 {
			t.Errorf("%d requests after a reconnect: %q; want handshake, SetWatches, and one for each path", len(got), got)
		}
	})
}

// R36, R84: Close ends every stream with ErrClosed, and nothing is asked after.
func TestCloseEndsStreams(t *testing.T) {
	bubble(t, func(w *world) {
		var streams []*event.Stream[event.Snapshot]
		for i := range 100 {
			for _, k := range kinds {
				streams = append(streams, w.c.Watch(bg, fmt.Sprintf("/a%d", i), k))
			}
		}
		w.Must(w.c.Close())
		for _, s := range streams {
			if !errors.Is(s.Err(), coord.ErrClosed) {
				t.Fatalf("a stream ended with %v", s.Err())
			}
		}
		w.asked()
		for i := range 100 {
			w.Create(fmt.Sprintf("/a%d", i), "")
		}
		time.Sleep(time.Minute)
		if got := w.asked(); len(got) > 0 || w.Watches() != 0 {
			t.Errorf("after Close %q was asked; %d watches", got, w.Watches())
		}
	})
}

// Memory does not grow with the changes that nobody reads.
func TestUnreadChangesCostNoMemory(t *testing.T) {
	bubble(t, func(w *world) {
		w.Create("/a", "")
		for range 100 {
			w.c.Watch(bg, "/a", event.Data)
		}
		burst := func(n int) uint64 {
			for range n {
				_, err := w.Op().Set("/a", make([]byte, 1000), -1)
				w.Must(err)
			}
			synctest.Wait()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before := burst(100)
		if after := burst(3000); after > before+1<<20 {
			t.Errorf("heap grew from %d to %d bytes", before, after)
		}
	})
}
