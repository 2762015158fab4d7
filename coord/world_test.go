package coord_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/ensemble"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(ensemble.Main(m)) }

var bg = context.Background()

// soon is how late a wait may end after its context has.
const soon = 100 * time.Millisecond

// real is the same where time is real and the machine may be busy: still less than
// what is waited for if a context does not end the wait.
const real = 3 * time.Second

// never is how long something that must not happen is waited for, and something
// that must.
const never = time.Hour

// A world is a bubble with a server in it.
type world struct {
	testing.TB
	*coordtest.Server
}

func bubble(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(&world{t, coordtest.NewServer(t)}) })
}

func (w *world) line() *coordtest.Link {
	l := w.Link()
	w.Cleanup(l.Close)
	return l
}

// client returns a client whose one line to the server is l.
func (w *world) client(l *coordtest.Link, o coord.Options) *coord.Client {
	w.Helper()
	o.Dial = l.Dial
	c, err := coord.Dial(bg, []string{"server"}, &o)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { c.Close() })
	return c
}

// await waits for c to be in state.
func (w *world) await(c *coord.Client, state coord.State) {
	w.Helper()
	end := time.After(never)
	for {
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

// flap does what breaks the connection, and waits until c is connected again. To
// await Suspended would come too late for a state that lasts no time.
func (w *world) flap(c *coord.Client, blow func()) {
	w.Helper()
	_, changed := c.State()
	blow()
	<-changed
	w.await(c, coord.Connected)
}

// within runs f and checks that it takes no longer than d.
func (w *world) within(d time.Duration, what string, f func()) {
	w.Helper()
	start := time.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(never):
		w.Fatalf("%s: does not end", what)
	}
	if took := time.Since(start); took > d {
		w.Errorf("%s: took %v, want %v at most", what, took, d)
	}
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

// A recorder keeps the frames that pass a line.
type recorder struct {
	mu     sync.Mutex
	frames []coordtest.Frame
}

func record(l *coordtest.Link) *recorder {
	r := new(recorder)
	l.OnFrame(func(f coordtest.Frame) coordtest.Action {
		r.add(f)
		return coordtest.Pass
	})
	return r
}

func (r *recorder) add(f coordtest.Frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frames = append(r.frames, f)
}

// requests returns the ops of the requests so far, heartbeats left out.
func (r *recorder) requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ops []string
	for _, f := range r.frames {
		if f.Dir == coordtest.ToServer && f.Op != "ping" {
			ops = append(ops, strings.TrimSpace(f.Op+" "+f.Path))
		}
	}
	return ops
}

// A wrapped conn lets a test see and change what is written and read. The hooks
// get whole frames without their length; read may return nil to lose one.
type wrapped struct {
	net.Conn
	write func(frame []byte)
	read  func(frame []byte) []byte
	begun []byte // a frame of which not all has been written
	rest  []byte
}

func (c *wrapped) Write(b []byte) (int, error) {
	if c.write == nil {
		return c.Conn.Write(b)
	}
	c.begun = append(c.begun, b...)
	if len(c.begun) < 4+int(binary.BigEndian.Uint32(c.begun)) { // a long frame comes in pieces
		return len(b), nil
	}
	frame := c.begun
	c.begun = nil
	c.write(frame[4:])
	if _, err := c.Conn.Write(frame); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (c *wrapped) Read(b []byte) (int, error) {
	for len(c.rest) == 0 {
		head := make([]byte, 4)
		if err := readFull(c.Conn, head); err != nil {
			return 0, err
		}
		frame := make([]byte, binary.BigEndian.Uint32(head))
		if err := readFull(c.Conn, frame); err != nil {
			return 0, err
		}
		if c.read != nil {
			if frame = c.read(frame); frame == nil {
				continue
			}
		}
		c.rest = append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// withoutContainers makes conn one to a server that can make no containers, and
// answers that it can not.
func withoutContainers(conn net.Conn) net.Conn {
	const createContainer, unimplemented = 19, 17
	return &wrapped{Conn: conn, write: func(frame []byte) {
		if binary.BigEndian.Uint32(frame[4:]) == createContainer {
			binary.BigEndian.PutUint32(frame[4:], unimplemented)
		}
	}}
}

func readFull(c net.Conn, b []byte) error {
	for len(b) > 0 {
		n, err := c.Read(b)
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}
