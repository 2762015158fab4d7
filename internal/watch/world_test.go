package watch_test

import (
	"context"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/harness"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var bg = context.Background()

var kinds = []event.Kind{event.Presence, event.Data, event.Children}

// A world is a bubble with a client that watches, over a line that can be broken. The
// operator changes things.
type world struct {
	*harness.World
	client          *harness.Client
	c               *coord.Client   // the same
	line            *coordtest.Link // its
	*harness.Record                 // of the line
}

func bubble(t *testing.T, f func(w *world)) {
	t.Helper()
	harness.Bubble(t, func(w *harness.World) {
		c := w.Dial(nil, nil)
		f(&world{w, c, c.Client, c.Link, harness.RecordLink(c.Link)})
	})
}

// asked returns the requests since it was called last.
func (w *world) asked() []string {
	w.Rest()
	defer w.Forget()
	return w.Requests()
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
	w.Rest()
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
	w.Rest()
	select {
	case snap := <-s.Updates():
		w.Errorf("unexpected value %+v", snap)
	default:
	}
}
