package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/locktest"
	"github.com/zkcoord/zkcoord/internal/queue"
	"github.com/zkcoord/zkcoord/lock"
)

// crowded is a mutex whose contenders expect many others, and so have batons.
var crowded = locktest.Subject{
	Name: "crowded mutex",
	Acquire: func(ctx context.Context, c *coord.Client, dir string) *coord.Hold {
		queue.ExpectCrowd(c, dir)
		return lock.New(c, dir).Acquire(ctx)
	},
	Try: mutex.Try,
}

// late is a mutex whose contenders get batons when they find others before them.
var late = locktest.Subject{
	Name: "crowd unknown to those who come",
	Acquire: func(ctx context.Context, c *coord.Client, dir string) *coord.Hold {
		queue.BatonsBehind(c, 1)
		return lock.New(c, dir).Acquire(ctx)
	},
	Try: mutex.Try,
}

func TestCrowdedScenarios(t *testing.T) {
	t.Parallel() // some wait for the end of sessions
	locktest.Scenarios(t, crowded)
}

func TestCrowdedFaults(t *testing.T) { locktest.Faults(t, crowded, passings...) }

func TestLateBatonFaults(t *testing.T) { locktest.Faults(t, late, passings...) }

// One that comes to a crowd for the first time makes one request more, for its baton. From
// then on it is as with those who knew: between a release and the grant there is none.
func TestLateBatonCost(t *testing.T) {
	locktest.InBubble(t, late, func(w *locktest.World) {
		holds := []*coord.Hold{w.Held(w.Client(T))}
		var costs []*harness.Cost
		for i := range 4 {
			c := w.Client(T)
			cost := w.Cost(c)
			holds = append(holds, w.Behind(c, i+2))
			w.Rest()
			if i > 0 { // the first makes the directory of the batons
				cost.Is("a wait", 0, "getChildren2", "getData", "multi", "multi")
			}
			costs = append(costs, cost)
		}
		for i, h := range holds[:4] {
			costs[i].Ops()
			w.Must(h.Release(bg))
			w.Grant(holds[i+1])
			if i > 0 {
				costs[i].Is("a grant", 1)
			}
		}
		w.Must(holds[4].Release(bg))
		w.NothingLeft()
	})
}

// inQueue has c come to wait.
func inQueue(w *locktest.World, c *locktest.Client) *coord.Hold {
	h := w.Acquire(bg, c.Client, w.Dir)
	time.Sleep(time.Second) // of the bubble
	return h
}

// excluded checks that h is not held.
func excluded(w *locktest.World, h *coord.Hold) {
	w.Helper()
	select {
	case <-h.Acquired():
		if h.Err() == nil {
			w.Errorf("granted beside the holder\n%s", w.Tree())
		}
	default:
	}
}

// passings are what a contender does between two others.
var passings = []locktest.Plot{
	{Name: "is passed the lock, and passes it on", Run: func(w *locktest.World, c *locktest.Client, other *coord.Hold) []*coord.Hold {
		before := inQueue(w, w.Client(T))
		h := inQueue(w, c)
		behind := inQueue(w, w.Client(T))
		w.Must(other.Release(bg))
		w.Grant(before)
		excluded(w, h)
		excluded(w, behind)
		w.Must(before.Release(bg))
		first, second := h, behind
		select { // if the create was late, the other is before us
		case <-h.Acquired():
		case <-h.Done():
		case <-behind.Acquired():
			first, second = behind, h
		}
		if w.Outcome(first) == nil {
			w.Rest()
			if first.Err() == nil {
				excluded(w, second)
			}
			w.Must(first.Release(bg))
		}
		if w.Outcome(second) == nil {
			w.Must(second.Release(bg))
		}
		w.Wants(behind.Err(), coord.ErrReleased)
		return []*coord.Hold{h}
	}},
	{Name: "gives up between two", Run: func(w *locktest.World, c *locktest.Client, other *coord.Hold) []*coord.Hold {
		before := inQueue(w, w.Client(T))
		ctx, cancel := context.WithTimeout(bg, 2*time.Second)
		defer cancel()
		h := w.Acquire(ctx, c.Client, w.Dir)
		time.Sleep(time.Second)
		behind := inQueue(w, w.Client(T))
		w.Wait("done", h.Done())
		excluded(w, before)
		excluded(w, behind)
		w.Must(other.Release(bg))
		w.Grant(before)
		w.Rest()
		excluded(w, behind)
		w.Must(before.Release(bg))
		w.Grant(behind)
		w.Must(behind.Release(bg))
		return []*coord.Hold{h}
	}},
}

// In a crowd a cycle costs four requests, however many wait; and between the release
// and the grant there is none.
func TestCrowdedCost(t *testing.T) {
	locktest.InBubble(t, mutex, func(w *locktest.World) {
		const n = 8
		var clients []*locktest.Client
		var holds []*coord.Hold
		var costs []*harness.Cost
		for range n {
			c := w.Client(T)
			clients = append(clients, c)
			costs = append(costs, w.Cost(c))
			holds = append(holds, w.Behind(c, len(clients)))
			w.Rest()
		}
		cycle := func(check bool) {
			for i, h := range holds {
				next := (i + 1) % n
				w.Grant(h)
				costs[i].Ops()
				costs[next].Ops()
				w.Must(h.Release(bg))
				w.Grant(holds[next])
				if check {
					costs[i].Is("a release", 0, "multi")
					costs[next].Is("a grant", 1)
				}
				holds[i] = w.Behind(clients[i], n)
				w.Rest()
				if check {
					costs[i].Is("a wait", 0, "getChildren2", "getData", "multi")
				}
			}
		}
		cycle(false) // some came when there was no crowd yet
		cycle(false) // and some came behind those
		cycle(true)
		for _, h := range holds {
			w.Grant(h)
			w.Must(h.Release(bg))
		}
		w.NothingLeft()
	})
}

// An operator who deletes batons, or their directory, delays nothing and lets nobody in:
// those who waited for them look at the queue.
func TestBatonsDeleted(t *testing.T) {
	locktest.InBubble(t, crowded, func(w *locktest.World) {
		holds := []*coord.Hold{w.Held(w.Client(T))}
		for range 3 {
			holds = append(holds, inQueue(w, w.Client(T)))
		}
		batons := w.Dir + "-batons"
		for _, name := range w.World.Children(batons) {
			w.Must(w.Op().Delete(batons+"/"+name, -1))
		}
		w.Must(w.Op().Delete(batons, -1))
		for i, h := range holds {
			w.Grant(h)
			w.Rest()
			for _, behind := range holds[i+1:] {
				excluded(w, behind)
			}
			w.Must(h.Release(bg))
		}
		w.NothingLeft()
	})
}
