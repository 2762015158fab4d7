package recipes_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/lock/leader"
	"github.com/zkcoord/zkcoord/lock/semaphore"
	"github.com/zkcoord/zkcoord/members"
	"github.com/zkcoord/zkcoord/members/barrier"
)

// A progress is something of which there is more and more, and a stream that shows it.
type progress struct {
	name string
	// begin makes c do the steps, one at each call of the function returned.
	begin func(w *harness.World, c *coord.Client) (step func(i int))
	// watch passes to show what a stream of c shows, until ctx ends: how many steps have
	// been made.
	watch func(ctx context.Context, c *coord.Client, dir string, show func(int))
}

// follow passes what s shows to show.
func follow[T any](s *event.Stream[T], show func(int), n func(T) int) {
	for v := range s.All() {
		show(n(v))
	}
}

// progresses has N steps each.
const steps = 60

var progresses = []progress{
	{
		"Client.Watch of data",
		func(w *harness.World, c *coord.Client) func(int) {
			w.Create(w.Dir, "0")
			return func(i int) {
				_, err := c.Set(bg, w.Dir, []byte(strconv.Itoa(i)), -1)
				w.Must(err)
			}
		},
		func(ctx context.Context, c *coord.Client, dir string, show func(int)) {
			follow(c.Watch(ctx, dir, event.Data), show, func(s event.Snapshot) int { return number(string(s.Data)) })
		},
	},
	{
		"Client.Watch of children that go",
		func(w *harness.World, c *coord.Client) func(int) {
			w.Create(w.Dir, "")
			for i := range steps {
				w.Create(fmt.Sprintf("%s/%d", w.Dir, i+1), "")
			}
			return func(i int) { w.Must(c.Delete(bg, fmt.Sprintf("%s/%d", w.Dir, i), -1)) }
		},
		func(ctx context.Context, c *coord.Client, dir string, show func(int)) {
			follow(c.Watch(ctx, dir, event.Children), show, func(s event.Snapshot) int { return steps - len(s.Children) })
		},
	},
	{
		"Client.Watch of znodes that go",
		func(w *harness.World, c *coord.Client) func(int) {
			w.Create(w.Dir, "")
			for i := range steps {
				w.Create(fmt.Sprintf("%s/%d", w.Dir, i+1), "")
			}
			return func(i int) { w.Must(c.Delete(bg, fmt.Sprintf("%s/%d", w.Dir, i), -1)) }
		},
		func(ctx context.Context, c *coord.Client, dir string, show func(int)) {
			var mu sync.Mutex
			var gone [steps]bool
			var all sync.WaitGroup
			for i := range steps {
				all.Go(func() {
					follow(c.Watch(ctx, fmt.Sprintf("%s/%d", dir, i+1), event.Presence), func(n int) {
						mu.Lock()
						defer mu.Unlock()
						if gone[i] && n == 0 {
							show(i) // it is there again, so this is less than before
							return
						}
						gone[i] = n == 1
						show(steps - len(slices.DeleteFunc(slices.Clone(gone[:]), func(gone bool) bool { return gone })))
					}, func(s event.Snapshot) int {
						if s.Exists {
							return 0
						}
						return 1
					})
				})
			}
			all.Wait()
		},
	},
	{
		"Group.Watch of members that come",
		func(w *harness.World, c *coord.Client) func(int) {
			return func(i int) { w.Must(members.New(c, w.Dir).Join(bg, members.Member{ID: strconv.Itoa(i)}).Wait()) }
		},
		func(ctx context.Context, c *coord.Client, dir string, show func(int)) {
			follow(members.New(c, dir).Watch(ctx), show, func(v members.View) int { return len(v.Members) })
		},
	},
	{
		"Group.Watch of members that go",
		func(w *harness.World, c *coord.Client) func(int) {
			var all []*coord.Hold
			for i := range steps {
				all = append(all, members.New(c, w.Dir).Join(bg, members.Member{ID: strconv.Itoa(i)}))
				w.Must(all[i].Wait())
			}
			return func(i int) { w.Must(all[i-1].Release(bg)) }
		},
		func(ctx context.Context, c *coord.Client, dir string, show func(int)) {
			follow(members.New(c, dir).Watch(ctx), show, func(v members.View) int { return steps - len(v.Members) })
		},
	},
	{
		"Value.Watch",
		func(w *harness.World, c *coord.Client) func(int) {
			v := config.New(c, w.Dir, config.Text())
			return func(i int) {
				_, err := v.Store(bg, strconv.Itoa(i))
				w.Must(err)
			}
		},
		func(ctx context.Context, c *coord.Client, dir string, show func(int)) {
			follow(config.New(c, dir, config.Text()).Watch(ctx), show, func(u config.Update[string]) int { return number(u.Value) })
		},
	},
	{
		"Tree.Watch of keys that go",
		func(w *harness.World, c *coord.Client) func(int) {
			tree := config.NewTree(c, w.Dir, config.Text())
			all := make(map[string]string)
			for i := range steps {
				all[strconv.Itoa(i+1)] = "there"
			}
			_, err := tree.Publish(bg, all, nil)
			w.Must(err)
			return func(i int) {
				_, err := tree.Publish(bg, nil, []string{strconv.Itoa(i)})
				w.Must(err)
			}
		},
		func(ctx context.Context, c *coord.Client, dir string, show func(int)) {
			follow(config.NewTree(c, dir, config.Text()).Watch(ctx), show, func(v config.Values[string]) int { return steps - len(v.Keys) })
		},
	},
	{
		"Mutex.Watch",
		func(w *harness.World, c *coord.Client) func(int) {
			held := make([]*coord.Hold, steps+2)
			for i := range held {
				held[i] = lock.New(c, w.Dir).Acquire(bg)
				w.Eventually("in line", func() bool { return len(w.Children(w.Dir)) == i+1 })
			}
			return func(i int) { w.Must(held[i-1].Release(bg)) }
		},
		func(ctx context.Context, c *coord.Client, dir string, show func(int)) {
			follow(lock.New(c, dir).Watch(ctx), show, func(q coord.Contention) int { return steps + 2 - len(q.Contenders) })
		},
	},
	{
		"Semaphore.Watch",
		func(w *harness.World, c *coord.Client) func(int) {
			held := make([]*coord.Hold, steps+1)
			for i := range held {
				held[i] = semaphore.New(c, w.Dir, steps+1).Acquire(bg)
				w.Must(held[i].Wait())
			}
			return func(i int) { w.Must(held[i-1].Release(bg)) }
		},
		func(ctx context.Context, c *coord.Client, dir string, show func(int)) {
			follow(semaphore.New(c, dir, steps+1).Watch(ctx), show, func(v semaphore.View) int { return steps + 1 - len(v.Holders) })
		},
	},
	{
		"Election.Watch",
		func(w *harness.World, c *coord.Client) func(int) {
			held := leader.New(c, w.Dir).Campaign(bg, []byte("0"))
			w.Must(held.Wait())
			return func(i int) {
				next := leader.New(c, w.Dir).Campaign(bg, []byte(strconv.Itoa(i)))
				w.Must(held.Release(bg))
				w.Must(next.Wait())
				held = next
			}
		},
		func(ctx context.Context, c *coord.Client, dir string, show func(int)) {
			var last int
			follow(leader.New(c, dir).Watch(ctx), show, func(v leader.View) int {
				if v.Has && len(v.Value) > 0 {
					last = number(string(v.Value))
				}
				return last
			})
		},
	},
}

func number(s string) int {
	n, _ := strconv.Atoi(s) // nothing is 0
	return n
}

// A client that goes from server to server, all of which lag by turns, never sees less
// than it has seen, not even if it has been told of a change and nothing else. In the
// end it sees everything. (R34.)
func TestViewsNeverGoBack(t *testing.T) {
	servers := []string{"one:2181", "two:2181", "three:2181"}
	for _, p := range progresses {
		for _, x := range []struct {
			name string
			blow func(i int, c *harness.Client) // at step i
		}{
			{"connection lost at times", func(i int, c *harness.Client) {
				if i%3 == 1 {
					c.Link.Reset()
				}
			}},
			{"connection lost behind events", func(i int, c *harness.Client) {
				if i > 1 {
					return
				}
				events := 0
				c.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
					if f.Op == "event" {
						if events++; events%3 == 0 {
							return coordtest.PassAndHangUp
						}
					}
					return coordtest.Pass
				})
			}},
		} {
			t.Run(p.name+"/"+x.name, func(t *testing.T) {
				harness.Bubble(t, func(w *harness.World) {
					w = w.At("/views")
					step := p.begin(w, w.Operator().Client)
					c := w.Dial(servers, &coord.Options{SessionTimeout: T})
					ctx, stop := context.WithCancel(bg)
					defer stop()
					seen := &record{w: w}
					var wg sync.WaitGroup
					wg.Go(func() { p.watch(ctx, c.Client, w.Dir, seen.show) })
					heals := make([]func(), len(servers))
					for i := range steps {
						if k := i % len(servers); heals[k] == nil {
							heals[k] = w.Fake.Lag(servers[k])
						} else {
							heals[k]()
							heals[k] = nil
						}
						step(i + 1)
						x.blow(i+1, c)
						time.Sleep(T / 10)
					}
					c.Link.OnFrame(nil)
					for _, heal := range heals {
						if heal != nil {
							heal()
						}
					}
					w.Eventually("everything is seen", func() bool { return seen.latest() == steps })
					stop()
					wg.Wait()
					if seen.n < steps/10 {
						w.Errorf("%d views: this shows nothing", seen.n)
					}
				})
			})
		}
	}
}

// A record is what a stream has shown.
type record struct {
	w *harness.World

	mu   sync.Mutex
	n    int // views
	last int
}

func (r *record) show(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n < r.last {
		r.w.Errorf("%d after %d", n, r.last)
	}
	r.n++
	r.last = n
}

func (r *record) latest() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// Everyone who enters a barrier at a server that lags is let in when that has caught up,
// and leaves; nobody is let in before all are there.
func TestBarrierAtServersThatLag(t *testing.T) {
	for _, lag := range []time.Duration{T / 8, T, 3 * T} {
		harness.Bubble(t, func(w *harness.World) {
			clients := []*harness.Client{
				w.Dial([]string{"one:2181"}, &coord.Options{SessionTimeout: T}),
				w.Dial([]string{"one:2181", "two:2181"}, &coord.Options{SessionTimeout: T}),
				w.Client(T),
			}
			for round := range 3 {
				var mu sync.Mutex
				begun := make(map[int]bool)
				var wg sync.WaitGroup
				heal := func() {}
				for i, c := range clients {
					if i == round {
						heal = w.Fake.Lag("one:2181")
						time.AfterFunc(lag, heal)
						time.Sleep(lag / 2)
					}
					wg.Go(func() {
						mu.Lock()
						begun[i] = true
						mu.Unlock()
						b := barrier.New(c.Client, fmt.Sprintf("%s/%d", w.Dir, round), len(clients))
						h := b.Enter(bg, strconv.Itoa(i))
						for h.Wait() != nil { // its session was given up
							<-h.Done()
							h = b.Enter(bg, strconv.Itoa(i))
						}
						mu.Lock()
						if len(begun) < len(clients) {
							w.Errorf("lag %v: let in when %d had begun to enter", lag, len(begun))
						}
						mu.Unlock()
						_ = h.Release(bg)
						<-h.Done()
					})
				}
				wg.Wait()
				heal()
			}
		})
	}
}
