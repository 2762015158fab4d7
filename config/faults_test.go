package config_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// A tally is what has been returned by increments of /a/n.
type tally struct {
	ok      int
	left    int // of unknown outcome, for ctx had ended
	unknown int // of unknown outcome, for another reason
	failed  int
}

// count adds err to y.
func (y *tally) count(tb testing.TB, err error, reasons ...error) {
	tb.Helper()
	switch {
	case err == nil:
		y.ok++
		return
	case errors.Is(err, coord.ErrUnknown) && errors.Is(err, context.DeadlineExceeded):
		y.left++
	case errors.Is(err, coord.ErrUnknown):
		y.unknown++
	default:
		y.failed++
	}
	for _, r := range reasons {
		if errors.Is(err, r) {
			return
		}
	}
	tb.Errorf("unexpected: %v", err)
}

// plots are what a client does while one frame of it meets a fault.
var plots = []struct {
	name string
	run  func(w *world, y *tally)
}{
	{"watches while others change, delete and create", func(w *world, y *tally) {
		ctx, cancel := context.WithCancel(bg)
		defer cancel()
		s := config.New(w.c, "/w", numbers).Watch(ctx)
		for i := range 3 {
			time.Sleep(time.Second) // of the bubble: the watch is armed, or not yet
			w.Create("/w", fmt.Sprint(i))
			w.Rest() // else the client reads once or twice, as it happens
			w.Set("/w", fmt.Sprint(10+i))
			time.Sleep(time.Second)
			w.Delete("/w")
			if i == 1 {
				w.Rest()
				w.Create("/w", "malformed")
				w.Rest()
				w.Delete("/w")
			}
		}
		w.Create("/w", "7")
		w.converges(s, "/w")
	}},
	{"increments what is there", func(w *world, y *tally) {
		w.Create("/a", "")
		w.Create("/a/n", "0")
		for range 2 {
			_, err := add(bg, w.c, "/a/n")
			y.count(w, err, coord.ErrExpired)
		}
	}},
	{"increments what is not there", func(w *world, y *tally) {
		for range 2 {
			_, err := add(bg, w.c, "/a/n")
			y.count(w, err, coord.ErrExpired)
		}
	}},
	{"increments twice at once what others increment, before and while it does", func(w *world, y *tally) {
		w.Create("/a", "")
		w.Create("/a/n", "0")
		other := w.Client(harness.Long).Client
		var meddled atomic.Bool // the second to come does not wait: a mutex would stop the bubble's time
		var wg sync.WaitGroup
		errs := make([]error, 2)
		for i := range errs {
			wg.Go(func() {
				_, errs[i] = config.New(w.c, "/a/n", numbers).Modify(bg, func(n int) (int, error) {
					if !meddled.Swap(true) {
						_, err := add(bg, other, "/a/n")
						y.count(w, err)
					}
					return n + 1, nil
				})
			})
		}
		wg.Wait()
		for _, err := range errs {
			y.count(w, err, coord.ErrExpired)
		}
	}},
	{"increments, for as long as it takes and no longer, and follows what it does", func(w *world, y *tally) {
		w.Create("/a", "")
		s := config.New(w.c, "/a/n", numbers).Watch(bg)
		for range 4 {
			ctx, cancel := context.WithTimeout(bg, T/8)
			_, err := add(ctx, w.c, "/a/n")
			y.count(w, err, coord.ErrExpired, context.DeadlineExceeded)
			cancel()
		}
		w.client.Calm(3 * T) // what was under way is over
		_, err := add(bg, w.c, "/a/n")
		y.count(w, err, coord.ErrExpired)
		w.converges(s, "/a/n")
	}},
	{"publishes, again, and removes", func(w *world, y *tally) {
		values := map[string]int{"x": 1, "y/z": 1}
		publish := func(remove ...string) error {
			err := published(bg, config.NewTree(w.c, "/p", numbers), values, remove...)
			x, yz, v := w.Get("/p/x"), w.Get("/p/y/z"), fmt.Sprint(values["x"])
			switch {
			case err == nil && (x != v || yz != v):
				w.Errorf("published %s, stored %s and %s", v, x, yz)
			case err != nil && !errors.Is(err, coord.ErrExpired):
				w.Errorf("publish: %v", err)
			case x != yz:
				w.Errorf("stored %s and %s", x, yz)
			}
			return err
		}
		_ = publish()
		values["x"], values["y/z"] = 2, 2
		_ = publish("none", "y/none", "none/below")
		if err := published(bg, config.NewTree(w.c, "/p", numbers), map[string]int{"k": 1}, "x", "y/z"); err == nil {
			if w.Get("/p/x") != "nothing" || w.Get("/p/y/z") != "nothing" || w.Get("/p/k") != "1" {
				w.Errorf("stored\n%s", w.Tree())
			}
		}
	}},
	{"stores, again, and deletes, twice", func(w *world, _ *tally) {
		v := config.New(w.c, "/a/v", numbers)
		written := func(want string, u config.Update[int], err error) {
			_, stat, _ := w.op.Get("/a/v")
			switch {
			case err != nil && !errors.Is(err, coord.ErrExpired):
				w.Errorf("unexpected: %v", err)
			case err == nil && w.Get("/a/v") != want:
				w.Errorf("stored %s, want %s", w.Get("/a/v"), want)
			case err == nil && want != "nothing" && (u.Version != stat.Version || u.Mzxid != stat.Mzxid):
				w.Errorf("returned %+v, stored is %+v", u, stat)
			}
		}
		for range 2 {
			u, err := v.Store(bg, 1)
			written("1", u, err)
			u, err = v.Store(bg, 2)
			written("2", u, err)
			written("nothing", config.Update[int]{}, v.Delete(bg))
		}
	}},
	{"reads all of what others publish", func(w *world, _ *tally) {
		other, tree := w.Client(harness.Long).Client, config.NewTree(w.c, "/app", numbers)
		for gen := range 3 {
			if gen > 0 {
				publish(w, other, gen)
			}
			now, err := tree.Read(bg)
			w.Must(err)
			whole(w, now)
			if got := now.Keys["a"].Value; got != gen {
				w.Errorf("read generation %d of %d", got, gen)
			}
		}
		w.Must(other.Close())
	}},
}

// converges waits until s shows the number that is stored at path.
func (w *world) converges(s *event.Stream[config.Update[int]], path string) {
	w.Helper()
	w.client.Calm(3 * T)
	synctest.Wait()
	u, _ := s.Latest()
	if _, stat, err := w.op.Get(path); err != nil || u.Mzxid != stat.Mzxid || u.Err != nil || u.Suspended || fmt.Sprint(u.Value) != w.Get(path) {
		w.Errorf("the stream ends on %+v, stored is %s of %+v, %v", u, w.Get(path), stat, err)
	}
}

// faults are those that every recipe must bear, and two that leave the outcome of a
// write unknown.
var faults = append(slices.Clone(harness.Common),
	harness.Expired.And(harness.Cut).Called("lost with the connection and the session"),
	harness.Frozen(3, 4).Called("there while the server freezes for longer than the client waits"))

// TestFaults lets every frame of every plot meet every fault, each in a bubble of
// its own. Whatever happens, a stream ends on what is stored; an increment that
// was reported is carried out once, one that failed is not, and one whose outcome
// is unknown is carried out once or not at all; what is published is there as a
// whole; and nothing is left when the client is closed. The outcome is unknown
// only when a session or a ctx has ended. (R5, R31, R37, R43, R52, R60, R91.)
func TestFaults(t *testing.T) {
	var all, left, unknown atomic.Int64
	t.Cleanup(func() {
		t.Logf("of %d increments the outcome was unknown of %d because ctx had ended, and of %d because a session had", all.Load(), left.Load(), unknown.Load())
	})
	var workloads []harness.Workload
	for _, p := range plots {
		workloads = append(workloads, harness.Workload{Name: p.name, Faults: faults, Run: func(hw *harness.World, connect func() *harness.Client) {
			w := newWorld(hw, connect())
			first := w.c.Kit().Session()
			var y tally
			p.run(w, &y)
			w.Rest()
			w.client.Exempt(func() {
				time.Sleep(3 * T) // of the bubble: what can still happen has
				w.adds(y)
				if y.unknown > 0 && first.Err() == nil {
					w.Errorf("unknown: %d, and yet neither session nor ctx has ended", y.unknown)
				}
				all.Add(int64(y.ok + y.left + y.unknown + y.failed))
				left.Add(int64(y.left))
				unknown.Add(int64(y.unknown))
				w.Must(w.c.Close())
				w.reap()
				if tree := w.Tree(); strings.Contains(tree, "config-") && !strings.Contains(p.name, "others increment") {
					w.Errorf("left\n%s", tree)
				}
			})
		}})
	}
	harness.Faults(t, workloads...)
}

// adds checks that what is stored at /a/n is what y says.
func (w *world) adds(y tally) {
	w.Helper()
	if y == (tally{}) {
		return
	}
	n := 0
	if text := w.Get("/a/n"); text != "nothing" {
		n, _ = strconv.Atoi(text)
	}
	if n < y.ok || n > y.ok+y.unknown+y.left {
		w.Errorf("%+v, but %d were carried out", y, n)
	}
}
