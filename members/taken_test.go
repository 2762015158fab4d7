package members_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/members"
)

// Of two that live the second is told that the ID is taken, in any session, and the
// first is not disturbed.
func TestTaken(t *testing.T) {
	for _, tt := range []struct {
		name string
		take func(w *place, c *coord.Client) (free func())
	}{
		{"another client", func(w *place, _ *coord.Client) func() {
			h := w.join(w.client(long), "self", "first")
			return func() { w.Must(h.Err()); w.Must(h.Release(bg)) }
		}},
		{"a znode of no session", func(w *place, _ *coord.Client) func() {
			w.create(dir+"/self", "first", 0, world)
			return func() { w.Must(w.Op().Delete(dir+"/self", -1)) }
		}},
		{"one that hides its data", func(w *place, _ *coord.Client) func() {
			w.create(dir+"/self", "first", zk.FlagEphemeral, zk.WorldACL(zk.PermAll&^zk.PermRead))
			return func() { w.Must(w.Op().Delete(dir+"/self", -1)) }
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(w *place) {
				c := w.client(term)
				free := tt.take(w, c)
				g := members.New(c, dir)
				me := members.Member{ID: "self", Data: []byte("second")}
				h := g.Join(bg, me)
				w.WantsOp(h.Wait(), "join", dir+"/self", members.ErrTaken)
				w.Wait("end", h.Done())
				m := g.Keep(bg, me)
				s := w.out(m, members.ErrTaken)
				w.WantsOp(s.Err, "keep", dir+"/self", members.ErrTaken)
				w.open("end", m.Done())
				w.Fake.Expire(c.Kit().Session().ID()) // it goes on waiting in the next session
				time.Sleep(time.Minute)
				w.WantsOp(g.Join(bg, me).Wait(), "join", dir+"/self", members.ErrTaken) // and has the seat meanwhile
				if got, _ := m.Latest(); got.In {
					w.Errorf("in, beside the first: %+v", got)
				}
				free()
				if s := w.in(m); s.Err != nil || s.Token == 0 {
					w.Errorf("stands %+v", s)
				}
				if got := w.truth(); got != "self=second" {
					w.Errorf("there is %q", got)
				}
				w.Must(m.Leave(bg))
			})
		})
	}
}

// One client has each ID once, whatever Groups it is asked through: the ensemble
// could not tell the two apart. While the first is leaving the second waits for that.
func TestTakenByTheClientItself(t *testing.T) {
	bubble(t, func(w *place) {
		c := w.client(term)
		g, same := members.New(c, dir), members.New(c, dir)
		me := members.Member{ID: "self", Data: []byte("first")}
		other := members.Member{ID: "self", Data: []byte("second")}
		for _, kept := range []bool{false, true} {
			var leave func(context.Context) error
			if kept {
				m := g.Keep(bg, me)
				w.in(m)
				leave = m.Leave
			} else {
				h := g.Join(bg, me)
				w.Must(h.Wait())
				leave = h.Release
			}
			h := same.Join(bg, other)
			w.WantsOp(h.Wait(), "join", dir+"/self", members.ErrTaken)
			m := same.Keep(bg, other)
			w.Wait("end", m.Done())
			w.WantsOp(m.Err(), "keep", dir+"/self", members.ErrTaken)
			if got := w.truth(); got != "self=first" {
				w.Errorf("there is %q", got)
			}

			heal := w.Fake.Stall(c, coordtest.Both)
			ended, cancel := context.WithCancel(bg)
			cancel()
			_ = leave(ended)
			h = same.Join(bg, other)
			ctx, stop := context.WithTimeout(bg, time.Second)
			impatient := g.Join(ctx, me)
			w.Wait("end", impatient.Done())
			stop()
			w.WantsOp(impatient.Err(), "join", dir+"/self", context.DeadlineExceeded)
			w.open("membership", h.Acquired())
			heal()
			w.Must(h.Wait())
			if got := w.truth(); got != "self=second" {
				w.Errorf("there is %q", got)
			}
			w.Must(leave(bg))
			w.Must(h.Err())
			w.Must(h.Release(bg))
		}
		if got := w.truth(); got != "" {
			w.Errorf("left: %s", got)
		}
	})
}

// Many seek one ID at a time: one client has it at a time, and in the end each has
// had it.
func TestManySeekOneID(t *testing.T) {
	bubble(t, func(w *place) {
		const n = 10
		var all []*members.Membership
		for range n {
			all = append(all, members.New(w.client(long), dir).Keep(bg, members.Member{ID: "self"}))
		}
		for left := all; len(left) > 0; {
			time.Sleep(time.Second)
			synctest.Wait()
			in := -1
			for i, m := range left {
				switch s, _ := m.Latest(); {
				case s.In && in >= 0:
					w.Fatal("two are in")
				case s.In:
					in = i
				case !errors.Is(s.Err, members.ErrTaken):
					w.Errorf("stands %+v", s)
				}
			}
			if in < 0 {
				w.Fatalf("nobody is in\n%s", w.Tree())
			}
			w.Must(left[in].Leave(bg))
			left = append(left[:in:in], left[in+1:]...)
		}
	})
}

// Why an ID is taken says by which session, as ZooKeeper's logs write it, and that it
// may be that of an earlier process.
func TestTakenSaysByWhom(t *testing.T) {
	bubble(t, func(w *place) {
		c := w.client(long)
		w.join(c, "self", "")
		w.create(dir+"/none", "", 0, world)
		g := members.New(w.client(term), dir)
		for id, want := range map[string]string{
			"self": fmt.Sprintf("taken by session %v; if that is of an earlier run of this program, until it expires", c.Kit().Session().ID()),
			"none": "taken by a znode of no session",
		} {
			if err := g.Join(bg, members.Member{ID: id}).Wait(); !errors.Is(err, members.ErrTaken) || !strings.HasSuffix(err.Error(), want) {
				w.Errorf("%v, want ... %s", err, want)
			}
		}
	})
}
