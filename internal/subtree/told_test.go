package subtree_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/subtree"
)

// large is more children than a directory may have and be listed at each change.
const large = 300

// fill makes a directory of so many, and returns what is seen of it.
func (w *world) fill(path string, n int) (state []string) {
	w.Helper()
	w.Create(path, "")
	for i := range n {
		name := fmt.Sprintf("m%04d", i)
		w.Create(path+"/"+name, "1")
		state = append(state, name+"=1")
	}
	return state
}

// A metered conn counts the bytes that it receives.
type metered struct {
	net.Conn
	received *atomic.Int64
}

func (c metered) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received.Add(int64(n))
	return n, err
}

// What a change in a large directory costs a watcher does not depend on how large that
// is: after the first change it is not listed again, whoever comes, changes or goes, not
// even when the connection has been lost, if nothing has changed meanwhile. When nobody
// follows it any more, the server tells nothing.
func TestLargeIsListedOnce(t *testing.T) {
	harness.Bubble(t, func(hw *harness.World) {
		var bytes atomic.Int64
		w := newWorld(hw, hw.DialThrough(func(c net.Conn) net.Conn { return metered{c, &bytes} }, nil, nil))
		all := w.fill("/t", large)
		r := w.watch("/t", false, nil)
		w.sees(r, strings.Join(all, " "))
		w.Create("/t/x", "1") // which shows that it pays
		all = append(all, "x=1")
		w.sees(r, strings.Join(all, " "))

		count := w.tally()
		for i, change := range []func(){
			func() { w.Create("/t/y", "1"); all = append(all, "y=1") },
			func() { w.Set("/t/y", "2"); all[len(all)-1] = "y=2" },
			func() { w.Delete("/t/y"); all = all[:large+1] },
			func() { w.line.Reset() },
			func() { w.Create("/t/y", "3"); all = append(all, "y=3") },
			func() { w.Delete("/t/m0000"); w.Create("/t/m0000", "new"); all[0] = "m0000=new" },
		} {
			clear(count)
			change()
			w.sees(r, strings.Join(all, " "))
			asked := count["getData"] + count["exists"] + count["setWatches"]
			if count["getChildren2"] > 0 || i != 3 && asked > 6 {
				t.Errorf("change %d: %v", i, count)
			}
		}

		for _, change := range []func(){
			func() { w.Delete("/t/y"); all = all[:large+1] },
			func() { w.Create("/t/z", "1"); all = append(all[:large+1], "z=1") },
		} {
			bytes.Store(0)
			change()
			w.sees(r, strings.Join(all, " "))
			if n := bytes.Load(); n == 0 || n > 1000 {
				t.Errorf("%d bytes", n)
			}
		}
	})
}

// The end of the last stream ends the watch on all that is below, and not that of one of
// two. It harms no other: who follows the directory itself hears of all that happens, as
// before and meanwhile.
func TestUprooted(t *testing.T) {
	bubble(t, func(w *world) {
		w.fill("/t", large)
		children, data := w.c.Watch(w.Context(), "/t", event.Children), w.c.Watch(w.Context(), "/t", event.Data)
		check := func(what string) {
			w.Helper()
			time.Sleep(time.Second)
			w.Create("/t/beside", "")
			w.Set("/t", what)
			time.Sleep(time.Second)
			with, _ := children.Latest()
			got, _ := data.Latest()
			w.Delete("/t/beside")
			time.Sleep(time.Second)
			w.Rest()
			without, _ := children.Latest()
			if len(with.Children) != len(without.Children)+1 || string(got.Data) != what {
				t.Errorf("%s: %d and %d children, data %q", what, len(with.Children), len(without.Children), got.Data)
			}
		}
		check("before")
		first, stop := context.WithCancel(w.Context())
		second, stopSecond := context.WithCancel(w.Context())
		count := func(n []*subtree.Node) (int, bool) { return len(n), true }
		a := subtree.Watch(first, w.c, "/t", subtree.Recipe[int]{Op: "count", Fold: count})
		b := subtree.Watch(second, w.c, "/t", subtree.Recipe[int]{Op: "count", Whole: true, Fold: count})
		asked := w.tally()
		check("both")
		if n, _ := a.Latest(); n != large {
			t.Errorf("%d", n)
		}
		stop()
		<-a.Done()
		check("one")
		if n, _ := b.Latest(); n != large {
			t.Errorf("%d", n)
		}
		if asked["addWatch /t"] == 0 || asked["removeWatches /t"] > 0 {
			t.Errorf("%v", asked)
		}
		stopSecond()
		<-b.Done()
		check("none")
		w.line.Reset()
		check("after a reconnect")
		clear(asked)
		w.Create("/t/m0000/below", "")
		w.Rest()
		if asked["events"] > 1 { // the watch on the children of m0000 may be armed yet
			t.Errorf("told of what nobody follows: %v", asked)
		}
	})
}

// One who may not be read comes and goes like all others, although nothing is told of
// that.
func TestHiddenInLarge(t *testing.T) {
	bubble(t, func(w *world) {
		all := strings.Join(w.fill("/t", large), " ")
		r := w.watch("/t", false, nil)
		w.sees(r, all)
		w.Create("/t/x", "1")
		w.sees(r, all+" x=1")
		for range 2 {
			_, err := w.other.Create("/t/y", nil, 0, zk.WorldACL(zk.PermAll&^zk.PermRead))
			w.Must(err)
			w.sees(r, all+" x=1 y!")
			w.Create("/t/z", "2")
			w.sees(r, all+" x=1 y! z=2")
			w.Delete("/t/y")
			w.sees(r, all+" x=1 z=2")
			w.Delete("/t/z")
			w.sees(r, all+" x=1")
		}
	})
}

// A server that knows no watches of this kind hangs up. It is asked once in a session,
// and the directory is listed at every change, as before. The same when the session comes
// to such a server later.
func TestOlderServer(t *testing.T) {
	for _, later := range []bool{false, true} {
		t.Run(fmt.Sprint("later: ", later), func(t *testing.T) {
			bubble(t, func(w *world) {
				if !later {
					w.Fake.Older()
				}
				all := strings.Join(w.fill("/t", large), " ")
				r := w.watch("/t", false, nil)
				w.sees(r, all)
				count := w.tally()
				w.Create("/t/x", "1")
				w.sees(r, all+" x=1")
				if count["addWatch /t"] != 1 {
					t.Errorf("not asked for: %v", count)
				}
				if later {
					w.Fake.Older()
					w.line.Reset()
					w.sees(r, all+" x=1")
				}
				for i := range 3 {
					clear(count)
					w.Create("/t/y", "1")
					w.sees(r, all+" x=1 y=1")
					w.Delete("/t/y")
					w.sees(r, all+" x=1")
					if i == 0 {
						continue // this may be how it is found out
					}
					if count["addWatch /t"] > 0 || count["getChildren2"] != 2 || count["connect"] > 0 {
						t.Errorf("%v", count)
					}
				}
			})
		})
	}
}

// If most of what is told is of znodes that nobody follows, as deep below, the directory
// is listed at every change instead, as before.
func TestBarren(t *testing.T) {
	bubble(t, func(w *world) {
		all := strings.Join(w.fill("/t", large), " ")
		w.Create("/t/m0000/deep", "")
		r := w.watch("/t", false, nil)
		w.sees(r, all)
		count := w.tally()
		w.Create("/t/x", "1")
		w.sees(r, all+" x=1")
		w.Delete("/t/x")
		w.sees(r, all)
		if count["getChildren2"] != 1 {
			t.Errorf("%v", count)
		}
		for range 2000 {
			w.Set("/t/m0000/deep", "")
		}
		w.sees(r, all)
		clear(count)
		w.Set("/t/m0000/deep", "")
		w.Create("/t/x", "1")
		w.sees(r, all+" x=1")
		if count["getChildren2"] != 1 || count["addWatch"] > 0 || count["events"] != 1 {
			t.Errorf("%v", count)
		}
	})
}

// Each frame in turn meets faults while what happens in a directory is told, and who
// follows it comes to rest on what there is.
func TestToldFaults(t *testing.T) {
	listBelow(t, 0)
	harness.Faults(t, harness.Workload{
		Name:    "follows a directory while it changes",
		Timeout: timeout,
		Share:   2,
		Run: func(hw *harness.World, connect func() *harness.Client) {
			hw.Create("/t", "")
			hw.Create("/t/a", "1")
			w := newWorld(hw, connect())
			r := w.watch("/t", false, nil)
			for i := range 3 {
				w.Create("/t/b", fmt.Sprint(i))
				time.Sleep(time.Duration(i) * time.Millisecond)
				w.Delete("/t/a")
				w.Set("/t/b", "2")
				w.Create("/t/a", fmt.Sprint(i))
				time.Sleep(2 * time.Millisecond)
				w.Delete("/t/b")
			}
			w.line.Reset()
			w.Create("/t/c", "3")
			w.client.Calm(5 * timeout)
			w.sees(r, "a=2 c=3")
		},
	})
}
