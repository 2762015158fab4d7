package coord_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
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

// real is the same where time is real and the machine may be busy: still less than
// what is waited for if a context does not end the wait.
const real = 3 * time.Second

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
	o.Dial = l.Dial
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

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// create makes a node through the client's own connection. It may be broken: what
// is asked again may then be there from the first time.
func create(tb testing.TB, c *coord.Client, path, data string, flags int32) {
	tb.Helper()
	again := false
	_, err := coord.Retry(bg, c.Kit().Session(), func(conn *zk.Conn) (string, error) {
		name, err := conn.Create(path, []byte(data), flags, zk.WorldACL(zk.PermAll))
		if again && errors.Is(err, zk.ErrNodeExists) {
			err = nil
		}
		again = true
		return name, err
	})
	must(tb, err)
}

// set changes a node through the client's own connection, which may be broken.
func set(tb testing.TB, c *coord.Client, path, data string) {
	tb.Helper()
	_, err := coord.Retry(bg, c.Kit().Session(), func(conn *zk.Conn) (*zk.Stat, error) {
		return conn.Set(path, []byte(data), -1)
	})
	must(tb, err)
}

func exists(path string) func(*zk.Conn) (bool, error) {
	return func(conn *zk.Conn) (bool, error) {
		ok, _, err := conn.Exists(path)
		return ok, err
	}
}

// withoutContainers makes conn one to a server that can make no containers, and
// answers that it can not.
func withoutContainers(conn net.Conn) net.Conn {
	return &harness.Tap{Conn: conn, Request: func(body []byte) []byte {
		h := jute.NewDecoder(body).RequestHeader()
		if h.Op == jute.OpCreateContainer {
			return jute.NewRequest(h.Xid, jute.OpCheckWatches).Body() // which is not implemented
		}
		return body
	}}
}
