package members_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/members"
)

// Children of the directory that are no members do no harm, and are left alone.
func TestForeignChildren(t *testing.T) {
	bubble(t, func(w *place) {
		w.create(dir+"/persistent", "", 0, world)
		w.create(dir+"/parent/child", "", zk.FlagEphemeral, world)
		w.create(dir+"/sequential-", "", zk.FlagSequence, world)
		w.create(dir+"/lock/_c_abc-lock-", "", zk.FlagEphemeral|zk.FlagSequence, world)
		w.create(dir+"/curator", "10.0.0.1", zk.FlagEphemeral, world) // made like this, it is a member
		before := w.Tree()
		c := w.client(term)
		r := w.watch(c, nil)
		w.sees(r, "curator=10.0.0.1")
		m := w.keep(c, "self", "1")
		w.sees(r, "curator=10.0.0.1 self=1")
		g := members.New(c, dir)
		if _, ok, err := g.Find(bg, "persistent"); ok || err != nil {
			w.Errorf("found what is no member: %v, %v", ok, err)
		}
		v, err := g.AwaitN(bg, 2)
		if w.Must(err); len(v.Members) != 2 {
			w.Errorf("awaited %q", say(v))
		}
		if p := <-g.Follow(w.Context(), "persistent").Updates(); p.Present {
			w.Error("follows what is no member")
		}
		h := g.Join(bg, members.Member{ID: "parent"})
		w.WantsOp(h.Wait(), "join", dir+"/parent", members.ErrTaken)
		w.Must(m.Leave(bg))
		if after := w.Tree(); after != before {
			w.Errorf("was\n%sand is\n%s", before, after)
		}
		w.sees(r, "curator=10.0.0.1")
	})
}

// R34, R62: a view says when it may be old, and then again what is the case; a client
// that was cut off learns of all that has happened, a znode made anew with the same data
// version included (R31).
func TestSuspended(t *testing.T) {
	for _, anew := range []bool{false, true} { // in another session
		t.Run(fmt.Sprint(anew), func(t *testing.T) {
			bubble(t, func(w *place) {
				other, c := w.client(long), w.client(term)
				r := w.watch(c, nil)
				s := members.New(c, dir).Follow(w.Context(), "a")
				a, b := w.join(other, "a", "1"), w.join(other, "b", "1")
				w.sees(r, "a=1 b=1")
				r.said()
				heal := w.Fake.Cut(c)
				if said := r.said(); !slices.Equal(said, []string{"a=1 b=1 ?"}) {
					w.Errorf("cut off, it says %q", said)
				}
				w.Must(a.Release(bg))
				w.Must(b.Release(bg))
				w.join(other, "a", "2")
				w.join(other, "c", "2")
				if x, _ := s.Latest(); !x.Suspended || !x.Present || string(x.Data) != "1" {
					w.Errorf("follows %+v", x)
				}
				if anew {
					time.Sleep(2 * term)
				}
				heal()
				w.sees(r, "a=2 c=2")
				if said := r.said(); len(said) != 1 {
					w.Errorf("said %q on the way", said)
				}
				if x, _ := s.Latest(); x.Suspended || !x.Present || string(x.Data) != "2" {
					w.Errorf("follows %+v", x)
				}
			})
		})
	}
}

// The name service: find what is announced under a name, wait for it, follow it.
func TestNames(t *testing.T) {
	bubble(t, func(w *place) {
		c, other := w.client(term), w.client(long)
		g := members.New(c, dir)
		if _, ok, err := g.Find(bg, "db"); ok || err != nil {
			w.Errorf("found nothing as %v, %v", ok, err)
		}
		s := g.Follow(w.Context(), "db")
		expect := func(present, suspended bool, data string) {
			w.Helper()
			time.Sleep(time.Second)
			synctest.Wait()
			select {
			case x := <-s.Updates():
				if x.Present != present || x.Suspended != suspended || string(x.Data) != data || x.ID != "db" {
					w.Errorf("follows %+v, want %v, %v, %q", x, present, suspended, data)
				}
			default:
				w.Errorf("nothing new, want %v, %v, %q", present, suspended, data)
			}
			select {
			case x := <-s.Updates():
				w.Errorf("and then %+v", x)
			default:
			}
		}
		expect(false, false, "")
		cause := errors.New("waited enough")
		ctx, cancel := context.WithCancelCause(bg)
		time.AfterFunc(time.Minute, func() { cancel(cause) })
		_, err := g.Await(ctx, "db")
		w.WantsOp(err, "await", dir+"/db", cause)
		_, err = g.AwaitN(ctx, 1)
		w.WantsOp(err, "awaitn", dir, cause)
		_, _, err = g.Find(ctx, "db")
		w.WantsOp(err, "find", dir+"/db", cause)

		got := make(chan members.Member, 1)
		go func() {
			m, err := g.Await(bg, "db")
			if err != nil {
				w.Error(err)
			}
			got <- m
		}()
		three := make(chan members.View, 1)
		go func() {
			v, err := g.AwaitN(bg, 3)
			if err != nil {
				w.Error(err)
			}
			three <- v
		}()
		synctest.Wait()
		m := w.keep(other, "db", "10.0.0.1")
		if x := <-got; x.ID != "db" || string(x.Data) != "10.0.0.1" {
			w.Errorf("awaited %+v", x)
		}
		expect(true, false, "10.0.0.1")
		w.Must(m.SetData(bg, []byte("10.0.0.2")))
		expect(true, false, "10.0.0.2")
		w.Must(m.SetData(bg, []byte("10.0.0.2"))) // which is nothing new
		if x, ok, err := g.Find(bg, "db"); !ok || err != nil || string(x.Data) != "10.0.0.2" {
			w.Errorf("found %+v, %v, %v", x, ok, err)
		}
		w.join(other, "a", "")
		synctest.Wait()
		if len(three) > 0 {
			w.Error("two are three")
		}
		w.join(other, "b", "")
		if v := <-three; say(v) != "a= b= db=10.0.0.2" {
			w.Errorf("awaited %q", say(v))
		} else if x, ok := v.Member("b"); !ok || x.ID != "b" {
			w.Errorf("Member(b) = %v, %v", x, ok)
		} else if x, ok := v.Member("c"); ok {
			w.Errorf("Member(c) = %v", x)
		}
		w.Must(m.Leave(bg))
		expect(false, false, "10.0.0.2")

		// What is only known from before counts as little as what is not known.
		heal := w.Fake.Stall(c, coordtest.Both)
		time.Sleep(term)
		ctx, cancel = context.WithCancelCause(bg)
		time.AfterFunc(time.Second, func() { cancel(cause) })
		_, err = g.AwaitN(ctx, 1)
		w.WantsOp(err, "awaitn", dir, cause)
		heal()
		_, err = g.AwaitN(bg, 2)
		w.Must(err)
	})
}

// Streams end with their ctx, with its cause, whatever the link does, and leave no
// goroutine behind, as the bubble checks.
func TestStreamsEnd(t *testing.T) {
	for _, down := range []bool{false, true} {
		bubble(t, func(w *place) {
			c := w.client(term)
			g := members.New(c, dir)
			cause := errors.New("seen enough")
			ctx, cancel := context.WithCancelCause(bg)
			w.join(c, "self", "")
			if down {
				defer w.Fake.Stall(c, coordtest.Both)()
			}
			v, s := g.Watch(ctx), g.Follow(ctx, "self")
			synctest.Wait()
			cancel(cause)
			w.Wait("end", v.Done())
			w.Wait("end", s.Done())
			w.WantsOp(v.Err(), "watch", dir, cause)
			w.WantsOp(s.Err(), "follow", dir+"/self", cause)
			w.WantsOp(g.Watch(ctx).Err(), "watch", dir, cause)
		})
	}
}

// Diff against an oracle made of maps.
func TestDiff(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func() (members.View, map[string]string) {
		all := make(map[string]string)
		for range r.IntN(8) {
			all[string(rune('a'+r.IntN(8)))] = strings.Repeat("x", r.IntN(3))
		}
		var v members.View
		for id, data := range all {
			v.Members = append(v.Members, members.Member{ID: id, Data: []byte(data)})
		}
		slices.SortFunc(v.Members, func(a, b members.Member) int { return strings.Compare(a.ID, b.ID) })
		return v, all
	}
	words := func(ms []members.Member) []string {
		var all []string
		for _, m := range ms {
			all = append(all, m.ID+"="+string(m.Data))
		}
		return all
	}
	for range 20000 {
		prev, before := random()
		next, after := random()
		var joined, left, changed []string
		for c := 'a'; c < 'a'+8; c++ {
			id := string(c)
			old, was := before[id]
			now, is := after[id]
			switch {
			case is && !was:
				joined = append(joined, id+"="+now)
			case was && !is:
				left = append(left, id+"="+old)
			case was && old != now:
				changed = append(changed, id+"="+now)
			}
		}
		j, l, c := next.Diff(prev)
		if !slices.Equal(words(j), joined) || !slices.Equal(words(l), left) || !slices.Equal(words(c), changed) {
			t.Fatalf("from %q to %q: %q, %q, %q; want %q, %q, %q", say(prev), say(next), words(j), words(l), words(c), joined, left, changed)
		}
	}
	if j, l, c := (members.View{}).Diff(members.View{}); j != nil || l != nil || c != nil {
		t.Error("nothing has changed, and there is something")
	}
}

// R36: a client that is closed while its member waits for the ID leaves what is there
// alone.
func TestClosedWhileOut(t *testing.T) {
	bubble(t, func(w *place) {
		c := w.client(term)
		w.join(w.client(long), "self", "his")
		m := members.New(c, dir).Keep(bg, members.Member{ID: "self"})
		w.out(m, members.ErrTaken)
		w.Must(c.Close())
		w.Wait("end", m.Done())
		w.WantsOp(m.Err(), "keep", dir+"/self", coord.ErrClosed)
		if got := w.truth(); got != "self=his" {
			w.Errorf("there is %q", got)
		}
	})
}
