package coord_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// What a session costs its server, in requests every T/6, while the program does nothing: a
// heartbeat; or, while something is being acquired, a sync instead of it; or, while
// anything is held, a transaction and the heartbeat before it, however much is held. While
// the program asks for something more often than that there are no heartbeats.
func TestRequestsOfASession(t *testing.T) {
	const sixths = 60
	held := func(c *coord.Client) *coord.Hold {
		h := take(c, "/h", nil)
		must(t, h.Wait())
		return h
	}
	for _, timeout := range []time.Duration{4 * time.Second, 10 * time.Second, 40 * time.Second} {
		for _, x := range []struct {
			what  string
			begin func(c *coord.Client) *coord.Hold
			do    func(c *coord.Client) // every T/24
			want  map[string]int        // every T/6
		}{
			{"idle", nil, nil, map[string]int{"ping": 1}},
			{"waiting", func(c *coord.Client) *coord.Hold { return seek(c, nil) }, nil, map[string]int{"sync": 1}},
			{"holding", held, nil, map[string]int{"ping": 1, "check": 1}},
			{"holding much", func(c *coord.Client) *coord.Hold {
				for i := range 100 {
					must(t, take(c, fmt.Sprint("/h", i), nil).Wait())
				}
				return held(c)
			}, nil, map[string]int{"ping": 1, "check": 1}},
			{"reading", nil, func(c *coord.Client) { must1(t)(c.Kit().Session().Exists(bg, "/")) }, map[string]int{"exists": 4}},
			{"writing, and holding", held,
				func(c *coord.Client) { set(t, c, "/h", "") }, map[string]int{"setData": 4}},
		} {
			bubble(t, func(w *world) {
				l := w.line()
				c := w.client(l, coord.Options{SessionTimeout: timeout})
				if x.begin != nil {
					h := x.begin(c)
					defer func() { must(t, h.Release(bg)) }()
				}
				time.Sleep(timeout) // what the beginning has asked for is over
				o := orphanage(l)
				for range sixths * 4 {
					if x.do != nil {
						x.do(c)
					}
					time.Sleep(timeout / 24)
				}
				o.mu.Lock()
				got := make(map[string]int)
				for _, p := range o.frames {
					if p.Dir == coordtest.ToServer {
						got[p.Op]++
					}
				}
				o.mu.Unlock()
				ops := slices.Sorted(maps.Keys(got))
				if want := slices.Sorted(maps.Keys(x.want)); !slices.Equal(ops, want) {
					t.Errorf("T=%v, %s: asked for %v, want only %v", timeout, x.what, got, want)
				}
				for op, n := range x.want {
					if n *= sixths; got[op] < n-1 || got[op] > n+1 {
						t.Errorf("T=%v, %s: %d times %s, want %d", timeout, x.what, got[op], op, n)
					}
				}
			})
		}
	}
}
