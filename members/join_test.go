package members_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/members"
)

// From joining to leaving, with what others see at each step.
func TestJoin(t *testing.T) {
	bubble(t, func(w *place) {
		c := w.client(term)
		r := w.watch(w.client(long), nil)
		w.sees(r, "")
		data := []byte("1")
		h := members.New(c, dir).Join(bg, members.Member{ID: "self", Data: data})
		data[0] = 'X' // what was given is what counts
		w.Must(h.Wait())
		w.sees(r, "self=1")
		if _, stat, err := w.Op().Exists(dir + "/self"); err != nil || coord.SessionID(stat.EphemeralOwner) != c.Kit().Session().ID() || coord.Token(stat.Czxid) != h.Token() {
			w.Errorf("%+v, %v; token %v", stat, err, h.Token())
		}
		w.Must(w.passes(h))
		time.Sleep(10 * time.Minute)
		w.Must(h.Err())
		w.Must(h.Release(bg))
		w.WantsOp(h.Err(), "release", dir+"/self", coord.ErrReleased)
		w.open("loss", h.Lost())
		w.sees(r, "")
		w.Must(h.Release(bg)) // and again
	})
}

// How a Join that is held ends otherwise than by its owner's wish: told by Lost, and
// for what reason. After it the ID can be used at once. (R19, R46, R87.)
func TestJoinEnds(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(w *place, c *coord.Client)
		want error
		then string // the members after it
	}{
		{"an operator deletes the znode", func(w *place, _ *coord.Client) { w.Must(w.Op().Delete(dir+"/self", -1)) }, coord.ErrDeleted, ""},
		{"an operator replaces the znode", func(w *place, _ *coord.Client) {
			w.Must(w.Op().Delete(dir+"/self", -1))
			w.create(dir+"/self", "his", zk.FlagEphemeral, world)
		}, coord.ErrDeleted, "self=his"},
		{"in one transaction", func(w *place, _ *coord.Client) {
			_, err := w.Op().Multi(&zk.DeleteRequest{Path: dir + "/self", Version: -1},
				&zk.CreateRequest{Path: dir + "/self", Data: []byte("his"), Acl: world, Flags: zk.FlagEphemeral})
			w.Must(err)
		}, coord.ErrDeleted, "self=his"},
		{"while the link is down", func(w *place, c *coord.Client) {
			heal := w.Fake.Cut(c)
			w.Must(w.Op().Delete(dir+"/self", -1))
			w.create(dir+"/self", "his", zk.FlagEphemeral, world)
			heal()
		}, coord.ErrDeleted, "self=his"},
		{"the ensemble ends the session", func(w *place, c *coord.Client) { w.Fake.Expire(c.Kit().Session().ID()) }, coord.ErrExpired, ""},
		{"nothing is heard", func(w *place, c *coord.Client) { time.AfterFunc(2*term, w.Fake.Stall(c, coordtest.Both)) }, coord.ErrExpired, ""},
		{"the client is closed", func(w *place, c *coord.Client) { w.Must(c.Close()) }, coord.ErrClosed, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(w *place) {
				c := w.client(term)
				h := w.join(c, "self", "1")
				tt.do(w, c)
				w.Wait("loss", h.Lost())
				w.WantsOp(h.Err(), "lost", dir+"/self", tt.want)
				w.Wait("end", h.Done())
				w.Must(h.Release(bg))
				if tt.then != "" || tt.want == coord.ErrClosed {
					time.Sleep(3 * term)
					if got := w.truth(); got != tt.then {
						w.Errorf("there is %q, want %q", got, tt.then)
					}
					return
				}
				again := w.join(c, "self", "2") // at once, though the ensemble may keep the old one yet
				time.Sleep(3 * term)
				w.Must(again.Err())
				if got := w.truth(); got != "self=2" {
					w.Errorf("there is %q", got)
				}
				w.Must(again.Release(bg))
			})
		})
	}
}

// What an operator does to the data alone ends nothing.
func TestOperatorChangesTheData(t *testing.T) {
	bubble(t, func(w *place) {
		c := w.client(term)
		h, m := w.join(c, "held", "1"), w.keep(c, "kept", "1")
		r := w.watch(c, nil)
		for _, id := range []string{"held", "kept"} {
			_, err := w.Op().Set(dir+"/"+id, []byte("operator"), -1)
			w.Must(err)
		}
		w.sees(r, "held=operator kept=operator")
		w.Must(h.Err())
		w.Must(m.SetData(bg, []byte("2")))
		w.sees(r, "held=operator kept=2")
		w.Must(h.Release(bg))
		w.Must(m.Leave(bg))
		w.sees(r, "")
	})
}

// Leaving does not remove another's znode, even one of the same ID that an operator has
// put in the place of ours while the link was down.
func TestLeavingSparesOthers(t *testing.T) {
	bubble(t, func(w *place) {
		c := w.client(term)
		h, m := w.join(c, "held", ""), w.keep(c, "kept", "")
		heal := w.Fake.Stall(c, coordtest.Both)
		for _, id := range []string{"held", "kept"} {
			w.Must(w.Op().Delete(dir+"/"+id, -1))
			w.create(dir+"/"+id, "his", zk.FlagEphemeral, world)
		}
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		w.WantsOp(h.Release(ctx), "release", dir+"/held", context.DeadlineExceeded)
		w.WantsOp(m.Leave(ctx), "leave", dir+"/kept", context.DeadlineExceeded)
		heal()
		w.Must(h.Release(bg))
		w.Must(m.Leave(bg))
		time.Sleep(3 * term)
		if got := w.truth(); got != "held=his kept=his" {
			w.Errorf("there is %q", got)
		}
	})
}

// A ctx that ends before the member is in ends the attempt with its cause, and nothing
// is left; one that ends later changes nothing.
func TestJoinCtx(t *testing.T) {
	bubble(t, func(w *place) {
		cause := errors.New("too late")
		ended, cancel := context.WithCancelCause(bg)
		cancel(cause)
		c := w.client(term)
		g := members.New(c, dir)
		me := members.Member{ID: "self"}
		h := g.Join(ended, me)
		w.Wait("end", h.Done())
		w.WantsOp(h.Err(), "join", dir+"/self", cause)
		m := g.Keep(ended, me)
		w.Wait("end", m.Done())
		w.WantsOp(m.Err(), "keep", dir+"/self", cause)

		heal := w.Fake.Stall(c, coordtest.Both)
		ctx, cancel := context.WithCancelCause(bg)
		h, m = g.Join(ctx, me), g.Keep(ctx, members.Member{ID: "other"})
		time.Sleep(time.Second)
		cancel(cause)
		time.Sleep(time.Second)
		w.WantsOp(h.Err(), "join", dir+"/self", cause)
		heal()
		w.Wait("end", h.Done())
		w.Wait("end", m.Done())
		w.WantsOp(m.Err(), "keep", dir+"/other", cause)
		if got := w.truth(); got != "" {
			w.Errorf("left: %s", got)
		}

		ctx, cancel = context.WithCancelCause(bg)
		h, m = g.Join(ctx, me), g.Keep(ctx, members.Member{ID: "other"})
		w.Must(h.Wait())
		w.in(m)
		cancel(cause)
		time.Sleep(time.Minute)
		w.Must(h.Err())
		w.Must(m.SetData(bg, []byte("on")))
		if got := w.truth(); got != "other=on self=" {
			w.Errorf("there is %q", got)
		}
		w.Must(w.Op().Delete(dir+"/other", -1)) // and that is the end, for out it is
		w.Wait("end", m.Done())
		w.WantsOp(m.Err(), "keep", dir+"/other", cause)
		// R46: leaving with a ctx that has ended, and joining at once.
		if err := h.Release(ended); err != nil {
			w.WantsOp(err, "release", dir+"/self", cause)
		}
		h = w.join(c, "self", "again")
		w.Must(h.Err())
		m = w.keep(c, "other", "")
		if err := m.Leave(ended); err != nil {
			w.WantsOp(err, "leave", dir+"/other", cause)
		}
		m = w.keep(c, "other", "again")
		if got := w.truth(); got != "other=again self=again" {
			w.Errorf("there is %q", got)
		}
		w.Must(m.Leave(bg))
		w.Must(h.Release(bg))
	})
}
