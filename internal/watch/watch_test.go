package watch_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// What each kind says of a znode's life, and of what does not concern it
// nothing.
func TestWatchKinds(t *testing.T) {
	steps := []struct {
		name string
		do   func(w *world)
		want map[event.Kind]string
	}{
		{"missing at first", func(*world) {}, map[event.Kind]string{event.Presence: "nothing", event.Data: "nothing", event.Children: "nothing"}},
		{"created", func(w *world) { w.Create("/a", "1") }, map[event.Kind]string{event.Presence: "there", event.Data: "1", event.Children: "[]"}},
		{"changed", func(w *world) { w.Set("/a", "2") }, map[event.Kind]string{event.Data: "2"}},
		{"changed to the same", func(w *world) { w.Set("/a", "2") }, map[event.Kind]string{event.Data: "2"}},
		{"child", func(w *world) { w.Create("/a/y", "") }, map[event.Kind]string{event.Children: "[y]"}},
		{"another child", func(w *world) { w.Create("/a/x", "") }, map[event.Kind]string{event.Children: "[x y]"}},
		{"child changed", func(w *world) { w.Set("/a/x", "1") }, nil},
		{"grandchild", func(w *world) { w.Create("/a/x/z", "") }, nil},
		{"children gone", func(w *world) { w.Delete("/a/x/z"); w.Delete("/a/x"); w.Delete("/a/y") }, map[event.Kind]string{event.Children: "[]"}},
		{"deleted", func(w *world) { w.Delete("/a") }, map[event.Kind]string{event.Presence: "nothing", event.Data: "nothing", event.Children: "nothing"}},
		{"created again (R32)", func(w *world) { w.Create("/a", "1") }, map[event.Kind]string{event.Presence: "there", event.Data: "1", event.Children: "[]"}},
		{"child of the new one", func(w *world) { w.Create("/a/n", "") }, map[event.Kind]string{event.Children: "[n]"}},
		{"unrelated", func(w *world) { w.Create("/ab", ""); w.Create("/b", "") }, nil},
	}
	for _, alone := range append([][]event.Kind{kinds}, kinds[:1], kinds[1:2], kinds[2:]) {
		t.Run(fmt.Sprint(alone), func(t *testing.T) {
			bubble(t, func(w *world) {
				streams := map[event.Kind]*event.Stream[event.Snapshot]{}
				for _, k := range alone {
					streams[k] = w.c.Watch(bg, "/a", k)
				}
				for _, step := range steps {
					step.do(w)
					time.Sleep(time.Second) // a directory rests between two readings
					for _, k := range alone {
						if want, ok := step.want[k]; ok {
							w.expect(streams[k], k, want)
						} else {
							w.quiet(streams[k])
						}
					}
					if t.Failed() {
						t.Fatalf("in step %q", step.name)
					}
				}
			})
		})
	}
}

// R31, R37, R52: what happens while the connection is down is made good when it
// is back, whether in the same session or in another, and until then the value
// says Suspended (R34, R62). A znode made anew with the same version is news.
func TestWatchAcrossReconnects(t *testing.T) {
	for _, anew := range []bool{false, true} {
		for _, tt := range []struct {
			name string
			do   func(w *world)
			want map[event.Kind]string
		}{
			{"nothing", func(*world) {}, map[event.Kind]string{event.Presence: "there", event.Data: "0", event.Children: "[x]"}},
			{"changed", func(w *world) { w.Set("/a", "1") }, map[event.Kind]string{event.Presence: "there", event.Data: "1", event.Children: "[x]"}},
			{"made anew, same version", func(w *world) { w.Delete("/a/x"); w.Delete("/a"); w.Create("/a", "9") },
				map[event.Kind]string{event.Presence: "there", event.Data: "9", event.Children: "[]"}},
			{"deleted", func(w *world) { w.Delete("/a/x"); w.Delete("/a") },
				map[event.Kind]string{event.Presence: "nothing", event.Data: "nothing", event.Children: "nothing"}},
			{"child for child", func(w *world) { w.Delete("/a/x"); w.Create("/a/y", "") },
				map[event.Kind]string{event.Presence: "there", event.Data: "0", event.Children: "[y]"}},
		} {
			t.Run(fmt.Sprintf("%s, in another session: %v", tt.name, anew), func(t *testing.T) {
				bubble(t, func(w *world) {
					w.Create("/a", "0")
					w.Create("/a/x", "")
					streams := map[event.Kind]*event.Stream[event.Snapshot]{}
					for _, k := range kinds {
						streams[k] = w.c.Watch(bg, "/a", k)
						w.expect(streams[k], k, map[event.Kind]string{event.Presence: "there", event.Data: "0", event.Children: "[x]"}[k])
					}
					heal := w.line.Cut()
					for _, k := range kinds {
						w.expect(streams[k], k, map[event.Kind]string{event.Presence: "there?", event.Data: "0?", event.Children: "[x]?"}[k])
					}
					tt.do(w)
					if anew {
						w.Await(w.c, coord.Expired)
					}
					heal()
					w.Await(w.c, coord.Connected)
					for _, k := range kinds {
						w.expect(streams[k], k, tt.want[k])
						w.quiet(streams[k])
					}
					if tt.want[event.Presence] == "there" { // and it goes on
						w.Set("/a", "2")
						w.Create("/a/z", "")
						w.expect(streams[event.Data], event.Data, "2")
						synctest.Wait()
						if snap := <-streams[event.Children].Updates(); !strings.Contains(say(event.Children, snap), "z]") {
							t.Errorf("children %v, want z among them", snap.Children)
						}
						return
					}
					w.Create("/a", "3")
					w.expect(streams[event.Data], event.Data, "3")
				})
			})
		}
	}
}

// Follow ends on the deletion without another request, even though the reply to
// nothing could come then, and leaves no watch behind, nor does it for a znode
// that is not there.
func TestFollow(t *testing.T) {
	bubble(t, func(w *world) {
		s := w.c.Kit().WatchUntilDeleted(bg, "/missing")
		w.expect(s, event.Data, "nothing")
		if n := w.Watches(); n != 0 {
			t.Errorf("%d watches left for a znode that is not there", n)
		}
		w.Create("/a", "1")
		s = w.c.Kit().WatchUntilDeleted(bg, "/a")
		w.expect(s, event.Data, "1")
		w.Set("/a", "2")
		w.expect(s, event.Data, "2")
		w.asked()
		w.Delete("/a")
		w.expect(s, event.Data, "nothing")
		if got := w.asked(); len(got) > 0 || w.Watches() != 0 {
			t.Errorf("after the deletion %q was asked, and there are %d watches", got, w.Watches())
		}
		w.Create("/a", "3")
		w.quiet(s)

		// Gone while the line is down.
		w.Create("/b", "1")
		s = w.c.Kit().WatchUntilDeleted(bg, "/b")
		w.expect(s, event.Data, "1")
		heal := w.line.Cut()
		w.expect(s, event.Data, "1?")
		w.Delete("/b")
		heal()
		w.Await(w.c, coord.Connected)
		w.expect(s, event.Data, "nothing")
		if w.Watches() != 0 {
			t.Errorf("%d watches are left", w.Watches())
		}
	})
}

// A burst ends on the last value, for those who read and for those who do not.
func TestWatchEndsOnTheLastOfABurst(t *testing.T) {
	n := harness.Times(3_000, 10_000)
	bubble(t, func(w *world) {
		w.Create("/a", "")
		lazy, keen := w.c.Watch(bg, "/a", event.Data), w.c.Watch(bg, "/a", event.Data)
		last := int32(-1)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for snap := range keen.All() {
				if snap.Version <= last {
					t.Errorf("version %d after %d", snap.Version, last)
				}
				if last = snap.Version; last == int32(n) {
					return
				}
			}
		}()
		for i := range n {
			w.Set("/a", fmt.Sprint(i))
		}
		<-done
		w.expect(lazy, event.Data, strconv.Itoa(n-1))
		w.quiet(lazy)
	})
}

// A path that may not be read ends the stream with the refusal; whether it is
// there may be asked by anybody.
func TestWatchWithoutPermission(t *testing.T) {
	bubble(t, func(w *world) {
		_, err := w.Op().Create("/secret", []byte("x"), 0, zk.WorldACL(zk.PermAll&^zk.PermRead))
		w.Must(err)
		for i, s := range []*event.Stream[event.Snapshot]{
			w.c.Watch(bg, "/secret", event.Data), w.c.Watch(bg, "/secret", event.Children), w.c.Kit().WatchUntilDeleted(bg, "/secret"),
		} {
			synctest.Wait()
			var e *coord.Error
			if err := s.Err(); !errors.Is(err, zk.ErrNoAuth) || !errors.As(err, &e) || e.Path != "/secret" {
				t.Errorf("stream %d: %v, want an *Error: %v", i, err, zk.ErrNoAuth)
			}
		}
		w.expect(w.c.Watch(bg, "/secret", event.Presence), event.Presence, "there")
		for _, bad := range []string{"", "a", "/a/", "/a//b", "/a/../b", "/\x00"} {
			for _, s := range []*event.Stream[event.Snapshot]{w.c.Watch(bg, bad, event.Data), w.c.Kit().WatchUntilDeleted(bg, bad)} {
				if !errors.Is(s.Err(), coord.ErrInvalidPath) {
					t.Errorf("path %q: %v, want ErrInvalidPath", bad, s.Err())
				}
			}
		}
		if s := w.c.Watch(bg, "/a", 0); s.Err() == nil {
			t.Error("the zero kind was taken")
		}
	})
}

// R54: what is watched while the connection is down, or has never told of, comes
// when it is up; and streams end with their ctx meanwhile, with its cause.
func TestWatchBegunWhileDown(t *testing.T) {
	bubble(t, func(w *world) {
		w.Create("/a", "1")
		heal := w.line.Stall(coordtest.Both)
		cause := errors.New("lost interest")
		ctx, cancel := context.WithCancelCause(bg)
		s, short := w.c.Watch(bg, "/a", event.Data), w.c.Watch(ctx, "/a", event.Data)
		time.Sleep(time.Minute)
		w.quiet(s)
		cancel(cause)
		<-short.Done()
		if !errors.Is(short.Err(), cause) {
			t.Errorf("ended with %v", short.Err())
		}
		heal()
		w.Await(w.c, coord.Connected)
		w.expect(s, event.Data, "1")
		w.quiet(short)
	})
}
