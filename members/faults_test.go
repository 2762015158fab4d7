package members_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/members"
)

// A handle is what a client has made: a Hold, or a Membership.
type handle interface {
	Done() <-chan struct{}
	Err() error
}

// briefly returns a ctx for what may wait for a link that is down.
func briefly() context.Context {
	ctx, cancel := context.WithTimeout(bg, 10*term)
	context.AfterFunc(ctx, cancel)
	return ctx
}

// An exposed is a client of which a frame meets a fault.
type exposed struct {
	*coord.Client
	client *harness.Client
}

// settled waits until m is in or over, and reports whether it is in.
func (w *place) settled(m *members.Membership) bool {
	for end := time.After(10 * term); ; {
		if s, _ := m.Latest(); s.In {
			return true
		}
		select {
		case <-m.Updates():
		case <-m.Done():
			return false
		case <-end:
			w.Fatalf("neither in nor out: %v\n%s", m.Err(), w.Tree())
		}
	}
}

// plots are what a client does while one frame of it meets a fault. They return
// the handles that they made.
var plots = []struct {
	name string
	run  func(w *place, c exposed) []handle
}{
	{"joins and releases", func(w *place, c exposed) []handle {
		h := members.New(c.Client, dir).Join(bg, members.Member{ID: "self", Data: []byte("1")})
		_ = h.Wait()
		w.Must(h.Release(briefly()))
		return []handle{h}
	}},
	{"joins and cancels at once", func(w *place, c exposed) []handle {
		ctx, cancel := context.WithCancel(bg)
		h := members.New(c.Client, dir).Join(ctx, members.Member{ID: "self"})
		time.Sleep(time.Microsecond) // of the bubble: the first request is under way
		cancel()
		_ = h.Wait()
		w.Must(h.Release(briefly()))
		return []handle{h}
	}},
	{"joins, an operator deletes the guard, and it releases", func(w *place, c exposed) []handle {
		h := members.New(c.Client, dir).Join(bg, members.Member{ID: "self"})
		if h.Wait() == nil {
			_ = w.Op().Delete(harness.Guard(h).Path, -1)
			w.refuses(h)
		}
		w.Must(h.Release(briefly()))
		return []handle{h}
	}},
	{"joins when an operator has handed the ID on, and is deleted itself", func(w *place, c exposed) []handle {
		other := w.client(long)
		former := w.join(other, "self", "")
		heal, released := w.releasing(other, former)
		w.Must(w.Op().Delete(dir+"/self", -1))
		h := members.New(c.Client, dir).Join(bg, members.Member{ID: "self"})
		if h.Wait() == nil {
			w.refuses(former)
			_ = w.Op().Delete(dir+"/self", -1)
		}
		w.Wait("end", h.Done())
		heal()
		w.Must(<-released)
		return []handle{h}
	}},
	{"keeps, updates, and leaves", func(w *place, c exposed) []handle {
		m := members.New(c.Client, dir).Keep(bg, members.Member{ID: "self", Data: []byte("1")})
		w.settled(m)
		for i := range 3 {
			w.Must(m.SetData(briefly(), fmt.Append(nil, "updated ", i)))
			if got := w.truth(); got != fmt.Sprint("self=updated ", i, " still=") {
				// It may have gone since with its session, and is then on its way back.
				c.client.Calm(4 * term)
				if got := w.truth(); got != fmt.Sprint("self=updated ", i, " still=") {
					w.Errorf("update %d: %s", i, got)
				}
			}
		}
		w.Must(m.Leave(briefly()))
		return []handle{m}
	}},
	{"keeps, and an operator deletes the znode", func(w *place, c exposed) []handle {
		m := members.New(c.Client, dir).Keep(bg, members.Member{ID: "self", Data: []byte("1")})
		w.settled(m)
		_ = w.Op().Delete(dir+"/self", -1)
		c.client.Rest(6 * term)
		if got := w.truth(); got != "self=1 still=" {
			w.Errorf("not back: %s", got)
		}
		w.Must(m.Leave(briefly()))
		return []handle{m}
	}},
	{"keeps through an expiry", func(w *place, c exposed) []handle {
		m := members.New(c.Client, dir).Keep(bg, members.Member{ID: "self", Data: []byte("1")})
		w.settled(m)
		w.Expire(c.client)
		c.client.Rest(6 * term)
		if got := w.truth(); got != "self=1 still=" {
			w.Errorf("not back: %s", got)
		}
		w.Must(m.Leave(briefly()))
		return []handle{m}
	}},
	{"takes over from its former session", func(w *place, c exposed) []handle {
		g := members.New(c.Client, dir)
		first := g.Join(bg, members.Member{ID: "self", Data: []byte("1")})
		_ = first.Wait()
		heal := c.client.Link.Stall(coordtest.Both)
		w.Wait("end of the first", first.Done())
		heal()
		second := g.Join(briefly(), members.Member{ID: "self", Data: []byte("2")})
		if err := second.Wait(); err != nil && !errors.Is(err, coord.ErrExpired) {
			w.Errorf("not taken over: %v", err)
		}
		c.client.Rest(3 * term)
		got := w.truth()
		c.client.Calm(term) // so that an expiry just now has been heard of
		if second.Err() == nil && got != "self=2 still=" {
			w.Errorf("vanished: %s", got)
		}
		w.Must(second.Release(briefly()))
		return []handle{first, second}
	}},
	{"watches while others come, change, and go", func(w *place, c exposed) []handle {
		other := w.client(long)
		g := members.New(c.Client, dir)
		ctx, cancel := context.WithCancel(bg)
		defer cancel()
		views := g.Watch(ctx)
		presences := g.Follow(ctx, "a")
		a, b := w.keep(other, "a", "1"), w.keep(other, "b", "1")
		time.Sleep(time.Millisecond)
		w.Must(a.SetData(bg, []byte("2")))
		w.Must(b.Leave(bg))
		c.client.Rest(5 * term)
		if v, _ := views.Latest(); say(v) != "a=2 still=" {
			w.Errorf("sees %q, want %q", say(v), w.truth())
		}
		if s, _ := presences.Latest(); !s.Present || s.Suspended || string(s.Data) != "2" {
			w.Errorf("follows %+v", s)
		}
		w.Must(a.Leave(bg))
		return nil
	}},
	{"leaves while it is cut off", func(w *place, c exposed) []handle {
		m := members.New(c.Client, dir).Keep(bg, members.Member{ID: "self"})
		w.settled(m)
		heal := c.client.Link.Cut()
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		if err := m.Leave(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			w.Errorf("Leave: %v", err)
		}
		heal()
		w.Must(m.Leave(briefly()))
		return []handle{m}
	}},
}

// TestFaults lets every frame of every plot meet every fault. Each handle ends in the
// end, for a reason that fits, nothing of it is left in the directory, and both
// onlookers, the one that meets the fault and one on a good link, converge to the
// truth. (R7, R24, R27, R29, R30, R52, R57.)
func TestFaults(t *testing.T) {
	reasons := []error{coord.ErrReleased, coord.ErrExpired, coord.ErrDeleted, context.Canceled}
	var workloads []harness.Workload
	for _, p := range plots {
		workloads = append(workloads, harness.Workload{Name: p.name, Timeout: term, Run: func(hw *harness.World, connect func() *harness.Client) {
			w := &place{hw}
			still := w.join(w.Operator().Client, "still", "")
			good := w.watch(w.Operator().Client, nil)
			client := connect()
			c := exposed{client.Client, client}
			var bad *record
			client.Exempt(func() {
				bad = w.watch(c.Client, nil)
				w.sees(good, "still=")
			})
			for _, h := range p.run(w, c) {
				w.Ends(fmt.Sprintf("%T", h), h, reasons...)
			}
			w.Rest()
			client.Exempt(func() {
				time.Sleep(3 * term) // stalls are over, and so are sessions that were given up
				if got := w.truth(); got != "still=" || !slices.Equal(w.guards(), []string{harness.Guard(still).Path}) {
					w.Errorf("left: %s %q", got, w.guards())
				}
				w.sees(good, "still=")
				w.sees(bad, "still=")
			})
		}})
	}
	harness.Faults(t, workloads...)
}
