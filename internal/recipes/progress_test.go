package recipes_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/lock/leader"
	"github.com/zkcoord/zkcoord/lock/semaphore"
	"github.com/zkcoord/zkcoord/members"
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

// steps is how many there are of each progress.
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
