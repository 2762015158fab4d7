package coord_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/members"
	"github.com/zkcoord/zkcoord/rwlock"
)

// limit is the most bytes that a server takes as one request, without the length
// that stands before it.
const limit = 1<<20 - 1

// maxData is the most bytes that recipes let a znode have.
const maxData = 992 << 10

// aclOf returns an access list that lets everybody in and takes n bytes of a
// request.
func aclOf(n int) []coord.ACL {
	const user = "u:"
	n -= 4 + (4 + 4 + len("world") + 4 + len("anyone")) + (4 + 4 + len("digest") + 4)
	return []coord.ACL{
		{Perms: coord.PermAll, Scheme: "world", ID: "anyone"},
		{Perms: coord.PermRead, Scheme: "digest", ID: user + strings.Repeat("x", n-len(user))},
	}
}

// A meter counts the connections that dial makes, and measures what is asked there.
type meter struct {
	dial func(ctx context.Context, network, addr string) (net.Conn, error)

	mu    sync.Mutex
	conns int
	most  int // bytes of the longest request
}

func (m *meter) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := m.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.conns++
	return &harness.Tap{Conn: conn, Request: func(body []byte) []byte {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.most = max(m.most, len(body))
		return body
	}}, nil
}

// carried returns how many connections there have been, and how many bytes the
// longest request had.
func (m *meter) carried() (conns, most int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.conns, m.most
}

// dialed returns a client that dials with m.
func dialed(tb testing.TB, m *meter, servers []string, acl []coord.ACL) *coord.Client {
	tb.Helper()
	c, err := coord.Dial(bg, servers, &coord.Options{Dial: m.Dial, ACL: acl})
	must(tb, err)
	tb.Cleanup(func() { c.Close() })
	return c
}

// ended waits for done, and returns what err then says.
func ended(ctx context.Context, done <-chan struct{}, err func() error) error {
	select {
	case <-done:
		return err()
	case <-ctx.Done():
		return errors.New("does not end")
	}
}

// tooLarge are requests that a server would not take, because of the access list. Each
// is made at path.
var tooLarge = []struct {
	name, op string
	acl      int // bytes of the access list
	run      func(ctx context.Context, c *coord.Client, path string) error
}{
	{"members, Join", "join", 40 << 10, func(ctx context.Context, c *coord.Client, path string) error {
		h := members.New(c, path[:strings.LastIndexByte(path, '/')]).Join(ctx, members.Member{ID: "x", Data: make([]byte, maxData)})
		return ended(ctx, h.Done(), h.Err)
	}},
	{"members, Keep", "keep", 40 << 10, func(ctx context.Context, c *coord.Client, path string) error {
		m := members.New(c, path[:strings.LastIndexByte(path, '/')]).Keep(ctx, members.Member{ID: "x", Data: make([]byte, maxData)})
		return ended(ctx, m.Done(), m.Err)
	}},
	{"members, SetData", "setdata", 40 << 10, func(ctx context.Context, c *coord.Client, path string) error {
		m := members.New(c, path[:strings.LastIndexByte(path, '/')]).Keep(ctx, members.Member{ID: "x"})
		<-m.Joined()
		refused := m.SetData(ctx, make([]byte, maxData))
		if err := errors.Join(m.SetData(ctx, []byte("small")), m.Leave(bg)); err != nil {
			return fmt.Errorf("is no member any more: %w", err)
		}
		return refused
	}},
	{"lock, Acquire", "acquire", limit - 60, func(ctx context.Context, c *coord.Client, path string) error {
		h := lock.New(c, path).Acquire(ctx)
		return ended(ctx, h.Done(), h.Err)
	}},
	{"lock, TryAcquire", "tryacquire", limit - 60, func(ctx context.Context, c *coord.Client, path string) error {
		h := lock.New(c, path).TryAcquire(ctx)
		return ended(ctx, h.Done(), h.Err)
	}},
	{"lock, Unqueued", "acquire", limit / 2, func(ctx context.Context, c *coord.Client, path string) error {
		h := lock.NewUnqueued(c, path).Acquire(ctx)
		return ended(ctx, h.Done(), h.Err)
	}},
	{"rwlock, AcquireRead", "acquireread", limit - 60, func(ctx context.Context, c *coord.Client, path string) error {
		h := rwlock.New(c, path).AcquireRead(ctx)
		return ended(ctx, h.Done(), h.Err)
	}},
	{"rwlock, AcquireWrite", "acquirewrite", limit - 60, func(ctx context.Context, c *coord.Client, path string) error {
		h := rwlock.New(c, path).AcquireWrite(ctx)
		return ended(ctx, h.Done(), h.Err)
	}},
	{"config, Modify", "modify", 40 << 10, func(ctx context.Context, c *coord.Client, path string) error {
		_, err := config.New(c, path, config.Text()).Modify(ctx, func(string) (string, error) {
			return strings.Repeat("x", maxData), nil
		})
		return err
	}},
	{"config, Publish", "publish", 40 << 10, func(ctx context.Context, c *coord.Client, path string) error {
		_, err := config.NewTree(c, path, config.Text()).Publish(ctx, map[string]string{"k": strings.Repeat("x", maxData)}, nil)
		return err
	}},
	{"config, Publish of two", "publish", limit / 2, func(ctx context.Context, c *coord.Client, path string) error {
		_, err := config.NewTree(c, path, config.Text()).Publish(ctx, map[string]string{"k": "", "l": ""}, nil)
		return err
	}},
	{"a directory", "", limit - 40, func(ctx context.Context, c *coord.Client, path string) error {
		return c.Kit().Session().MakeDir(ctx, path+"/and/some/more/levels/with/names")
	}},
}

// What a server would not take, for its size, is refused at once by all that creates
// or writes, with the path and the sizes in the error. It is not sent: a server's answer
// would be to hang up, again and again, on all that the client does.
func TestTooLarge(t *testing.T) {
	for _, x := range tooLarge {
		t.Run(x.name, func(t *testing.T) {
			bubble(t, func(w *world) {
				const path = "/a/x"
				m := &meter{dial: w.line().Dial}
				c := dialed(w, m, []string{"server"}, aclOf(x.acl))
				ctx, cancel := context.WithTimeout(bg, time.Minute) // of the bubble
				defer cancel()
				began := time.Now()
				err := x.run(ctx, c, path)
				var e *coord.Error
				if !refused(err) || x.op != "" && (!errors.As(err, &e) || e.Op != x.op || e.Path != path) {
					t.Errorf("after %v: %.200v", time.Since(began), err)
				}
				if text := fmt.Sprint(err); !strings.Contains(text, "1048575") || !strings.Contains(text, `"/a/x`) {
					t.Errorf("%.300v", err)
				}
				if conns, most := m.carried(); conns != 1 || most > 64<<10 {
					t.Errorf("%d connections, and a request of %d bytes", conns, most)
				}
				if tree := w.Tree(); strings.Contains(tree, "/a/x") {
					t.Errorf("there is\n%s", tree)
				}
			})
		})
	}
}
