package coord_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/jute"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(harness.Main(m)) }

var bg = context.Background()

// soon is how late a wait may end after its context has.
const soon = 100 * time.Millisecond

// soonOnReal is the same where time is real and the machine may be busy: still less than
// what is waited for if a context does not end the wait.
const soonOnReal = 3 * time.Second

// never is how long something that must not happen is waited for, and something
// that must.
const never = time.Hour

// A world is a bubble with a server in it, and nobody else at first.
type world struct{ *harness.World }

func bubble(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(&world{&harness.World{TB: t, Fake: coordtest.NewServer(t)}})
	})
}

func (w *world) line() *coordtest.Link {
	l := w.Fake.Link()
	w.Cleanup(l.Close)
	return l
}

// client returns a client whose one line to the server is l.
func (w *world) client(l *coordtest.Link, o coord.Options) *coord.Client {
	w.Helper()
	if o.Dial == nil {
		o.Dial = l.Dial
	}
	return harness.Dial(w, []string{"server"}, &o)
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// refused is what a Session says of err, any session.
func refused(err error) bool { return new(coord.Session).Refused(err) }

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// create makes a znode. The connection may be broken: what is asked again may then be
// there from the first time.
func create(tb testing.TB, c *coord.Client, path, data string, mode coord.Mode) {
	tb.Helper()
	for again := false; ; again = true {
		_, err := c.Create(bg, path, []byte(data), mode)
		if err == nil || again && errors.Is(err, coord.ErrNodeExists) {
			return
		}
		if !errors.Is(err, coord.ErrUnknown) {
			tb.Fatal(err)
		}
	}
}

// set changes a znode. The connection may be broken.
func set(tb testing.TB, c *coord.Client, path, data string) {
	tb.Helper()
	_, err := c.Kit().Session().Set(bg, path, []byte(data), -1)
	must(tb, err)
}

// withoutContainers makes conn one to a server that can make no containers, and
// answers that it cannot.
func withoutContainers(conn net.Conn) net.Conn {
	return &harness.Tap{Conn: conn, Request: func(body []byte) []byte {
		h := jute.NewDecoder(body).RequestHeader()
		if h.Op == jute.OpCreateContainer {
			return jute.NewRequest(h.Xid, jute.OpCountChildren).Body() // which is not implemented
		}
		return body
	}}
}
