package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/zkpath"
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/lock/leader"
	"github.com/zkcoord/zkcoord/lock/semaphore"
	"github.com/zkcoord/zkcoord/members"
	"github.com/zkcoord/zkcoord/members/barrier"
)

// A use is one way in which a program reads what servers and other clients have written,
// from its beginning to its end.
type use struct {
	name   string
	do     func(ctx context.Context, c *coord.Client, path string) error
	stream bool // it goes on until ctx ends
}

// uses are those of all recipes and streams, and single calls.
var uses = slices.Concat(sought(), streamed(), []use{
	{name: "Mutex.Contenders", do: func(ctx context.Context, c *coord.Client, path string) error {
		_, err := lock.New(c, path).Contenders(ctx)
		return err
	}},
	{name: "Unqueued.Holder", do: func(ctx context.Context, c *coord.Client, path string) error {
		_, _, err := lock.NewUnqueued(c, path).Holder(ctx)
		return err
	}},
	{name: "Election.Leader", do: func(ctx context.Context, c *coord.Client, path string) error {
		_, err := leader.New(c, path).Leader(ctx)
		return err
	}},
	{name: "Election.Keep", do: func(ctx context.Context, c *coord.Client, path string) error {
		k := leader.New(c, path).Keep(ctx, []byte("value"))
		time.Sleep(time.Second) // of the bubble
		return errors.Join(k.Publish(ctx, []byte("other")), k.Resign(ctx))
	}},
	{name: "Semaphore.Contenders", do: func(ctx context.Context, c *coord.Client, path string) error {
		_, err := semaphore.New(c, path, 1).Contenders(ctx)
		return err
	}},
	{name: "Semaphore.Resize", do: func(ctx context.Context, c *coord.Client, path string) error {
		return semaphore.New(c, path, 1).Resize(ctx, 2)
	}},
	{name: "Group.Members and Find", do: func(ctx context.Context, c *coord.Client, path string) error {
		_, err := members.New(c, path).Members(ctx)
		_, _, missing := members.New(c, path).Find(ctx, "self")
		return errors.Join(err, missing)
	}},
	{name: "Gate", do: func(ctx context.Context, c *coord.Client, path string) error {
		g := barrier.NewGate(c, path+"/gate")
		return errors.Join(g.Close(ctx), g.Open(ctx), g.Wait(ctx))
	}},
	{name: "Counter", do: func(ctx context.Context, c *coord.Client, path string) error {
		n := config.NewCounter(c, path)
		_, adding := n.Add(ctx, 1)
		_, getting := n.Get(ctx)
		return errors.Join(adding, getting)
	}},
	{name: "Value.Modify", do: func(ctx context.Context, c *coord.Client, path string) error {
		_, err := config.New(c, path, config.JSON[map[string]any]()).Modify(ctx, func(m map[string]any) (map[string]any, error) { return m, nil })
		return err
	}},
	{name: "Tree.Read and Publish", do: func(ctx context.Context, c *coord.Client, path string) error {
		t := config.NewTree(c, path, config.Text())
		_, reading := t.Read(ctx)
		_, publishing := t.Publish(ctx, map[string]string{"a": "1", "b/c": "2"}, []string{"x"})
		return errors.Join(reading, publishing)
	}},
})

// sought are the uses of what can be held.
func sought() (all []use) {
	for _, r := range recipes {
		all = append(all, use{r.name, func(ctx context.Context, c *coord.Client, path string) error {
			h := r.seek(ctx, c, path)
			select {
			case <-h.Acquired():
			case <-h.Done():
				return h.Err()
			}
			time.Sleep(time.Second) // of the bubble
			return errors.Join(h.Err(), h.Release(ctx))
		}, false})
	}
	return all
}

// streamed are the uses of streams, and of those alone.
func streamed() (all []use) {
	for name, open := range streams {
		all = append(all, use{name, func(ctx context.Context, c *coord.Client, path string) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			s := open(ctx, c, path)
			<-s.Done()
			return s.Err()
		}, true})
	}
	slices.SortFunc(all, func(a, b use) int { return strings.Compare(a.name, b.name) })
	return all
}

// fit checks that each error that err joins names an operation, and is fit to print.
func fit(w *harness.World, what string, err error) {
	w.Helper()
	if err == nil {
		return
	}
	each := []error{err}
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		each = all.Unwrap()
	}
	for _, err := range each {
		harness.Printable(w, err)
		var e *coord.Error
		if !errors.As(err, &e) && !strings.Contains(err.Error(), "out: ") || e != nil && (e.Op == "" || !strings.HasPrefix(e.Path, w.Dir)) {
			w.Errorf("%s: %v names no operation, or no path", what, err)
		}
	}
}

// FuzzServer has a hostile server say one thing that is not so, at any moment of any use.
// Nothing panics, nothing goes on when its time is over, each error names what failed and is
// fit to print, and nothing is in the way of the next use.
func FuzzServer(f *testing.F) {
	for which := range uses {
		for i, lie := range []string{"\xff\xff\xff\xff", "\x00\x00\x00\x01\x00\x00\x00\x03a/b"} {
			f.Add(uint8(which), uint8((which+i)%8), int16(16-4*((which+i)%2)), []byte(lie))
		}
	}
	f.Fuzz(func(t *testing.T, which, at uint8, keep int16, data []byte) {
		harness.Bubble(t, func(w *harness.World) {
			x := uses[int(which)%len(uses)]
			lie := &harness.Lie{At: 2 + int(at%32), Keep: int(keep), Data: data}
			c := w.DialThrough(lie.Wrap, nil, &coord.Options{SessionTimeout: T})
			ctx, cancel := context.WithTimeout(bg, time.Minute)
			defer cancel()
			fit(w, x.name, x.do(ctx, c.Client, w.Dir))
			w.Within(time.Minute, "Close", func() { w.Must(c.Close()) })
			x.again(w)
		})
	})
}

// again checks that x does what it should for an honest client, once the sessions are over
// in which something may have been left.
func (x use) again(w *harness.World) {
	w.Helper()
	time.Sleep(2 * harness.Long) // of the bubble
	ctx, cancel := context.WithTimeout(bg, time.Minute)
	defer cancel()
	if err := x.do(ctx, w.Client(harness.Long).Client, w.Dir); err != nil && (!x.stream || !errors.Is(err, context.DeadlineExceeded)) {
		w.Errorf("%s, afterwards: %v\n%s", x.name, err, w.Tree())
	}
}

// wheres are where another client may write what a recipe at a path reads.
var wheres = []string{"", "-leader", "-guard/", "/", "/leases/", "/locks/", "/self", "/ready", "/a/", "-guard/self/"}

// FuzzOthers has another client write data that are not what it should write, under names
// that it should not have, to where recipes look. The same holds.
func FuzzOthers(f *testing.F) {
	for which := range uses {
		for where := range wheres {
			for _, data := range []string{"", "9223372036854775808", "-1", "node 0x7fffffffffffffff \"\xff\"\nvalue", "\x00\xff\x1b[2J", "__REVOKE__", "{\"a\":1e999}"} {
				for _, name := range []string{"x", "abcdefghijklm-lock-2147483647", "\u202e-lease-0000000001", "_c_-__WRIT__-000000001", "holder-"} {
					if (7*which+5*where+3*len(data)+len(name))%131 == 0 {
						f.Add(uint8(which), uint8(where), name, []byte(data), len(name)%2 == 0)
					}
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, which, where uint8, name string, data []byte, ephemeral bool) {
		const dir = "/harness/world"
		path := dir + wheres[int(where)%len(wheres)]
		if strings.HasSuffix(path, "/") {
			path += name
		}
		if zkpath.Check(path) != nil || len(path) > 1<<10 || len(data) > 1<<16 {
			return
		}
		harness.Bubble(t, func(w *harness.World) {
			foreign(w, path, data, ephemeral)
			x := uses[int(which)%len(uses)]
			c := w.Client(T)
			ctx, cancel := context.WithTimeout(bg, 10*time.Second)
			defer cancel()
			fit(w, fmt.Sprintf("%s beside %q", x.name, path), x.do(ctx, c.Client, w.Dir))
			w.Within(time.Minute, "Close", func() { w.Must(c.Close()) })
		})
	})
}

// foreign creates the znode at path, and what is missing above it.
func foreign(w *harness.World, path string, data []byte, ephemeral bool) {
	w.Helper()
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			_, err := w.Op().Create(path[:i], nil, 0, zk.WorldACL(zk.PermAll))
			if err != nil && !errors.Is(err, zk.ErrNodeExists) {
				w.Fatal(err)
			}
		}
	}
	flags := int32(0)
	if ephemeral {
		flags = zk.FlagEphemeral
	}
	_, err := w.Op().Create(path, data, flags, zk.WorldACL(zk.PermAll))
	w.Must(err)
}
