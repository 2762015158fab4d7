package coord_test

import (
	"bytes"
	"context"
	"errors"
	"math"
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
	_, err := coord.Retry(bg, c.Session(), func(conn *zk.Conn) (string, error) {
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
	_, err := coord.Retry(bg, c.Session(), func(conn *zk.Conn) (*zk.Stat, error) {
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

// A wrapped conn lets a test see and change what is written and read: the two frames
// of the handshake, and the bodies of all that come behind it. A hook that returns nil
// loses the frame.
type wrapped struct {
	net.Conn
	connect  func(*jute.ConnectRequest)
	welcome  func(*jute.ConnectResponse)
	write    func(body []byte) []byte
	read     func(body []byte) []byte
	asked    bool   // the first frame has been written
	answered bool   // the first frame has been read
	begun    []byte // a frame of which not all has been written
	rest     []byte // of a frame of which not all has been read
}

func (c *wrapped) Write(b []byte) (int, error) {
	if c.connect == nil && c.write == nil {
		return c.Conn.Write(b)
	}
	c.begun = append(c.begun, b...)
	body, err := jute.ReadFrame(bytes.NewReader(c.begun), math.MaxInt32)
	if err != nil { // a long frame comes in pieces
		return len(b), nil
	}
	c.begun = nil
	switch {
	case !c.asked:
		c.asked = true
		if c.connect != nil {
			r := jute.NewDecoder(body).ConnectRequest()
			c.connect(&r)
			e := jute.NewFrame()
			e.ConnectRequest(r)
			body = e.Body()
		}
	case c.write != nil:
		body = c.write(body)
	}
	if body == nil {
		return len(b), nil
	}
	_, err = c.Conn.Write(framed(body))
	return len(b), err
}

func (c *wrapped) Read(b []byte) (int, error) {
	for len(c.rest) == 0 {
		body, err := jute.ReadFrame(c.Conn, math.MaxInt32)
		if err != nil {
			return 0, err
		}
		switch {
		case !c.answered:
			c.answered = true
			if c.welcome != nil {
				r := jute.NewDecoder(body).ConnectResponse()
				c.welcome(&r)
				e := jute.NewFrame()
				e.ConnectResponse(r)
				body = e.Body()
			}
		case c.read != nil:
			body = c.read(body)
		}
		if body != nil {
			c.rest = framed(body)
		}
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func framed(body []byte) []byte {
	e := jute.NewFrame()
	e.Raw(body)
	return e.Frame()
}

// refuse returns the answer to the request that body answers, with another code.
func refuse(body []byte, code jute.Code) []byte {
	h := jute.NewDecoder(body).ReplyHeader()
	return jute.NewReply(h.Xid, h.Zxid, code).Body()
}

// withoutContainers makes conn one to a server that can make no containers, and
// answers that it can not.
func withoutContainers(conn net.Conn) net.Conn {
	return &wrapped{Conn: conn, write: func(body []byte) []byte {
		h := jute.NewDecoder(body).RequestHeader()
		if h.Op == jute.OpCreateContainer {
			return jute.NewRequest(h.Xid, jute.OpCheckWatches).Body() // which is not implemented
		}
		return body
	}}
}
