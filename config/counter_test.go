package config_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock"
)

// counters are what a Counter promises, on every server.
var counters = []struct {
	name string
	run  func(w *harness.World)
}{
	{"it begins with zero, and returns the sum of what was added", func(w *harness.World) {
		c, path := w.Client(T), w.Dir+"/deep/n"
		n := config.NewCounter(c.Client, path)
		if got, err := n.Get(bg); got != 0 || err != nil {
			w.Errorf("of none: %d, %v", got, err)
		}
		for _, x := range []struct{ delta, sum int64 }{
			{0, 0}, {5, 5}, {-7, -2}, {math.MaxInt64, math.MaxInt64 - 2}, {2, math.MaxInt64},
			{math.MinInt64, -1}, {math.MinInt64 + 1, math.MinInt64},
		} {
			got, err := n.Add(bg, x.delta)
			stored := w.Get(path)
			now, err2 := n.Get(bg)
			if err != nil || err2 != nil || got != x.sum || now != x.sum || stored != fmt.Sprint(x.sum) {
				w.Errorf("after %d: returned %d, got %d, stored %s; want %d (%v, %v)", x.delta, got, now, stored, x.sum, err, err2)
			}
		}
	}},
	{"what does not fit in 64 bits is not added", func(w *harness.World) {
		n := config.NewCounter(w.Client(T).Client, w.Dir)
		_, err := n.Add(bg, 0)
		w.Must(err)
		for _, x := range []struct{ was, delta int64 }{
			{math.MaxInt64, 1}, {1, math.MaxInt64}, {math.MinInt64, -1}, {-1, math.MinInt64}, {math.MaxInt64, math.MaxInt64},
		} {
			w.Set(w.Dir, fmt.Sprint(x.was))
			_, err := n.Add(bg, 0) // which brings its server up to date
			w.Must(err)
			_, err = n.Add(bg, x.delta)
			w.WantsOp(err, "add", w.Dir, config.ErrOverflow, fmt.Sprint(x.was), fmt.Sprint(x.delta))
			if got := w.Get(w.Dir); got != fmt.Sprint(x.was) {
				w.Errorf("%d has become %s", x.was, got)
			}
		}
	}},
	{"what is no number in decimal digits is refused and not changed, and what kazoo makes is zero", func(w *harness.World) {
		n := config.NewCounter(w.Client(T).Client, w.Dir)
		_, err := n.Add(bg, 0)
		w.Must(err)
		for data, word := range map[string]string{
			"\x00\x00\x00\x07":                 "Curator", // SharedCount
			"\xff\xff\xff\xff":                 "Curator",
			"\x00\x00\x00\x00\x00\x00\x00\x07": "Curator", // DistributedAtomicLong
			"    \x20\x20\x205":                "Curator",
			"   5":                             "Curator",
			"5\n":                              `"5\n"`,
			"+5":                               `"+5"`,
			"007":                              `"007"`,
			"-0":                               `"-0"`,
			"1.5":                              `"1.5"`, // kazoo's Counter of a float
			"1_000":                            `"1_000"`,
			"0x10":                             "Curator",
			"five":                             "Curator",
			"hunter2":                          "decimal digits: 7 bytes",
			"9223372036854775808":              "64 bits", // kazoo's has no bound
			"-9223372036854775809":             "64 bits",
		} {
			w.Set(w.Dir, data)
			_, err := n.Add(bg, 1)
			w.WantsOp(err, "add", w.Dir, nil, word)
			_, err = n.Get(bg)
			w.WantsOp(err, "get", w.Dir, nil, word)
			if err != nil && strings.Contains(err.Error(), "hunter") {
				w.Errorf("a secret: %v", err)
			}
			if got := w.Get(w.Dir); got != data {
				w.Errorf("%q has become %q", data, got)
			}
		}
		for data, want := range map[string]int64{"": 0, "-1": -1, "1234": 1234, "12345678": 12345678, "9223372036854775807": math.MaxInt64} {
			w.Set(w.Dir, data)
			if got, err := n.Get(bg); got != want || err != nil {
				w.Errorf("%q is %d, %v", data, got, err)
			}
		}
		w.Set(w.Dir, "")
		if got, err := n.Add(bg, 3); got != 3 || err != nil {
			w.Errorf("empty, and 3, is %d, %v", got, err)
		}
	}},
	{"it is added to only while a condition holds", func(w *harness.World) {
		c := w.Client(T)
		n := config.NewCounter(c.Client, w.Dir+"/n")
		h := lock.All(bg, lock.New(c.Client, w.Dir+"/a"), lock.New(c.Client, w.Dir+"/b"))
		w.Must(h.Wait())
		_, err := n.Add(bg, 2, h.Guard())
		w.Must(err)
		guard := h.Guard()
		w.Must(h.Release(bg))
		_, err = n.Add(bg, 2, guard)
		w.WantsOp(err, "add", w.Dir+"/n", coord.ErrNotHeld, w.Dir+"/a")
		if got, err := n.Get(bg); got != 2 || err != nil {
			w.Errorf("%d, %v", got, err)
		}
	}},
	{"many clients that add at the same time come to the sum", func(w *harness.World) {
		const clients, each = 4, 10
		var all sync.WaitGroup
		for range clients {
			n := config.NewCounter(w.Client(harness.Long).Client, w.Dir)
			for i := range 2 {
				all.Go(func() {
					for range each {
						if _, err := n.Add(bg, int64(1+i)); err != nil {
							w.Error(err)
						}
					}
				})
			}
		}
		all.Wait()
		if got := w.Get(w.Dir); got != fmt.Sprint(clients*each*3) {
			w.Errorf("%s", got)
		}
	}},
	{"a watch ends on the last sum", func(w *harness.World) {
		c := w.Client(T)
		n := config.NewCounter(c.Client, w.Dir)
		ctx, cancel := context.WithCancel(bg)
		defer cancel()
		s := n.Watch(ctx)
		if u := <-s.Updates(); !errors.Is(u.Err, config.ErrMissing) || u.Value != 0 {
			w.Errorf("of none: %+v", u)
		}
		for range 3 {
			_, err := n.Add(bg, 2)
			w.Must(err)
		}
		w.Eventually("the last sum", func() bool {
			u, _ := s.Latest()
			return u.Value == 6 && u.Err == nil
		})
	}},
}

func TestCounter(t *testing.T) {
	harness.Both(t, func(t *testing.T, in harness.Maker) {
		for _, x := range counters {
			t.Run(x.name, func(t *testing.T) { in(t, x.run) })
		}
	})
}

// TestCounterFaults: whatever frame meets whatever fault, what two clients add at the same
// time comes to the exact sum, and the sums that they are told are all different. An addition
// that was not carried out says so; only if a session has ended may it be unknown whether it
// was.
func TestCounterFaults(t *testing.T) {
	harness.Faults(t, harness.Workload{Name: "adds while another does", Faults: faults, Run: func(w *harness.World, connect func() *harness.Client) {
		c, other := connect(), w.Client(harness.Long)
		first := c.Kit().Session()
		sums := make(chan int64, 8)
		var least, most int64
		over := make(chan struct{})
		go func() {
			defer close(over)
			for range 3 {
				sum, err := config.NewCounter(other.Client, "/a/n").Add(bg, 100)
				if err != nil {
					w.Error(err)
				}
				sums <- sum
				time.Sleep(T / 4) // of the bubble
			}
		}()
		for range 3 {
			switch sum, err := config.NewCounter(c.Client, "/a/n").Add(bg, 1); {
			case err == nil:
				sums <- sum
				least, most = least+1, most+1
			case errors.Is(err, coord.ErrUnknown) && first.Err() != nil:
				most++
			case !errors.Is(err, coord.ErrExpired):
				w.Errorf("unexpected: %v", err)
			}
			time.Sleep(T / 4)
		}
		<-over
		w.Rest()
		c.Exempt(func() {
			time.Sleep(3 * T) // what can still happen has
			got, err := config.NewCounter(other.Client, "/a/n").Get(bg)
			if got < 300+least || got > 300+most || err != nil {
				w.Errorf("sum %d, %v; want from %d to %d", got, err, 300+least, 300+most)
			}
			close(sums)
			told := make(map[int64]bool)
			for sum := range sums {
				if told[sum] || sum > got {
					w.Errorf("told of the sum %d twice, or beyond the last, %d", sum, got)
				}
				told[sum] = true
			}
		})
	}})
}
