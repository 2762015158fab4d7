// Package locktest holds what every lock of this module must pass: one table of
// scenarios, run against the in-process server in virtual time and against a
// real server, so that the one is held to the other; every fault at every frame;
// and, on real servers only, partitions and failing servers.
package locktest

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/ensemble"
)

// A Subject is one kind of lock, as the scenarios use it. Two holds of one dir
// must exclude each other.
type Subject struct {
	Name    string
	Acquire func(ctx context.Context, c *coord.Client, dir string) *coord.Hold
	Try     func(ctx context.Context, c *coord.Client, dir string) *coord.Hold
	// Bind, if not nil, returns the Acquire of one object, to be shared.
	Bind func(c *coord.Client, dir string) (acquire func(context.Context) *coord.Hold)
	// Then, if not nil, is done with a hold as soon as it is held, so that what a
	// scenario says of a holder is said of one with which that was done.
	Then func(h *coord.Hold) error
	// Contend, if not nil, acquires for one who finds dir held, and returns when it is
	// acquired: for what does not wait by itself.
	Contend func(ctx context.Context, c *coord.Client, dir string) *coord.Hold
	// Cycles is how many [Limits] goes through; zero means 10,000.
	Cycles int
}

// A World is a server, fake or real, for one test.
type World struct {
	testing.TB
	Subject
	Dir  string            // the lock's
	Fake *coordtest.Server // nil for a real one

	real     *ensemble.Ensemble
	operator *coord.Client // on a good link; for looking and meddling
}

// A Client is a program that contends.
type Client struct {
	*coord.Client
	Link *coordtest.Link
	w    *World

	mu  sync.Mutex
	key []byte // of the session as the server gave it: id, then password
}

// InBubble runs f in a bubble, with an in-process server.
func InBubble(t *testing.T, s Subject, f func(w *World)) {
	synctest.Test(t, func(t *testing.T) {
		w := &World{TB: t, Subject: s, Dir: "/locktest/lock", Fake: coordtest.NewServer(t)}
		w.operator = w.Client(40 * time.Second).Client
		f(w)
	})
}

// OnReal runs f with the shared real server.
func OnReal(t *testing.T, s Subject, f func(w *World)) { f(on(t, s, ensemble.Shared(t))) }

// on returns a world of its own on the servers of e.
func on(t *testing.T, s Subject, e *ensemble.Ensemble) *World {
	w := &World{TB: t, Subject: s, Dir: fmt.Sprintf("/locktest-%d", time.Now().UnixNano()), real: e}
	w.operator = w.Client(40 * time.Second).Client
	return w
}

// Client returns a new contender with a session of the timeout given.
func (w *World) Client(timeout time.Duration) *Client {
	w.Helper()
	servers := []string{"coordtest:2181"}
	if w.real != nil {
		servers = w.real.Servers()
	}
	return w.Dial(servers, &coord.Options{SessionTimeout: timeout})
}

// Dial is like Client, with the options, of which Dial is overwritten, and
// servers given.
func (w *World) Dial(servers []string, opts *coord.Options) *Client {
	w.Helper()
	c := &Client{w: w}
	if w.Fake != nil {
		c.Link = w.Fake.Link()
	} else {
		c.Link = coordtest.NewLink(nil)
	}
	w.Cleanup(c.Link.Close)
	opts.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := c.Link.Dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &keyhole{Conn: conn, c: c}, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var err error
	if c.Client, err = coord.Dial(ctx, servers, opts); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { c.Close() })
	return c
}

// A keyhole sees the key of the session that the server gives out.
type keyhole struct {
	net.Conn
	c    *Client
	head []byte
}

const headSize = 4 + 4 + 4 + 8 + 4 + 16 // length, version, timeout, session, password with its length

func (k *keyhole) Read(b []byte) (int, error) {
	n, err := k.Conn.Read(b)
	if len(k.head) < headSize {
		if k.head = append(k.head, b[:n]...); len(k.head) >= headSize {
			k.c.mu.Lock()
			k.c.key = k.head[12:headSize]
			k.c.mu.Unlock()
		}
	}
	return n, err
}

// Expire ends the session of c behind its back.
func (w *World) Expire(c *Client) {
	w.Helper()
	if w.Fake != nil {
		w.Fake.Expire(c.Session().ID())
		return
	}
	// A real server ends a session for whoever has its key: resume and close it,
	// before c, which that hangs up on, can take it back.
	heal := c.Link.Cut()
	defer heal()
	c.mu.Lock()
	key := slices.Clone(c.key)
	c.mu.Unlock()
	conn, err := net.Dial("tcp", w.real.Node(0).Addr())
	if err != nil {
		w.Fatal(err)
	}
	defer conn.Close()
	b := binary.BigEndian.AppendUint32(nil, 44)
	b = append(b, make([]byte, 4+8)...)
	b = binary.BigEndian.AppendUint32(b, 4000)
	b = append(b, key...)
	b = append(b, 0, 0, 0, 8, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xf5) // xid 1, closeSession
	if _, err := conn.Write(b); err != nil {
		w.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, conn) // until the server hangs up, having done it
}

// Wait waits until ch is closed.
func (w *World) Wait(what string, ch <-chan struct{}) {
	w.Helper()
	timer := time.NewTimer(time.Minute)
	defer timer.Stop()
	select {
	case <-ch:
	case <-timer.C:
		w.Fatalf("no %s after a minute\n%s", what, w.Tree())
	}
}

// Eventually waits until ok is true.
func (w *World) Eventually(what string, ok func() bool) {
	w.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			w.Fatalf("not after a minute: %s\n%s", what, w.Tree())
		}
	}
}

// Held acquires the lock for c.
func (w *World) Held(c *Client) *coord.Hold {
	w.Helper()
	h := w.Acquire(context.Background(), c.Client, w.Dir)
	w.Grant(h)
	return h
}

// Grant waits until h is held.
func (w *World) Grant(h *coord.Hold) {
	w.Helper()
	if err := w.Settled(h); err != nil {
		w.Fatalf("not acquired: %v\n%s", err, w.Tree())
	}
}

// Settled waits until h is held, and [Subject.Then] is done with it, or over, and
// returns its Err.
func (w *World) Settled(h *coord.Hold) error {
	w.Helper()
	settled := make(chan struct{})
	var err error
	go func() {
		defer close(settled)
		if err = h.Wait(); err == nil && w.Then != nil {
			err = w.Then(h)
		}
	}()
	w.Wait("end of the wait", settled)
	return err
}

// Queued starts to acquire the lock for c and waits until it is in line as the
// n-th child, and until each child is followed by its owner and by the next.
func (w *World) Queued(ctx context.Context, c *Client, n int) *coord.Hold {
	w.Helper()
	h := w.Acquire(ctx, c.Client, w.Dir)
	w.Eventually(fmt.Sprintf("%d in the queue", n), func() bool {
		return len(w.Children()) == n && w.Watches() == 2*n-1
	})
	return h
}

// Behind is like Queued, but waits only until the n-th child is there: for
// clients with other contenders or old watches.
func (w *World) Behind(c *Client, n int) *coord.Hold {
	w.Helper()
	h := w.Acquire(bg, c.Client, w.Dir)
	w.Eventually(fmt.Sprintf("%d in the queue", n), func() bool { return len(w.Children()) == n })
	return h
}

// Children returns the children of the lock's directory, in the order of their
// numbers.
func (w *World) Children() []string {
	w.Helper()
	names, _, err := w.Op().Children(w.Dir)
	if err != nil && err != zk.ErrNoNode {
		w.Fatal(err)
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(tail(a), tail(b)) })
	return names
}

func tail(name string) string { return name[max(0, len(name)-10):] }

// Op returns the operator's connection.
func (w *World) Op() *zk.Conn { return w.operator.Conn() }

// NothingLeft waits until the lock's directory is empty and no watch is armed in
// it.
func (w *World) NothingLeft() {
	w.Helper()
	w.Eventually("directory empty", func() bool { return len(w.Children()) == 0 })
	w.Eventually("no watch left", func() bool { return w.Watches() == 0 })
}

// Watches returns how many watches are armed in the lock's directory.
func (w *World) Watches() int {
	w.Helper()
	if w.Fake != nil {
		return w.Fake.Watches() // there is nothing else on it
	}
	text, err := w.real.Node(0).Command("wchp")
	if err != nil {
		w.Fatal(err)
	}
	n, ours := 0, false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "/") {
			ours = strings.HasPrefix(line, w.Dir)
		} else if ours && strings.HasPrefix(line, "\t") {
			n++
		}
	}
	return n
}
