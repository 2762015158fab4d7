package leader_test

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
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/lock/leader"
)

// try is a candidate that does not wait.
func try(ctx context.Context, c *coord.Client, dir string) *coord.Hold {
	return lock.New(c, dir).TryAcquire(ctx)
}

func TestElection(t *testing.T) {
	t.Parallel()
	inBoth(t, elections)
}

var elections = []scenario{
	{"candidates lead in turn, and observers see each with its value, token, session, label and znode", func(w place) {
		a, b, o := w.Client(T), w.Client(T), w.Client(T)
		view := w.watch(o)
		view.sees("nobody")
		ha := w.election(a, leader.Label("host a")).Campaign(bg, []byte("addr a"))
		w.Wait("term", ha.Acquired())
		view.sees(by("addr a", ha))
		hb := w.election(b, leader.Label("host b")).Campaign(bg, []byte("addr b"))
		w.Eventually("in line", func() bool { return len(w.Children(w.Dir)) == 2 })
		w.IsOpen("the second leads", hb.Acquired())
		for i, c := range []*harness.Client{a, b} {
			h, name := []*coord.Hold{ha, hb}[i], "ab"[i:i+1]
			w.Wait("term", h.Acquired())
			view.sees(by("addr "+name, h))
			v, _ := view.Latest()
			want := coord.Contender{Label: "host " + name, Node: harness.Guard(h).Path[len(w.Dir)+1:], Session: c.Kit().Session().ID(), Token: h.Token(), Holds: true}
			if v.Leader != want {
				w.Errorf("leader %+v, want %+v", v.Leader, want)
			}
			now, err := w.election(o).Leader(bg)
			w.Must(err)
			if now.Leader != want || string(now.Value) != "addr "+name {
				w.Errorf("leader %+v with %q, want %+v", now.Leader, now.Value, want)
			}
			all, err := w.election(o).Candidates(bg)
			w.Must(err)
			if len(all) != 2-i || all[0].Label != want.Label || all[0].Token != want.Token {
				w.Errorf("candidates %+v", all)
			}
			w.Must(h.Release(bg))
			if w.Get(w.Dir+"-leader") != "nothing" && i == 1 {
				w.Error("released, and the announcement is there")
			}
		}
		view.sees("nobody")
		if v, err := w.election(o).Leader(bg); v.Has || err != nil {
			w.Errorf("leader %+v, %v", v, err)
		}
		if ha.Token() >= hb.Token() {
			w.Errorf("token %d, and then %d", ha.Token(), hb.Token())
		}
	}},
	{"the leader changes its value without losing its place, and Publish returns when observers can see it", func(w place) {
		a, b, o := w.Client(T), w.Client(T), w.Client(T)
		view := w.watch(o)
		e := w.election(a)
		h := w.leads(a, "one")
		waiting := w.election(b).Campaign(bg, nil)
		for _, value := range []string{"two", "", "three\nlines\n", "three\nlines\n", strings.Repeat("x", 64<<10)} {
			w.Must(e.Publish(bg, h, []byte(value)))
			_, err := o.Kit().Await(bg)
			w.Must(err)
			w.Must(o.Sync(bg, w.Dir))
			now, err := e.Leader(bg)
			w.Must(err)
			if string(now.Value) != value || now.Leader.Token != h.Token() {
				w.Errorf("published %.20q, and there is %.20q by %v", value, now.Value, now.Leader)
			}
			view.sees(by(value, h))
		}
		w.Must(h.Err())
		w.WantsOp(e.Publish(bg, h, make([]byte, 64<<10+1)), "publish", w.Dir, coord.ErrTooLarge)
		w.WantsOp(e.Campaign(bg, make([]byte, 64<<10+1)).Wait(), "campaign", w.Dir, coord.ErrTooLarge)
		w.WantsOp(leader.New(a.Client, w.Dir+"-other").Publish(bg, h, nil), "publish", w.Dir+"-other", leader.ErrNoTerm)
		other := lock.New(a.Client, w.Dir+"-lock").Acquire(bg)
		w.Must(other.Wait())
		w.WantsOp(e.Publish(bg, other, nil), "publish", w.Dir, leader.ErrNoTerm)
		w.WantsOp(e.Publish(bg, nil, nil), "publish", w.Dir, leader.ErrNoTerm)
		w.Must(other.Release(bg))
		w.Must(h.Release(bg))
		w.WantsOp(e.Publish(bg, h, nil), "release", w.Dir, coord.ErrReleased)
		w.Wait("term", waiting.Acquired())
		view.sees(by("", waiting))
		w.Must(waiting.Release(bg))
	}},
	{"what a candidate that waits publishes is its value when it leads; ctx bounds only the wait for that", func(w place) {
		a, b, o := w.Client(T), w.Client(T), w.Client(T)
		view := w.watch(o)
		ha := w.leads(a, "a")
		hb := w.election(b).Campaign(bg, []byte("b"))
		cause := errors.New("in a hurry")
		ctx, cancel := context.WithCancelCause(bg)
		back := make(chan error, 2)
		go func() { back <- w.election(b).Publish(ctx, hb, []byte("b, later")) }()
		cancel(cause)
		w.WantsOp(<-back, "publish", w.Dir, cause)
		go func() { back <- w.election(b).Publish(bg, hb, []byte("b, at last")) }()
		w.Eventually("in line", func() bool { return len(w.Children(w.Dir)) == 2 })
		view.sees(by("a", ha))
		w.Must(ha.Release(bg))
		w.Must(<-back)
		view.sees(by("b, at last", hb))
		w.Must(hb.Release(bg))
	}},
	{"an announcement that an operator deletes or writes over comes back", func(w place) {
		a, o := w.Client(T), w.Client(T)
		view := w.watch(o)
		h := w.leads(a, "value")
		view.sees(by("value", h))
		back := func(what string) {
			w.Helper()
			w.Eventually("back after it was "+what, func() bool { return strings.HasSuffix(w.Get(w.Dir+"-leader"), "\nvalue") })
			view.sees(by("value", h))
		}
		w.Delete(w.Dir + "-leader")
		back("deleted")
		w.Set(w.Dir+"-leader", "x")
		back("written over")
		for _, data := range []string{"nobody 0x1 \"\"\nvalue", w.Get(w.Dir + "-leader")} { // also by a copy
			_, err := w.Op().Multi(&zk.DeleteRequest{Path: w.Dir + "-leader", Version: -1},
				&zk.CreateRequest{Path: w.Dir + "-leader", Data: []byte(data), Acl: zk.WorldACL(zk.PermAll)})
			w.Must(err)
			w.Eventually("back after it was replaced", func() bool {
				_, stat, err := w.Op().Get(w.Dir + "-leader")
				return err == nil && coord.SessionID(stat.EphemeralOwner) == a.Kit().Session().ID()
			})
			back("replaced")
		}
		w.Must(h.Err())
		w.Must(h.Release(bg))
	}},
	{"an operator hands the lead on by deleting the candidate's znode, and observers see the next", func(w place) {
		a, b, o := w.Client(T), w.Client(T), w.Client(T)
		view := w.watch(o)
		ha := w.leads(a, "a")
		view.sees(by("a", ha))
		hb := w.election(b).Campaign(bg, []byte("b"))
		w.Eventually("in line", func() bool { return len(w.Children(w.Dir)) == 2 })
		w.Delete(harness.Guard(ha).Path)
		w.Wait("loss", ha.Lost())
		w.Wants(ha.Err(), coord.ErrDeleted)
		w.Wait("term", hb.Acquired())
		view.sees(by("b", hb))
		if ha.Token() >= hb.Token() {
			w.Errorf("token %d, and then %d", ha.Token(), hb.Token())
		}
		w.Must(hb.Release(bg))
	}},
	{"an operator revokes the lead, and the next leads when the former has stopped", func(w place) {
		a, b, o := w.Client(T), w.Client(T), w.Client(T)
		view := w.watch(o)
		ha := w.leads(a, "a")
		view.sees(by("a", ha))
		hb := w.election(b).Campaign(bg, []byte("b"))
		w.Eventually("in line", func() bool { return len(w.Children(w.Dir)) == 2 })
		w.Set(harness.Guard(ha).Path, "__REVOKE__")
		w.Wait("loss", ha.Lost())
		w.Wants(ha.Err(), coord.ErrRevoked)
		view.sees("nobody")
		w.Eventually("the announcement is gone", func() bool { return !w.Exists(w.Dir + "-leader") })
		w.IsOpen("the next leads", hb.Acquired())
		late := w.watch(o) // which goes by the queue
		late.sees("nobody")
		if v, err := w.election(o).Leader(bg); v.Has || err != nil {
			w.Errorf("leader %+v, %v", v, err)
		}
		w.Must(ha.Release(bg))
		w.Wait("term", hb.Acquired())
		view.sees(by("b", hb))
		w.Must(hb.Release(bg))
	}},
	{"an announcement that belongs to no session is nobody's", func(w place) {
		a, o := w.Client(T), w.Client(T)
		h := w.leads(a, "value")
		w.watch(o).sees(by("value", h))
		left := w.Get(w.Dir + "-leader")
		w.Must(h.Release(bg))
		w.Create(w.Dir+"-leader", left)
		w.watch(o).sees("nobody")
		if v, err := w.election(o).Leader(bg); v.Has || err != nil {
			w.Errorf("leader %+v, %v", v, err)
		}
		w.Delete(w.Dir + "-leader")
	}},
	{"a leader whose session ends is seen to be gone, and the next takes its place", func(w place) {
		a, b, o := w.Client(T), w.Client(T), w.Client(T)
		view := w.watch(o)
		ha := w.leads(a, "a")
		view.sees(by("a", ha))
		hb := w.election(b).Campaign(bg, []byte("b"))
		w.Eventually("in line", func() bool { return len(w.Children(w.Dir)) == 2 })
		w.Expire(a)
		w.Wait("loss", ha.Lost())
		w.Wait("term", hb.Acquired())
		view.sees(by("b", hb))
		w.Must(hb.Release(bg))
	}},
	{"an observer that is cut off says Suspended, and sees the present leader when it is back", func(w place) {
		a, b, o := w.Client(T), w.Client(T), w.Client(T)
		view := w.watch(o)
		ha := w.leads(a, "a")
		view.sees(by("a", ha))
		up := w.Down(o)
		view.sees(by("a", ha) + "?")
		w.Must(ha.Release(bg))
		hb := w.leads(b, "b")
		up()
		view.sees(by("b", hb))
		w.Must(hb.Release(bg))
	}},
	{"a candidate that may not write the announcement leads, Publish says why, and observers see it", func(w place) {
		a, o := w.Client(T), w.Client(T)
		inner := place{w.At(w.Dir + "/in/e")}
		w.Must(inner.leads(a, "").Release(bg))
		// Nobody may create anything beside the directory.
		_, err := w.Op().SetACL(w.Dir+"/in", zk.WorldACL(zk.PermAll&^zk.PermCreate), -1)
		w.Must(err)
		view := inner.watch(o)
		e := inner.election(a, leader.Label("label"))
		h := e.Campaign(bg, []byte("value"))
		w.Wait("term", h.Acquired())
		view.sees("label label by " + by("", h)[len(" by "):])
		inner.WantsOp(e.Publish(bg, h, []byte("value")), "publish", inner.Dir, coord.ErrNoAuth)
		w.Must(h.Err())
		// As soon as it may, it is announced.
		_, err = w.Op().SetACL(w.Dir+"/in", zk.WorldACL(zk.PermAll), -1)
		w.Must(err)
		w.Within(w.Bound(100*time.Millisecond), "publish", func() { w.Must(e.Publish(bg, h, []byte("value"))) })
		view.sees(by("value", h))
		w.Must(h.Release(bg))
		inner.nothingLeft()
		w.Sweep(w.Dir + "/in")
	}},
	{"leaders that do not announce themselves are seen, with the data of their znodes as the value", func(w place) {
		a, o := w.Client(T), w.Client(T)
		view := w.watch(o)
		w.Must(w.leads(a, "ours").Release(bg)) // so that the directory is there
		node := w.foreign("their id")
		_, stat, err := w.Op().Exists(node)
		w.Must(err)
		theirs := fmt.Sprintf("their id by %#x", stat.Czxid)
		view.sees(theirs)
		late := w.watch(o)
		late.sees(theirs)
		up := w.Down(o)
		late.sees(theirs + "?")
		up()
		late.sees(theirs)
		now, err := w.election(o).Leader(bg)
		w.Must(err)
		if say(now) != theirs {
			w.Errorf("leader %s, want %s", say(now), theirs)
		}
		h := w.election(a).Campaign(bg, []byte("ours"))
		w.Eventually("in line", func() bool { return len(w.Children(w.Dir)) == 2 })
		w.Delete(node)
		w.Wait("term", h.Acquired())
		view.sees(by("ours", h))
		late.sees(by("ours", h))
		w.Must(h.Release(bg))
	}},
	{"terms do not nest", func(w place) {
		a := w.Client(T)
		h := w.leads(a, "")
		w.WantsOp(w.election(a).Campaign(h.Context(bg), nil).Wait(), "campaign", w.Dir, leader.ErrNested)
		k := w.election(a).Keep(h.Context(bg), nil)
		w.Wait("end", k.Done())
		w.WantsOp(k.Err(), "keep", w.Dir, leader.ErrNested)
		w.Must(h.Release(bg))
	}},
}
