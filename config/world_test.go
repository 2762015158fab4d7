package config_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/ensemble"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(ensemble.Main(m)) }

var bg = context.Background()

// T is the session timeout of clients to which something happens.
const T = 4 * time.Second

// A world is a bubble with a server, a client that is tested, over a link that
// can be broken, and an operator's connection.
type world struct {
	testing.TB
	*coordtest.Server
	c    *coord.Client
	link *coordtest.Link
	op   *zk.Conn
}

func bubble(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{TB: t, Server: coordtest.NewServer(t)}
		w.op = w.Client(t, &coord.Options{SessionTimeout: 10 * T}).Conn()
		w.c, w.link = w.dial(&coord.Options{SessionTimeout: T})
		f(w)
	})
}

// dial returns a client and its link.
func (w *world) dial(opts *coord.Options) (*coord.Client, *coordtest.Link) {
	w.Helper()
	c := w.Client(w, opts)
	return c, w.LinkOf(c)
}

// through returns a client whose connections wrap makes.
func (w *world) through(wrap func(net.Conn) net.Conn) *coord.Client {
	w.Helper()
	l := w.Link()
	w.Cleanup(l.Close)
	c, err := coord.Dial(bg, []string{"server"}, &coord.Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := l.Dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return wrap(conn), nil
	}})
	w.must(err)
	w.Cleanup(func() { c.Close() })
	return c
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// wants checks an error: that it is target, and the *coord.Error of op on path, with
// these words in its text.
func (w *world) wants(err error, op, path string, target error, words ...string) {
	w.Helper()
	var e *coord.Error
	if !errors.As(err, &e) || e.Op != op || e.Path != path {
		w.Errorf("error %v is not of %q on %q", err, op, path)
	}
	if target != nil && !errors.Is(err, target) {
		w.Errorf("error %v is not %q", err, target)
	}
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			w.Errorf("error %v does not say %q", err, word)
		}
	}
}

func (w *world) create(path, data string) {
	w.Helper()
	_, err := w.op.Create(path, []byte(data), 0, zk.WorldACL(zk.PermAll))
	w.must(err)
}

func (w *world) set(path, data string) {
	w.Helper()
	_, err := w.op.Set(path, []byte(data), -1)
	w.must(err)
}

func (w *world) delete(path string) {
	w.Helper()
	w.must(w.op.Delete(path, -1))
}

// get returns what is stored at path.
func (w *world) get(path string) string {
	w.Helper()
	data, _, err := w.op.Get(path)
	if err == zk.ErrNoNode {
		return "nothing"
	}
	w.must(err)
	return string(data)
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
	synctest.Wait()
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
	synctest.Wait()
	select {
	case u := <-s.Updates():
		w.Errorf("unexpected update %q", say(u))
	default:
	}
}

// ended checks that s comes to its end, and why.
func (w *world) ended(s *event.Stream[config.Update[int]], cause error) {
	w.Helper()
	<-s.Done()
	w.wants(s.Err(), "watch", "/n", cause)
}

// await waits for c to be in state.
func (w *world) await(c *coord.Client, state coord.State) {
	w.Helper()
	for end := time.After(time.Hour); ; {
		now, changed := c.State()
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

// flap does what breaks the connection of w.c for a moment, and waits until it is
// up again. To await Suspended would come too late for what lasts no time.
func (w *world) flap(blow func()) {
	w.Helper()
	_, changed := w.c.State()
	blow()
	<-changed
	w.await(w.c, coord.Connected)
}

// reap has the server remove the containers that are no longer used, as real ones
// do from time to time, and those that then are not.
func (w *world) reap() {
	for range 3 {
		w.Reap()
	}
}
