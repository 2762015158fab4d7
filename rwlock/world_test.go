package rwlock_test

import (
	"slices"
	"sync/atomic"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/locktest"
	"github.com/zkcoord/zkcoord/rwlock"
)

// A world is one for readers and writers.
type world struct{ *locktest.World }

// A member is a client with its lock.
type member struct {
	*locktest.Client
	*rwlock.RWMutex
	events atomic.Int32 // that its server has sent it
}

func (w world) member() *member {
	c := w.Client(locktest.T)
	m := &member{Client: c, RWMutex: rwlock.New(c.Client, w.Dir)}
	m.count()
	return m
}

// count counts events from now on, and ends what else was done with frames.
func (m *member) count() {
	m.events.Store(0)
	m.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
		if f.Op == "event" {
			m.events.Add(1)
		}
		return coordtest.Pass
	})
}

func (w world) members(n int) []*member {
	all := make([]*member, n)
	for i := range all {
		all[i] = w.member()
	}
	return all
}

// queue enters one after the other in the order of kinds, r or w, and waits until
// all are followed by their owners, and watches more are armed.
func (w world) queue(kinds string, all []*member, watches int) []*coord.Hold {
	w.Helper()
	var holds []*coord.Hold
	for i, kind := range kinds {
		if kind == 'r' {
			holds = append(holds, all[i].AcquireRead(bg))
		} else {
			holds = append(holds, all[i].AcquireWrite(bg))
		}
		w.Eventually("in the queue", func() bool { return len(w.Children()) == i+1 })
	}
	w.Eventually("watches armed", func() bool { return w.Watches() == len(kinds)+watches })
	return holds
}

// held checks which of holds are held now.
func (w world) held(holds []*coord.Hold, want ...bool) {
	w.Helper()
	for i, h := range holds {
		is := false
		select {
		case <-h.Acquired():
			is = h.Err() == nil
		default:
		}
		if is != want[i] {
			w.Errorf("hold %d: held: %v, want %v\n%s", i, is, want[i], w.Tree())
		}
	}
}

// events checks how many events the server has sent to each of all since they
// began to count, and has them begin anew. A holder that releases hears of its own
// node's end.
func (w world) events(what string, all []*member, want ...int32) {
	w.Helper()
	var got []int32
	for _, m := range all {
		// What the server has done is told before what it is asked now.
		_, _, err := m.Exists(bg, "/")
		w.Must(err)
		got = append(got, m.events.Load())
		m.count()
	}
	if !slices.Equal(got, want) {
		w.Errorf("%s: events %d, want %d", what, got, want)
	}
	w.Logf("%s: events to each %d", what, got)
}

func (w world) release(h *coord.Hold) {
	w.Helper()
	w.Must(h.Release(bg))
}
