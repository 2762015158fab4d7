package coord_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// followings are those of plain, and what a program asks for by a stream, and by
// go-zookeeper's connection, whose errors are go-zookeeper's.
var followings = append([]plain{
	{"watch", false, func(ctx context.Context, c *coord.Client) error { return first(ctx, c, event.Data) }},
	{"watch", false, func(ctx context.Context, c *coord.Client) error { return first(ctx, c, event.Children) }},
	{"", false, func(_ context.Context, c *coord.Client) error { _, _, err := c.Conn().Get("/a"); return err }},
	{"", false, func(_ context.Context, c *coord.Client) error { _, _, err := c.Conn().Children("/a"); return err }},
	{"", false, func(_ context.Context, c *coord.Client) error { _, _, _, err := c.Conn().ExistsW("/b"); return err }},
	{"", false, func(_ context.Context, c *coord.Client) error { _, _, err := c.Conn().GetACL("/a"); return err }},
	{"", true, func(_ context.Context, c *coord.Client) error {
		_, err := c.Conn().Multi(&zk.SetDataRequest{Path: "/a", Version: -1}, &zk.CreateRequest{Path: "/b", Acl: zk.WorldACL(zk.PermAll)})
		return err
	}},
	{"", true, func(_ context.Context, c *coord.Client) error {
		_, err := c.Conn().Create("/b", nil, 0, zk.WorldACL(zk.PermAll))
		return err
	}},
}, plains...)

// first waits for the first value of a stream, and returns how that ended.
func first(ctx context.Context, c *coord.Client, kind event.Kind) error {
	s := c.Watch(ctx, "/a", kind)
	select {
	case <-s.Updates():
		return nil
	case <-s.Done():
		return s.Err()
	}
}

// lies are what a hostile server may say in a place of any kind.
var lies = []string{
	"", "\x00", "\xff\xff\xff\xff", "\x7f\xff\xff\xff", "\x80\x00\x00\x00", "\x00\x00\x00\x10", "\x03\xff\xff\xff", "HTTP/1.1 400 Bad Request\r\n\r\n",
	"\x15\x03\x01\x00\x02\x02\x28", "\x00\x00\x00\x01\x7f\xff\xff\xff", "\xff\xff\xff\x90", "\xff\xff\xff\x84", "\x00\x00\x00\x0e\x00",
}

// FuzzReplies has a hostile server say one thing that is not so, at any moment and to each
// kind of request. Nothing panics; a request is over in its time, and its error names the
// operation and is fit to print; and then the client goes on with an honest server.
func FuzzReplies(f *testing.F) {
	for which := range followings {
		for i, lie := range lies {
			f.Add(uint8(which), uint8(2-i%3), int16([]int{-1, 16, 12}[(which+i)%3]), []byte(lie))
		}
	}
	f.Fuzz(func(t *testing.T, which, at uint8, keep int16, data []byte) {
		harness.Bubble(t, func(w *harness.World) {
			w.Create("/a", "1")
			lie := &harness.Lie{At: int(at % 8), Keep: int(keep), Data: data}
			l := w.Fake.Link()
			w.Cleanup(l.Close)
			deceived(w, l, lie, followings[int(which)%len(followings)])
		})
	})
}

// deceived has a client ask for p while it is told the lie.
func deceived(w *harness.World, l *coordtest.Link, lie *harness.Lie, p plain) {
	w.Helper()
	fits := func(err error, op string) {
		w.Helper()
		var e *coord.Error
		if err != nil && (!errors.As(err, &e) || e.Op != op) {
			w.Errorf("error %v is none of %q", err, op)
		}
		harness.Printable(w, err)
	}
	ctx, cancel := context.WithTimeout(bg, time.Minute)
	defer cancel()
	c, err := coord.Dial(ctx, []string{"server"}, &coord.Options{SessionTimeout: harness.T, Dial: lying(l, lie)})
	if err != nil {
		fits(err, "dial")
		return
	}
	defer c.Close()
	if err := p.do(ctx, c); p.op != "" {
		fits(err, p.op)
	}
	// What the client believes of its session may be wrong for as long as the lie said.
	later, cancel := context.WithTimeout(bg, 100*24*time.Hour)
	defer cancel()
	for n := 0; n < 8 && !lie.Told(); n++ { // the answer to this may be the lie
		_, _, err := c.Exists(later, "/a")
		fits(err, "exists")
	}
	if _, _, err := c.Exists(later, "/a"); err != nil {
		w.Errorf("in the end: %v", err)
	}
}

// TestAnswersThatLieAboutLengths: neither the length of a frame nor one within it allocates
// more than has come, and no answer makes go-zookeeper panic.
func TestAnswersThatLieAboutLengths(t *testing.T) {
	for _, p := range followings {
		for _, size := range []uint32{1 << 25, 1<<31 - 1, 1<<32 - 1} {
			for _, keep := range []int{-1, 16, 20} {
				harness.Bubble(t, func(w *harness.World) {
					w.Create("/a", "1")
					l := w.Fake.Link()
					w.Cleanup(l.Close)
					before := allocated()
					deceived(w, l, &harness.Lie{At: 2, Keep: keep, Data: binary.BigEndian.AppendUint32(nil, size)}, p)
					if n := allocated() - before; n > 32<<20 {
						w.Errorf("%q, a length of %d behind %d bytes: allocated %d bytes", p.op, size, keep, n)
					}
				})
			}
		}
	}
}

// lying returns a Dial over l to a server that tells the lie.
func lying(l *coordtest.Link, lie *harness.Lie) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := l.Dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return lie.Wrap(conn), nil
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
