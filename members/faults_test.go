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
	"github.com/zkcoord/zkcoord/members"
)

// An end is how a handle ended.
type end struct {
	what string
	done <-chan struct{}
	err  func() error
}

func hold(h *coord.Hold) end { return end{"join", h.Done(), h.Err} }

func kept(m *members.Membership) end { return end{"keep", m.Done(), m.Err} }

// soon is a ctx for what may wait for a link that is down.
func soon() context.Context {
	ctx, cancel := context.WithTimeout(bg, 10*term)
	context.AfterFunc(ctx, cancel)
	return ctx
}

// rest lets time pass in which no frame meets a fault, until what met one before has
// been got over.
func (w *place) rest(d time.Duration) {
	w.calm.Store(true)
	time.Sleep(d)
	w.calm.Store(false)
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
	run  func(w *place, c *coord.Client) []end
}{
	{"joins and releases", func(w *place, c *coord.Client) []end {
		h := members.New(c, dir).Join(bg, members.Member{ID: "self", Data: []byte("1")})
		_ = h.Wait()
		w.must(h.Release(soon()))
		return []end{hold(h)}
	}},
	{"joins and cancels at once", func(w *place, c *coord.Client) []end {
		ctx, cancel := context.WithCancel(bg)
		h := members.New(c, dir).Join(ctx, members.Member{ID: "self"})
		time.Sleep(time.Microsecond) // of the bubble: the first request is under way
		cancel()
		_ = h.Wait()
		w.must(h.Release(soon()))
		return []end{hold(h)}
	}},
	{"joins, an operator deletes the guard, and it releases", func(w *place, c *coord.Client) []end {
		h := members.New(c, dir).Join(bg, members.Member{ID: "self"})
		if h.Wait() == nil {
			_ = w.op().Delete(h.Guard().Path, -1)
			w.refuses(h)
		}
		w.must(h.Release(soon()))
		return []end{hold(h)}
	}},
	{"joins when an operator has handed the ID on, and is deleted itself", func(w *place, c *coord.Client) []end {
		other := w.client(long)
		former := w.join(other, "self", "")
		heal, released := w.releasing(other, former)
		w.must(w.op().Delete(dir+"/self", -1))
		h := members.New(c, dir).Join(bg, members.Member{ID: "self"})
		if h.Wait() == nil {
			w.refuses(former)
			_ = w.op().Delete(dir+"/self", -1)
		}
		w.wait("end", h.Done())
		heal()
		w.must(<-released)
		return []end{hold(h)}
	}},
	{"keeps, updates, and leaves", func(w *place, c *coord.Client) []end {
		m := members.New(c, dir).Keep(bg, members.Member{ID: "self", Data: []byte("1")})
		w.settled(m)
		for i := range 3 {
			w.must(m.Update(soon(), fmt.Append(nil, "updated ", i)))
			if got := w.truth(); got != fmt.Sprint("self=updated ", i, " still=") {
				// It may have gone since with its session, and is then on its way back.
				time.Sleep(4 * term)
				if got := w.truth(); got != fmt.Sprint("self=updated ", i, " still=") {
					w.Errorf("update %d: %s", i, got)
				}
			}
		}
		w.must(m.Leave(soon()))
		return []end{kept(m)}
	}},
	{"keeps, and an operator deletes the znode", func(w *place, c *coord.Client) []end {
		m := members.New(c, dir).Keep(bg, members.Member{ID: "self", Data: []byte("1")})
		w.settled(m)
		_ = w.op().Delete(dir+"/self", -1)
		w.rest(6 * term)
		if got := w.truth(); got != "self=1 still=" {
			w.Errorf("not back: %s", got)
		}
		w.must(m.Leave(soon()))
		return []end{kept(m)}
	}},
	{"keeps through an expiry", func(w *place, c *coord.Client) []end {
		m := members.New(c, dir).Keep(bg, members.Member{ID: "self", Data: []byte("1")})
		w.settled(m)
		w.Expire(c.Session().ID())
		w.rest(6 * term)
		if got := w.truth(); got != "self=1 still=" {
			w.Errorf("not back: %s", got)
		}
		w.must(m.Leave(soon()))
		return []end{kept(m)}
	}},
	{"takes over from its former session", func(w *place, c *coord.Client) []end {
		g := members.New(c, dir)
		first := g.Join(bg, members.Member{ID: "self", Data: []byte("1")})
		_ = first.Wait()
		heal := w.Stall(c, coordtest.Both)
		w.wait("end of the first", first.Done())
		heal()
		second := g.Join(soon(), members.Member{ID: "self", Data: []byte("2")})
		if err := second.Wait(); err != nil && !errors.Is(err, coord.ErrExpired) {
			w.Errorf("not taken over: %v", err)
		}
		w.rest(3 * term)
		got := w.truth()
		time.Sleep(time.Second) // so that an expiry just now has been heard of
		if second.Err() == nil && got != "self=2 still=" {
			w.Errorf("vanished: %s", got)
		}
		w.must(second.Release(soon()))
		return []end{hold(first), hold(second)}
	}},
	{"watches while others come, change, and go", func(w *place, c *coord.Client) []end {
		other := w.client(long)
		g := members.New(c, dir)
		ctx, cancel := context.WithCancel(bg)
		defer cancel()
		views := g.Watch(ctx)
		presences := g.Follow(ctx, "a")
		a, b := w.keep(other, "a", "1"), w.keep(other, "b", "1")
		time.Sleep(time.Millisecond)
		w.must(a.Update(bg, []byte("2")))
		w.must(b.Leave(bg))
		w.rest(5 * term)
		if v, _ := views.Latest(); say(v) != "a=2 still=" {
			w.Errorf("sees %q, want %q", say(v), w.truth())
		}
		if s, _ := presences.Latest(); !s.Present || s.Suspended || string(s.Data) != "2" {
			w.Errorf("follows %+v", s)
		}
		w.must(a.Leave(bg))
		return nil
	}},
	{"leaves while it is cut off", func(w *place, c *coord.Client) []end {
		m := members.New(c, dir).Keep(bg, members.Member{ID: "self"})
		w.settled(m)
		heal := w.Cut(c)
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		if err := m.Leave(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			w.Errorf("Leave: %v", err)
		}
		heal()
		w.must(m.Leave(soon()))
		return []end{kept(m)}
	}},
}

// A fault is what one frame meets.
type fault struct {
	name string
	meet func(w *place, c *coord.Client) coordtest.Action
}

var faults = []fault{
	{"lost", func(*place, *coord.Client) coordtest.Action { return coordtest.Drop }},
	{"lost with the connection", func(*place, *coord.Client) coordtest.Action { return coordtest.HangUp }},
	{"the last of its connection", func(*place, *coord.Client) coordtest.Action { return coordtest.PassAndHangUp }},
	{"delayed by T/4", stall(coordtest.Both, term/4)},
	{"delayed on the way there beyond the session's end", stall(coordtest.ToServer, 2*term)},
	{"delayed on the way back beyond the session's end", stall(coordtest.ToClient, 2*term)},
	{"followed by the session's expiry", func(w *place, c *coord.Client) coordtest.Action {
		w.Expire(c.Session().ID())
		return coordtest.Pass
	}},
	{"there while the server freezes", func(w *place, c *coord.Client) coordtest.Action {
		time.AfterFunc(term/4, w.Freeze())
		return coordtest.Pass
	}},
}

func stall(d coordtest.Direction, long time.Duration) func(*place, *coord.Client) coordtest.Action {
	return func(w *place, c *coord.Client) coordtest.Action {
		time.AfterFunc(long, w.Stall(c, d))
		return coordtest.Pass
	}
}

// TestFaults lets every frame of every plot meet every fault. Whatever happens, each
// handle comes to its end for a reason that fits, nothing of it is left in the
// directory, and both those who watch, the one who meets the fault and one on a good
// link, converge to the truth. (R7, R24, R27, R29, R30, R52, R57.)
func TestFaults(t *testing.T) {
	reasons := []error{coord.ErrReleased, coord.ErrExpired, coord.ErrDeleted, context.Canceled}
	for _, p := range plots {
		play := func(t *testing.T, hook func(*place, *coord.Client, coordtest.Frame) coordtest.Action) {
			bubble(t, func(w *place) {
				still := w.join(w.client(long), "still", "")
				good := w.watch(w.client(long), nil)
				c := w.client(term)
				bad := w.watch(c, nil)
				w.sees(good, "still=")
				n := map[coordtest.Direction]int{}
				w.LinkOf(c).OnFrame(func(f coordtest.Frame) coordtest.Action {
					if f.N == 0 || w.calm.Load() {
						return coordtest.Pass // a heartbeat, or no time for faults
					}
					n[f.Dir]++
					f.N = n[f.Dir]
					return hook(w, c, f)
				})
				for _, e := range p.run(w, c) {
					w.wait("end of "+e.what, e.done)
					if err := e.err(); !slices.ContainsFunc(reasons, func(r error) bool { return errors.Is(err, r) }) {
						w.Errorf("%s ended with %v", e.what, err)
					}
				}
				w.LinkOf(c).OnFrame(nil)
				time.Sleep(3 * term) // stalls are over, and so are sessions that were given up
				if got := w.truth(); got != "still=" || !slices.Equal(w.guards(), []string{still.Guard().Path}) {
					w.Errorf("left: %s %q", got, w.guards())
				}
				w.sees(good, "still=")
				w.sees(bad, "still=")
			})
		}
		t.Run(p.name, func(t *testing.T) {
			frames := map[coordtest.Direction]int{} // learned without a fault
			play(t, func(_ *place, _ *coord.Client, f coordtest.Frame) coordtest.Action {
				frames[f.Dir] = max(frames[f.Dir], f.N)
				return coordtest.Pass
			})
			t.Logf("%d frames to the server and %d back", frames[coordtest.ToServer], frames[coordtest.ToClient])
			for dir, n := range frames {
				for i := range n {
					for k, x := range faults {
						if testing.Short() && (i+k)%2 > 0 {
							continue
						}
						way := map[coordtest.Direction]string{coordtest.ToServer: "there", coordtest.ToClient: "back"}[dir]
						t.Run(fmt.Sprintf("frame %d %s %s", i+1, way, x.name), func(t *testing.T) {
							t.Parallel()
							met := false
							play(t, func(w *place, c *coord.Client, f coordtest.Frame) coordtest.Action {
								if met || f.Dir != dir || f.N != i+1 {
									return coordtest.Pass
								}
								met = true
								action := x.meet(w, c)
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
