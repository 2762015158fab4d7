package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/members/barrier"
)

// A client that goes from server to server, all of which lag by turns, never sees less
// than it has seen, not even if it has been told of a change and of nothing else. In the
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

// What clients at servers that lag add to a number counts once, whether the answer comes
// when the server has caught up, at another server, or never. (R43.)
func TestCountsAtServersThatLag(t *testing.T) {
	harness.Bubble(t, func(w *harness.World) {
		clients := []*harness.Client{
			w.Dial([]string{"one:2181"}, &coord.Options{SessionTimeout: T}),
			w.Dial([]string{"one:2181", "two:2181"}, &coord.Options{SessionTimeout: T}),
			w.Client(T),
		}
		const each = 40
		var mu sync.Mutex
		done, unknown := 0, 0
		var wg sync.WaitGroup
		for _, c := range clients {
			wg.Go(func() {
				for range each {
					_, err := config.NewCounter(c.Client, "/count").Add(bg, 1)
					mu.Lock()
					switch {
					case err == nil:
						done++
					case errors.Is(err, coord.ErrUnknown):
						unknown++
					default:
						w.Errorf("%v", err)
					}
					mu.Unlock()
					time.Sleep(T / 10)
				}
			})
		}
		for i := range 12 {
			heal := w.Fake.Lag([]string{"one:2181", "two:2181"}[i%2])
			time.Sleep(T / 8)
			clients[1].Link.Reset()
			time.Sleep(T * time.Duration(i%4) / 2)
			heal()
			time.Sleep(T / 8)
		}
		wg.Wait()
		n, err := config.NewCounter(w.Operator().Client, "/count").Get(bg)
		w.Must(err)
		if int(n) < done || int(n) > done+unknown {
			w.Errorf("counted %d, of %d additions done and %d unknown", n, done, unknown)
		}
		if done < each {
			w.Errorf("%d additions done, %d unknown: this shows nothing", done, unknown)
		}
		w.Logf("%d additions done, %d unknown", done, unknown)
	})
}
