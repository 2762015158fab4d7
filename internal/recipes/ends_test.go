package recipes_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/lock/leader"
	"github.com/zkcoord/zkcoord/lock/semaphore"
	"github.com/zkcoord/zkcoord/members"
	"github.com/zkcoord/zkcoord/rwlock"
)

// A stream is what all streams have in common.
type stream interface {
	Done() <-chan struct{}
	Err() error
}

// streams are all there are.
var streams = map[string]func(ctx context.Context, c *coord.Client, path string) stream{
	"Client.Watch of presence": func(ctx context.Context, c *coord.Client, path string) stream {
		return c.Watch(ctx, path, event.Presence)
	},
	"Client.Watch of data": func(ctx context.Context, c *coord.Client, path string) stream {
		return c.Watch(ctx, path, event.Data)
	},
	"Client.Watch of children": func(ctx context.Context, c *coord.Client, path string) stream {
		return c.Watch(ctx, path, event.Children)
	},
	"Client.Follow": func(ctx context.Context, c *coord.Client, path string) stream {
		return c.Kit().WatchUntilDeleted(ctx, path)
	},
	"Mutex.Watch":    func(ctx context.Context, c *coord.Client, path string) stream { return lock.New(c, path).Watch(ctx) },
	"RWMutex.Watch":  func(ctx context.Context, c *coord.Client, path string) stream { return rwlock.New(c, path).Watch(ctx) },
	"Election.Watch": func(ctx context.Context, c *coord.Client, path string) stream { return leader.New(c, path).Watch(ctx) },
	"Semaphore.Watch": func(ctx context.Context, c *coord.Client, path string) stream {
		return semaphore.New(c, path, 1).Watch(ctx)
	},
	"Unqueued.Watch": func(ctx context.Context, c *coord.Client, path string) stream {
		return lock.NewUnqueued(c, path).Watch(ctx)
	},
	"Group.Watch": func(ctx context.Context, c *coord.Client, path string) stream { return members.New(c, path).Watch(ctx) },
	"Group.Follow": func(ctx context.Context, c *coord.Client, path string) stream {
		dir, id := path[:strings.LastIndex(path, "/")], path[strings.LastIndex(path, "/")+1:]
		return members.New(c, dir).Follow(ctx, id)
	},
	"Value.Watch": func(ctx context.Context, c *coord.Client, path string) stream {
		return config.New(c, path, config.Text()).Watch(ctx)
	},
	"Tree.Watch": func(ctx context.Context, c *coord.Client, path string) stream {
		return config.NewTree(c, path, config.Text()).Watch(ctx)
	},
}

// A last is one way for a stream to end.
type last struct {
	name string
	want error
	path string // if not that of a znode that may be read
	end  func(c *harness.Client, cancel func())
}

// TestStreamsEndWithOneError: however a stream ends, its error names the operation
// and the path once, and then the cause.
func TestStreamsEndWithOneError(t *testing.T) {
	for name, open := range streams {
		for _, x := range []last{
			{"ctx", context.Canceled, "", func(_ *harness.Client, cancel func()) { cancel() }},
			{"Close", coord.ErrClosed, "", func(c *harness.Client, _ func()) { c.Close() }},
			{"a bad path", coord.ErrInvalidPath, "/a//b", nil},
			{"a refusal", zk.ErrNoAuth, "/harness/hidden", nil},
		} {
			if x.want == zk.ErrNoAuth && name == "Client.Watch of presence" {
				continue // which anybody may ask for
			}
			t.Run(name+"/"+x.name, func(t *testing.T) {
				harness.Bubble(t, func(w *harness.World) {
					plant(w)
					c := w.Client(T)
					ctx, cancel := context.WithCancel(bg)
					defer cancel()
					if x.path == "" {
						x.path = w.Dir
					}
					s := open(ctx, c.Client, x.path)
					w.Rest()
					if x.end != nil {
						x.end(c, cancel)
					}
					w.Wait("end", s.Done())
					once(w, s.Err(), x.want)
					if x.want == coord.ErrClosed {
						late := open(ctx, c.Client, x.path)
						w.Wait("end", late.Done())
						once(w, late.Err(), x.want)
					}
				})
			})
		}
	}
}

// TestHoldsEndWithOneError is the same of what is held or sought.
func TestHoldsEndWithOneError(t *testing.T) {
	hidden := zk.WorldACL(zk.PermAll &^ zk.PermRead)
	for _, r := range recipes {
		for _, x := range []struct {
			name string
			want error
			opts coord.Options
			path string
			end  func(w *harness.World, c *harness.Client, h held, cancel func())
		}{
			{name: "ctx", want: context.Canceled, path: "/harness/cut off",
				end: func(_ *harness.World, _ *harness.Client, _ held, cancel func()) { cancel() }},
			{name: "release", want: coord.ErrReleased,
				end: func(_ *harness.World, _ *harness.Client, h held, _ func()) { h.Release(bg) }},
			{name: "Close", want: coord.ErrClosed,
				end: func(_ *harness.World, c *harness.Client, _ held, _ func()) { c.Close() }},
			{name: "expiry", want: coord.ErrExpired,
				end: func(w *harness.World, c *harness.Client, _ held, _ func()) { w.Expire(c) }},
			{name: "deletion", want: coord.ErrDeleted,
				end: func(w *harness.World, c *harness.Client, h held, _ func()) {
					for _, node := range []string{h.node(), w.Dir, w.Dir + "/self"} { // of an Unqueued the second is what is followed, of a member the third
						_ = w.Op().Delete(node, -1)
					}
				}},
			{name: "a bad path", want: coord.ErrInvalidPath, path: "/a//b"},
			{name: "a refusal to create", want: zk.ErrNoAuth, path: "/harness/hidden/x"},
			{name: "a refusal to read", want: zk.ErrNoAuth, opts: coord.Options{ACL: []coord.ACL{coord.ACL(hidden[0])}}},
		} {
			if r.name == "Group.Keep" && (x.want == coord.ErrExpired || x.want == coord.ErrDeleted) {
				continue // it goes on
			}
			t.Run(r.name+"/"+x.name, func(t *testing.T) {
				harness.Bubble(t, func(w *harness.World) {
					plant(w)
					c := w.Dial(nil, &x.opts)
					ctx, cancel := context.WithCancel(bg)
					defer cancel()
					if x.path == "" {
						x.path = w.Dir
					}
					if x.want == context.Canceled {
						defer c.Link.Cut()()
					}
					h := r.seek(ctx, c.Client, x.path)
					w.Rest()
					if x.end != nil {
						x.end(w, c, h, cancel)
					}
					w.Wait("end", ended(h))
					once(w, h.Err(), x.want)
				})
			})
		}
	}
}

// ended is closed when h has an error.
func ended(h held) <-chan struct{} {
	if h, ok := h.(hold); ok {
		return h.Context(bg).Done()
	}
	return h.Done()
}

// plant makes a znode in which nobody may read or create.
func plant(w *harness.World) {
	w.Helper()
	w.Create("/harness", "")
	for _, path := range []string{"/harness/hidden", "/harness/hidden-leader"} { // what an Election.Watch reads as well
		_, err := w.Op().Create(path, nil, 0, zk.WorldACL(zk.PermAdmin))
		w.Must(err)
	}
}

// once checks that err is want, and that one error on the way there names an
// operation.
func once(w *harness.World, err, want error) {
	w.Helper()
	n := 0
	for at := err; at != nil; at = errors.Unwrap(at) {
		if _, ok := at.(*coord.Error); ok {
			n++
		}
	}
	if !errors.Is(err, want) || n != 1 {
		w.Errorf("%v: names %d operations; want one, and %v", err, n, want)
	}
}
