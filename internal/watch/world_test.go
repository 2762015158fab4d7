package watch_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var bg = context.Background()

var kinds = []event.Kind{event.Presence, event.Data, event.Children}

// A world is a bubble with a server, a client that watches, over a line that can
// be broken, and another that changes things.
type world struct {
	testing.TB
	*coordtest.Server
	line  *coordtest.Link
	c     *coord.Client
	other *zk.Conn

	mu       sync.Mutex
	requests []string // of c, heartbeats left out
}

func bubble(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{TB: t, Server: coordtest.NewServer(t)}
		w.line = w.Link()
		t.Cleanup(w.line.Close)
		w.c = w.client(w.line)
		good := w.Link()
		t.Cleanup(good.Close)
		w.other = w.client(good).Conn()
		w.line.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Dir == coordtest.ToServer && f.Op != "ping" {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.requests = append(w.requests, strings.TrimSpace(f.Op+" "+f.Path))
			}
			return coordtest.Pass
		})
		f(w)
	})
}

func (w *world) client(l *coordtest.Link) *coord.Client {
	c, err := coord.Dial(bg, []string{"server"}, &coord.Options{Dial: l.Dial})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { c.Close() })
	return c
}

// asked returns the requests since it was called last.
func (w *world) asked() []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	got := w.requests
	w.requests = nil
	return got
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) create(path, data string) {
	w.Helper()
	_, err := w.other.Create(path, []byte(data), 0, zk.WorldACL(zk.PermAll))
	w.must(err)
}

func (w *world) set(path, data string) {
	w.Helper()
	_, err := w.other.Set(path, []byte(data), -1)
	w.must(err)
}

func (w *world) delete(path string) {
	w.Helper()
	w.must(w.other.Delete(path, -1))
}

// say puts a snapshot in words: what its kind follows, and what marks it.
func say(kind event.Kind, s event.Snapshot) string {
	text := "nothing"
	switch {
	case s.Exists && kind == event.Children:
		text = "[" + strings.Join(s.Children, " ") + "]"
	case s.Exists && kind == event.Presence:
		text = "there"
	case s.Exists:
		text = string(s.Data)
	case s.Data != nil || s.Children != nil || s.Stat != event.Stat{}:
		text = "nothing, with something in it"
	}
	if s.Suspended {
		text += "?"
	}
	return text
}

// expect receives the next value of s, which must be there when all has come to
// rest.
func (w *world) expect(s *event.Stream[event.Snapshot], kind event.Kind, want string) {
	w.Helper()
	synctest.Wait()
	select {
	case snap := <-s.Updates():
		if got := say(kind, snap); got != want {
			w.Fatalf("%v: got %q, want %q", kind, got, want)
		}
		if latest, ok := s.Latest(); !ok || say(kind, latest) != want {
			w.Errorf("%v: Latest = %v, %v", kind, latest, ok)
		}
	case <-s.Done():
		w.Fatalf("%v: ended with %v, want %q", kind, s.Err(), want)
	default:
		w.Fatalf("%v: no value, want %q", kind, want)
	}
}

// quiet checks that s has no value.
func (w *world) quiet(s *event.Stream[event.Snapshot]) {
	w.Helper()
	synctest.Wait()
	select {
	case snap := <-s.Updates():
		w.Errorf("unexpected value %+v", snap)
	default:
	}
}

// flap does what breaks the connection, and waits until it is up again. To await
// Suspended would come too late for a state that lasts no time.
func (w *world) flap(blow func()) {
	w.Helper()
	_, changed := w.c.State()
	blow()
	<-changed
	w.await(coord.Connected)
}

// await waits for the watching client to be in state.
func (w *world) await(state coord.State) {
	w.Helper()
	for end := time.After(time.Hour); ; {
		now, changed := w.c.State()
		if now == state {
			return
		}
		select {
		case <-changed:
		case <-end:
			w.Fatalf("still %v, want %v", now, state)
		}
	}
}
