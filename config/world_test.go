package config_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/harness"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(harness.Main(m)) }

var bg = context.Background()

// maxData is the most bytes that can be stored at once.
const maxData = 1<<20 - 32<<10

// T is the session timeout of clients to which something happens.
const T = harness.T

// A world is a bubble with a client that is tested.
type world struct {
	*harness.World
	client *harness.Client
	c      *coord.Client   // the same
	link   *coordtest.Link // its
	op     *zk.Conn
}

func bubble(t *testing.T, f func(w *world)) {
	t.Helper()
	harness.Bubble(t, func(w *harness.World) { f(newWorld(w, w.Client(T))) })
}

func newWorld(w *harness.World, c *harness.Client) *world {
	return &world{World: w, client: c, c: c.Client, link: c.Link, op: w.Op()}
}

// numbers are stored in digits.
var numbers = config.Codec[int]{Decode: number, Encode: encodeNumber}

// number decodes a number, and panics at the word panic.
func number(data []byte) (int, error) {
	if string(data) == "panic" {
		panic("no number at all")
	}
	return strconv.Atoi(string(data))
}

func encodeNumber(n int) ([]byte, error) { return []byte(strconv.Itoa(n)), nil }

// decoder returns a codec for what is only read.
func decoder[T any](decode func([]byte) (T, error)) config.Codec[T] {
	return config.Codec[T]{Decode: decode}
}

func increment(n int) (int, error) { return n + 1, nil }

// add increments the number at path.
func add(ctx context.Context, c *coord.Client, path string) (int, error) {
	u, err := config.New(c, path, numbers).Modify(ctx, increment)
	return u.Value, err
}

// say puts an update in words: its value, if there is one, with the version, what
// is wrong, and what marks it.
func say(u config.Update[int]) string {
	text := "none"
	if u.Mzxid != 0 {
		text = fmt.Sprintf("%d v%d", u.Value, u.Version)
	}
	switch {
	case errors.Is(u.Err, config.ErrMissing):
		text += " missing"
	case u.Err != nil && strings.Contains(u.Err.Error(), "panicked"):
		text += " panicked"
	case u.Err != nil:
		text += " malformed"
	}
	if u.Suspended {
		text += " suspended"
	}
	return text
}

// expect receives the next update of s, which must be there when all has come to
// rest.
func (w *world) expect(s *event.Stream[config.Update[int]], want string) config.Update[int] {
	w.Helper()
	w.Rest()
	select {
	case u := <-s.Updates():
		if got := say(u); got != want {
			w.Fatalf("got %q (%+v), want %q", got, u, want)
		}
		return u
	case <-s.Done():
		w.Fatalf("ended with %v, want %q", s.Err(), want)
	default:
		w.Fatalf("no update, want %q", want)
	}
	panic("unreachable")
}

// quiet checks that s has no update.
func (w *world) quiet(s *event.Stream[config.Update[int]]) {
	w.Helper()
	w.Rest()
	select {
	case u := <-s.Updates():
		w.Errorf("unexpected update %q", say(u))
	default:
	}
}

// ended checks that s ends, and why.
func (w *world) ended(s *event.Stream[config.Update[int]], cause error) {
	w.Helper()
	<-s.Done()
	w.WantsOp(s.Err(), "watch", "/n", cause)
}

// reap has the server remove the containers that are no longer used, as real ones
// do from time to time, and those that then are not.
func (w *world) reap() {
	for range 3 {
		w.Fake.Reap()
	}
}

// published publishes, and returns the error.
func published[T any](ctx context.Context, tree *config.Tree[T], set map[string]T, remove ...string) error {
	_, err := tree.Publish(ctx, set, remove)
	return err
}
