package barrier_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/members/barrier"
)

// A scenario says in its name what is guaranteed.
type scenario struct {
	name string
	run  func(w *place)
}

// Scenarios runs each of table in both worlds, after which nothing may be left.
func run(t *testing.T, table []scenario) {
	harness.Both(t, func(t *testing.T, in harness.Maker) {
		for _, sc := range table {
			t.Run(sc.name, func(t *testing.T) {
				in(t, func(hw *harness.World) {
					w := &place{hw}
					sc.run(w)
					if !w.Failed() {
						w.nothingLeft()
					}
				})
			})
		}
	})
}

func TestScenarios(t *testing.T) { run(t, scenarios) }

var scenarios = []scenario{
	{"nobody is inside before n are in, and nobody has left before all have", func(w *place) {
		a, b, c := w.Client(T), w.Client(T), w.Client(T)
		ha, hb := w.enter(a, 3, "a"), w.enter(b, 3, "b")
		w.in(2)
		w.pending(ha)
		hc := w.enter(c, 3, "c")
		w.acquired(ha, hb, hc)
		w.leaves(ha)
		w.leaves(hb)
		w.IsOpen("done", ha.Done())
		w.IsOpen("done", hb.Done())
		w.release(ha, hb, hc)
		w.Wants(hb.Err(), coord.ErrReleased)
		w.IsOpen("lost", hb.Lost())
	}},
	{"the order in which they leave does not matter", func(w *place) {
		c := w.Client(T)
		for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {1, 0, 2}} {
			all := []*coord.Hold{w.enter(c, 3, "a"), w.enter(c, 3, "b"), w.enter(c, 3, "c")}
			w.acquired(all...)
			for i, k := range order {
				if i == 2 {
					w.IsOpen("done", all[order[0]].Done())
					w.Must(all[k].Release(bg))
				} else {
					w.leaves(all[k])
				}
			}
			w.release(all...)
		}
	}},
	{"a round does not begin before the last has left the one before", func(w *place) {
		const n = 3
		rounds := 5
		var inside [n]atomic.Int32 // the round that each is in, zero outside
		var all sync.WaitGroup
		for i := range n {
			c := w.Client(T)
			all.Go(func() {
				b := barrier.New(c.Client, w.Dir, n)
				for round := range rounds {
					h := b.Enter(bg, fmt.Sprint("member-", i))
					if err := h.Wait(); err != nil {
						w.Errorf("round %d: %v", round, err)
						return
					}
					inside[i].Store(int32(round + 1))
					for j := range n {
						if there := inside[j].Load(); there != 0 && there != int32(round+1) {
							w.Errorf("%d is in round %d when %d is let into round %d", j, there, i, round+1)
						}
					}
					time.Sleep(time.Millisecond) // work
					inside[i].Store(0)
					if err := h.Release(bg); err != nil {
						w.Errorf("round %d: %v", round, err)
					}
				}
			})
		}
		done := make(chan struct{})
		go func() { defer close(done); all.Wait() }()
		w.Wait("rounds", done)
	}},
	{"one that comes while a round is open is in the next", func(w *place) {
		a, b, c := w.Client(T), w.Client(T), w.Client(T)
		ha, hb := w.enter(a, 2, "a"), w.enter(b, 2, "b")
		w.acquired(ha, hb)
		hc := w.enter(c, 2, "c")
		w.pending(hc)
		w.leaves(ha)
		w.pending(hc)
		w.release(ha, hb)
		w.in(1)
		w.pending(hc)
		hd := w.enter(a, 2, "d")
		w.acquired(hc, hd)
		w.release(hc, hd)
	}},
	{"more than n: the others wait for the next round", func(w *place) {
		c := w.Client(T)
		ha, hb := w.enter(c, 2, "a"), w.enter(c, 2, "b")
		w.acquired(ha, hb)
		hc, hd := w.enter(c, 2, "c"), w.enter(c, 2, "d")
		w.pending(hc)
		w.pending(hd)
		w.release(ha, hb)
		w.acquired(hc, hd)
		w.release(hc, hd)
	}},
	{"the least n opens for all", func(w *place) {
		c := w.Client(T)
		ha := w.enter(c, 5, "a")
		w.in(1)
		hb := w.enter(c, 2, "b")
		w.acquired(ha, hb)
		w.release(ha, hb)
	}},
	{"one is enough for one", func(w *place) {
		h := w.enter(w.Client(T), 1, "a")
		w.acquired(h)
		if h.Token() == 0 || !h.Until().After(time.Now()) {
			w.Errorf("token %d, until %v", h.Token(), h.Until())
		}
		w.Must(h.Release(bg))
	}},
	{"one that has given up does not count", func(w *place) {
		a, b, c := w.Client(T), w.Client(T), w.Client(T)
		ctx, cancel := context.WithCancel(bg)
		ha := barrier.New(a.Client, w.Dir, 2).Enter(ctx, "a")
		w.in(1)
		cancel()
		w.Wait("done", ha.Done())
		w.Wants(ha.Err(), context.Canceled)
		w.WantsOp(ha.Err(), "enter", w.Dir, nil)
		hb := w.enter(b, 2, "b")
		w.in(1)
		w.pending(hb)
		hc := w.enter(c, 2, "c")
		w.acquired(hb, hc)
		w.release(hb, hc)
	}},
	{"one that gives up in front of an open round ends at once", func(w *place) {
		c := w.Client(T)
		ha := w.enter(c, 1, "a")
		w.acquired(ha)
		ctx, cancel := context.WithTimeout(bg, 100*time.Millisecond)
		defer cancel()
		hb := barrier.New(c.Client, w.Dir, 1).Enter(ctx, "b")
		w.Wait("done", hb.Done())
		w.Wants(hb.Err(), context.DeadlineExceeded)
		w.Must(ha.Release(bg))
	}},
	{"one that dies while it waits does not count, and strands nobody", func(w *place) {
		a, b, c := w.Client(T), w.Client(T), w.Client(T)
		ha := w.enter(a, 2, "a")
		w.in(1)
		w.Expire(a)
		w.Wait("done", ha.Done())
		w.Wants(ha.Err(), coord.ErrExpired)
		hb := w.enter(b, 2, "b")
		w.in(1)
		w.pending(hb)
		hc := w.enter(c, 2, "c")
		w.acquired(hb, hc)
		w.release(hb, hc)
	}},
	{"one that dies inside keeps nobody from leaving", func(w *place) {
		for _, dies := range []int{0, 1, 2} {
			var clients []*harness.Client
			var holds []*coord.Hold
			for _, id := range []string{"a", "b", "c"} {
				c := w.Client(T)
				clients, holds = append(clients, c), append(holds, w.enter(c, 3, id))
			}
			w.acquired(holds...)
			for i, h := range holds {
				if i != dies {
					w.leaves(h)
				}
			}
			w.Expire(clients[dies])
			w.Wait("lost", holds[dies].Lost())
			w.Wants(holds[dies].Err(), coord.ErrExpired)
			w.release(holds...)
		}
	}},
	{"a round in which all have died is ended by the next that enter", func(w *place) {
		a, b := w.Client(T), w.Client(T)
		ha, hb := w.enter(a, 2, "a"), w.enter(b, 2, "b")
		w.acquired(ha, hb)
		hc := w.enter(w.Client(T), 1, "c") // comes before they die
		w.pending(hc)
		w.Expire(a)
		w.Expire(b)
		w.Wait("done", ha.Done())
		w.Wait("done", hb.Done())
		w.acquired(hc)
		w.Must(hc.Release(bg))

		w.Create(w.Dir+"/ready", "") // as they leave behind if nobody comes
		h := w.enter(w.Client(T), 1, "d")
		w.acquired(h)
		w.Must(h.Release(bg))
	}},
	{"one that hears of it late is let in, though others have left", func(w *place) {
		a, b, c := w.Client(T), w.Client(T), w.Client(T)
		ha, hb := w.enter(a, 3, "a"), w.enter(b, 3, "b")
		w.in(2)
		heal := b.Link.Stall(coordtest.ToClient)
		hc := w.enter(c, 3, "c")
		w.acquired(ha, hc)
		w.leaves(ha)
		w.leaves(hc)
		w.IsOpen("acquired", hb.Acquired())
		heal()
		w.acquired(hb)
		w.IsOpen("done", ha.Done())
		w.release(ha, hb, hc)
	}},
}
