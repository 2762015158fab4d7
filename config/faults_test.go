package config_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
)

// A tally is what has been returned by increments of /a/n.
type tally struct {
	ok      int
	left    int // of unknown outcome, for ctx had ended
	unknown int // of unknown outcome, for another reason
	failed  int
}

// count adds err to y.
func (y *tally) count(w *world, err error, reasons ...error) {
	w.Helper()
	switch {
	case err == nil:
		y.ok++
		return
	case errors.Is(err, config.ErrUnknown) && errors.Is(err, context.DeadlineExceeded):
		y.left++
	case errors.Is(err, config.ErrUnknown):
		y.unknown++
	default:
		y.failed++
	}
	for _, r := range reasons {
		if errors.Is(err, r) {
			return
		}
	}
	w.Errorf("unexpected: %v", err)
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
			w.create("/w", fmt.Sprint(i))
			w.set("/w", fmt.Sprint(10+i))
			time.Sleep(time.Second)
			w.delete("/w")
			if i == 1 {
				w.create("/w", "malformed")
				w.delete("/w")
			}
		}
		w.create("/w", "7")
		w.converges(s, "/w")
	}},
	{"increments what is there", func(w *world, y *tally) {
		w.create("/a", "")
		w.create("/a/n", "0")
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
		w.create("/a", "")
		w.create("/a/n", "0")
		other := w.Client(w, &coord.Options{SessionTimeout: 10 * T})
		var meddled atomic.Bool // who comes second does not wait: a mutex would stop the bubble's time
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
		w.create("/a", "")
		s := config.New(w.c, "/a/n", numbers).Watch(bg)
		for range 4 {
			ctx, cancel := context.WithTimeout(bg, T/8)
			_, err := add(ctx, w.c, "/a/n")
			y.count(w, err, coord.ErrExpired, context.DeadlineExceeded)
			cancel()
		}
		time.Sleep(3 * T) // of the bubble: what was under way is over
		_, err := add(bg, w.c, "/a/n")
		y.count(w, err, coord.ErrExpired)
		w.converges(s, "/a/n")
	}},
	{"publishes, again, and removes", func(w *world, y *tally) {
		values := map[string]int{"x": 1, "y/z": 1}
		publish := func(remove ...string) error {
			err := config.NewTree(w.c, "/p", numbers).Publish(bg, values, remove...)
			x, yz, v := w.get("/p/x"), w.get("/p/y/z"), fmt.Sprint(values["x"])
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
		if err := config.NewTree(w.c, "/p", numbers).Publish(bg, map[string]int{"k": 1}, "x", "y/z"); err == nil {
			if w.get("/p/x") != "nothing" || w.get("/p/y/z") != "nothing" || w.get("/p/k") != "1" {
				w.Errorf("stored\n%s", w.Tree())
			}
		}
	}},
}

// converges waits until s shows the number that is stored at path.
func (w *world) converges(s *event.Stream[config.Update[int]], path string) {
	w.Helper()
	time.Sleep(3 * T) // of the bubble: every fault is over
	synctest.Wait()
	u, _ := s.Latest()
	if _, stat, err := w.op.Get(path); err != nil || u.Mzxid != stat.Mzxid || u.Err != nil || u.Suspended || fmt.Sprint(u.Value) != w.get(path) {
		w.Errorf("the stream ends on %+v, stored is %s of %+v, %v", u, w.get(path), stat, err)
	}
}

// faults are what one frame meets.
var faults = []struct {
	name string
	meet func(w *world) coordtest.Action
}{
	{"lost", func(*world) coordtest.Action { return coordtest.Drop }},
	{"lost with the connection", func(*world) coordtest.Action { return coordtest.HangUp }},
	{"the last of its connection", func(*world) coordtest.Action { return coordtest.PassAndHangUp }},
	{"delayed by T/4", stall(coordtest.Both, T/4)},
	{"delayed on the way there beyond the session's end", stall(coordtest.ToServer, 2*T)},
	{"delayed on the way back beyond the session's end", stall(coordtest.ToClient, 2*T)},
	{"followed by the session's expiry", func(w *world) coordtest.Action {
		w.Expire(w.c.Session().ID())
		return coordtest.Pass
	}},
	{"lost with the connection and the session", func(w *world) coordtest.Action {
		w.Expire(w.c.Session().ID())
		return coordtest.HangUp
	}},
	{"there while the server freezes", func(w *world) coordtest.Action {
		time.AfterFunc(T/4, w.Freeze())
		return coordtest.Pass
	}},
	{"there while the server freezes for longer than the client waits", func(w *world) coordtest.Action {
		time.AfterFunc(T*3/4, w.Freeze())
		return coordtest.Pass
	}},
}

func stall(d coordtest.Direction, long time.Duration) func(*world) coordtest.Action {
	return func(w *world) coordtest.Action {
		time.AfterFunc(long, w.link.Stall(d))
		return coordtest.Pass
	}
}

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
	for _, p := range plots {
		play := func(t *testing.T, hook func(*world, coordtest.Frame) coordtest.Action) {
			bubble(t, func(w *world) {
				first := w.c.Session()
				start := map[coordtest.Direction]int{}
				w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
					if f.N == 0 {
						return coordtest.Pass // a heartbeat
					}
					if _, ok := start[f.Dir]; !ok {
						start[f.Dir] = f.N - 1
					}
					f.N -= start[f.Dir]
					return hook(w, f)
				})
				var y tally
				p.run(w, &y)
				w.link.OnFrame(nil)
				time.Sleep(3 * T) // of the bubble: what can still happen has
				if y != (tally{}) {
					n := 0
					if text := w.get("/a/n"); text != "nothing" {
						n, _ = strconv.Atoi(text)
					}
					if n < y.ok || n > y.ok+y.unknown+y.left {
						w.Errorf("%+v, but %d were carried out", y, n)
					}
				}
				if y.unknown > 0 && first.Err() == nil {
					w.Errorf("unknown: %d, and yet neither session nor ctx has ended", y.unknown)
				}
				all.Add(int64(y.ok + y.left + y.unknown + y.failed))
				left.Add(int64(y.left))
				unknown.Add(int64(y.unknown))
				w.must(w.c.Close())
				w.reap()
				if tree := w.Tree(); strings.Contains(tree, "config-") && !strings.Contains(p.name, "others increment") {
					w.Errorf("left\n%s", tree)
				}
			})
		}
		t.Run(p.name, func(t *testing.T) {
			frames := map[coordtest.Direction]int{} // learned without a fault
			play(t, func(_ *world, f coordtest.Frame) coordtest.Action {
				frames[f.Dir] = max(frames[f.Dir], f.N)
				return coordtest.Pass
			})
			t.Logf("%d frames to the server and %d back", frames[coordtest.ToServer], frames[coordtest.ToClient])
			for dir, n := range frames {
				for i := range n {
					for _, x := range faults {
						way := map[coordtest.Direction]string{coordtest.ToServer: "there", coordtest.ToClient: "back"}[dir]
						t.Run(fmt.Sprintf("frame %d %s %s", i+1, way, x.name), func(t *testing.T) {
							t.Parallel()
							met := false
							play(t, func(w *world, f coordtest.Frame) coordtest.Action {
								if met || f.Dir != dir || f.N != i+1 {
									return coordtest.Pass
								}
								met = true
								action := x.meet(w)
								if action == coordtest.Drop && f.Op == "event" {
									action = coordtest.HangUp // TCP loses no frame alone
								}
								return action
							})
						})
					}
				}
			}
		})
	}
}
