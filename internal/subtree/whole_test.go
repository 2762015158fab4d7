package subtree_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/subtree"
)

// state is what there is in a generation.
func state(gen int) string {
	names := []string{"a", "d", "d/e", "d/e/f", "d/z"}
	if gen%2 == 1 {
		names = append(names, "odd", "odd/x")
	}
	var all []string
	for _, name := range append(names, "r", "r/s") {
		all = append(all, fmt.Sprintf("%s=%d", name, gen))
	}
	return strings.Join(all, " ")
}

// whole returns a check that each state is all of one generation, and no older
// than the one before.
func whole(w *world) func(string) {
	newest := 0
	return func(got string) {
		for gen := newest; gen < newest+1000; gen++ {
			if strings.TrimSuffix(got, "?") == state(gen) {
				newest = gen
				return
			}
		}
		w.Errorf("after generation %d: %q", newest, got)
	}
}

// What happens in transactions is seen as it happened: each state is of one
// generation, however fast they come, and in the end it is the last.
func TestWholeIsOfOneMoment(t *testing.T) { eachWay(t, testWholeIsOfOneMoment) }

func testWholeIsOfOneMoment(t *testing.T, _ int) {
	writes := harness.Times(60, 200)
	for _, pause := range []time.Duration{0, time.Microsecond, 100 * time.Microsecond, time.Millisecond, time.Second} {
		t.Run(fmt.Sprint(pause), func(t *testing.T) {
			bubble(t, func(w *world) {
				begin(w.World)
				r := w.watch("/t", true, whole(w))
				for gen := 1; gen <= writes; gen++ {
					w.write(gen)
					if pause > 0 {
						time.Sleep(pause)
					}
				}
				w.sees(r, state(writes))
				if n := len(r.said); pause == time.Second && n < writes {
					w.Errorf("%d states of %d that were there for a second", n, writes)
				}
			})
		})
	}
}

// The same while each frame in turn meets faults, a quarter of them in turn, and
// another connection is lost soon after.
func TestWholeFaults(t *testing.T) { wholeFaults(t, 4) }

// And while all is told, with the frames that this takes.
func TestWholeToldFaults(t *testing.T) {
	listBelow(t, 0)
	wholeFaults(t, 8)
}

// wholeFaults tries one fault in so many with each frame.
func wholeFaults(t *testing.T, share int) {
	harness.Faults(t, harness.Workload{
		Name:    "follows the whole while it changes",
		Timeout: timeout,
		Share:   share,
		Run: func(hw *harness.World, connect func() *harness.Client) {
			begin(hw)
			w := newWorld(hw, connect())
			r := w.watch("/t", true, whole(w))
			for gen := 1; gen <= 3; gen++ {
				w.write(gen)
				time.Sleep(2 * time.Millisecond)
			}
			w.line.Reset()
			w.write(4)
			time.Sleep(timeout / 2)
			w.write(5)
			time.Sleep(2 * timeout)
			w.write(6)
			w.client.Calm(3 * timeout) // what meets the last frames is to be over
			w.sees(r, state(6))
		},
	})
}

// One node after the other, and not in transactions: what is seen converges, with
// names that come back, whole branches that go, and the root itself.
func TestConverges(t *testing.T) { eachWay(t, testConverges) }

func testConverges(t *testing.T, _ int) {
	for _, all := range []bool{true, false} {
		t.Run(fmt.Sprintf("whole: %v", all), func(t *testing.T) {
			bubble(t, func(w *world) {
				want := func(whole, flat string) string {
					if all {
						return whole
					}
					return flat
				}
				r := w.watch("/t", all, nil)
				w.sees(r, "")
				w.Create("/t", "root")
				w.sees(r, "")
				w.Create("/t/a", "1")
				w.Create("/t/a/b", "2")
				w.Create("/t/a/b/c", "3")
				w.Create("/t/-", "first")
				w.sees(r, want("-=first a=1 a/b=2 a/b/c=3", "-=first a=1"))
				for i := range 20 { // at every stage of what is read after
					w.Delete("/t/a/b/c")
					w.Delete("/t/a/b")
					w.Delete("/t/a")
					time.Sleep(time.Duration(i%7) * 10 * time.Microsecond)
					w.Create("/t/a", fmt.Sprint(i))
					w.Create("/t/a/b", fmt.Sprint(i))
					time.Sleep(time.Duration(i%5) * 10 * time.Microsecond)
					w.Create("/t/a/b/c", fmt.Sprint(i))
					switch i % 4 {
					case 1:
						w.line.Reset()
					case 2:
						w.Expire(w.client)
					}
					if i%3 == 0 {
						w.sees(r, want(fmt.Sprintf("-=first a=%d a/b=%[1]d a/b/c=%[1]d", i), fmt.Sprintf("-=first a=%d", i)))
					}
				}
				for _, path := range []string{"/t/a/b/c", "/t/a/b", "/t/a", "/t/-", "/t"} {
					w.Delete(path)
				}
				w.sees(r, "")
				w.Create("/t", "")
				w.Create("/t/new", "n")
				w.sees(r, "new=n")
			})
		})
	}
}

// Bad paths and what may not be read end the stream, or are said of the node; the
// others are not affected. A stream ends with its ctx, with its cause, and with the
// client.
func TestEnds(t *testing.T) { eachWay(t, testEnds) }

func testEnds(t *testing.T, _ int) {
	bubble(t, func(w *world) {
		ends := func(r *record, want error) {
			w.Helper()
			var e *coord.Error
			<-r.Done()
			if !errors.Is(r.Err(), want) || !errors.As(r.Err(), &e) || e.Op != "look below" {
				w.Errorf("ended with %v, want %v", r.Err(), want)
			}
		}
		ends(w.watch("bad", true, nil), coord.ErrInvalidPath)
		begin(w.World)
		hidden := zk.WorldACL(zk.PermAll &^ zk.PermRead)
		_, err := w.other.SetACL("/t/d", hidden, -1)
		w.Must(err)
		r := w.watch("/t", true, nil)
		w.sees(r, "a=0 d! r=0 r/s=0")
		w.write(1)
		w.sees(r, "a=1 d! odd=1 odd/x=1 r=1 r/s=1")
		ends(w.watch("/t/d", true, nil), zk.ErrNoAuth)
		ends(w.watch("/t/d", false, nil), zk.ErrNoAuth)
		_, err = w.other.SetACL("/t/d", zk.WorldACL(zk.PermAll), -1)
		w.Must(err)
		w.Create("/t/y", "") // at the next listing it is asked again
		w.sees(r, "a=1 d=1 d/e=1 d/e/f=1 d/z=1 odd=1 odd/x=1 r=1 r/s=1 y=")

		ctx, cancel := context.WithCancelCause(bg)
		cause := errors.New("no interest any more")
		mine := subtree.Watch(ctx, w.c, "/t", subtree.Recipe[int]{Op: "count", Fold: func(n []*subtree.Node) (int, bool) { return len(n), true }})
		w.Rest()
		cancel(cause)
		<-mine.Done()
		if n, _ := mine.Latest(); !errors.Is(mine.Err(), cause) || n != 5 {
			w.Errorf("ended on %d with %v", n, mine.Err())
		}
		w.Must(w.c.Close())
		ends(r, coord.ErrClosed)
		ends(w.watch("/t", true, nil), coord.ErrClosed)
	})
}
