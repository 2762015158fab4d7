package members_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/members"
)

// R57: a member is back after each of its sessions, and after an operator has deleted
// its znode, without the program's doing; and says that it was out, and why.
func TestKeepComesBack(t *testing.T) {
	bubble(t, func(w *place) {
		c := w.client(term)
		m := members.New(c, dir).Keep(bg, members.Member{ID: "self", Data: []byte("1")})
		token := w.in(m).Token
		for i := range 10 {
			want := coord.ErrExpired
			switch i % 3 {
			case 0:
				w.Fake.Expire(c.Kit().Session().ID())
			case 1:
				w.Must(w.Op().Delete(dir+"/self", -1))
				want = coord.ErrDeleted
			case 2:
				time.AfterFunc(2*term, w.Fake.Stall(c, coordtest.Both))
			}
			w.WantsOp(w.out(m, want).Err, "keep", dir+"/self", want)
			s := w.in(m)
			if s.Token <= token || s.Err != nil {
				w.Errorf("back as %+v, after token %v", s, token)
			}
			token = s.Token
			time.Sleep(3 * term)
			if got := w.truth(); got != "self=1" || w.owner("self") != c.Kit().Session().ID() {
				w.Errorf("there is %q", got)
			}
		}
		w.Must(m.Leave(bg))
		w.WantsOp(m.Err(), "keep", dir+"/self", coord.ErrReleased)
		if s, _ := m.Latest(); s.In || !errors.Is(s.Err, coord.ErrReleased) || s.Token != token {
			w.Errorf("stands %+v in the end", s)
		}
	})
}

// Somebody that deletes a member's znode again and again does not make its client
// storm the ensemble.
func TestKeepIsDeletedAgainAndAgain(t *testing.T) {
	bubble(t, func(w *place) {
		c := w.client(term)
		m := w.keep(c, "self", "")
		creates := 0
		w.Fake.LinkOf(c).OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Dir == coordtest.ToServer && f.Op == "multi" {
				creates++
			}
			return coordtest.Pass
		})
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			_ = w.Op().Delete(dir+"/self", -1)
		}
		w.Fake.LinkOf(c).OnFrame(nil)
		if creates < 30 || creates > 150 {
			w.Errorf("created %d times in a minute", creates)
		}
		w.in(m)
		w.Must(m.Leave(bg))
	})
}

// SetData returns when the znode has the data, also when a reply or a connection is
// lost, when others write to it, and, if the member is out, when it is in again.
func TestSetData(t *testing.T) {
	for name, hurt := range map[string]func(w *place, c *coord.Client){
		"nothing":        func(*place, *coord.Client) {},
		"a lost reply":   func(w *place, c *coord.Client) { w.Fake.LoseReply(c) },
		"a reset":        func(w *place, c *coord.Client) { w.Fake.LinkOf(c).Reset() },
		"a cut":          func(w *place, c *coord.Client) { time.AfterFunc(time.Second, w.Fake.Cut(c)) },
		"an expiry":      func(w *place, c *coord.Client) { w.Fake.Expire(c.Kit().Session().ID()) },
		"silence":        func(w *place, c *coord.Client) { time.AfterFunc(2*term, w.Fake.Stall(c, coordtest.Both)) },
		"deletion":       func(w *place, _ *coord.Client) { _ = w.Op().Delete(dir+"/self", -1) },
		"another writes": func(w *place, c *coord.Client) { _, _ = w.Op().Set(dir+"/self", []byte("other"), -1) },
		"another in the way": func(w *place, c *coord.Client) {
			_, err := w.Op().Multi(&zk.DeleteRequest{Path: dir + "/self", Version: -1},
				&zk.CreateRequest{Path: dir + "/self", Acl: world, Flags: zk.FlagEphemeral})
			w.Must(err)
			time.AfterFunc(time.Minute, func() { _ = w.Op().Delete(dir+"/self", -1) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *place) {
				c := w.client(term)
				r := w.watch(w.client(long), nil)
				m := w.keep(c, "self", "1")
				for i := range 3 {
					data := fmt.Append(nil, "new", i)
					hurt(w, c)
					err := m.SetData(bg, data)
					data[0] = 'X'
					w.Must(err)
					time.Sleep(time.Minute) // it may have been lost since, and told again
					w.sees(r, fmt.Sprint("self=new", i))
				}
				w.Must(m.Leave(bg))
				if err := m.SetData(bg, nil); !errors.Is(err, coord.ErrReleased) {
					w.Errorf("SetData after Leave: %v", err)
				}
			})
		})
	}
}

// Of updates that come at a time the last one wins, each returns, and the znode is
// not written more often than there are updates. One whose ctx ends returns its cause,
// and its data are told all the same.
func TestUpdatesAtATime(t *testing.T) {
	bubble(t, func(w *place) {
		c := w.client(term)
		m := w.keep(c, "self", "")
		writes := 0
		w.Fake.LinkOf(c).OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Dir == coordtest.ToServer && f.Op == "setData" {
				writes++
			}
			return coordtest.Pass
		})
		heal := w.Fake.Stall(c, coordtest.Both)
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() { w.Must(m.SetData(bg, fmt.Append(nil, i))) })
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(bg, time.Millisecond)
		defer cancel()
		w.WantsOp(m.SetData(ctx, []byte("last")), "setdata", dir+"/self", context.DeadlineExceeded)
		heal()
		wg.Wait()
		synctest.Wait()
		if got := w.truth(); got != "self=last" {
			w.Errorf("there is %q", got)
		}
		if writes > 3 {
			w.Errorf("%d writes for what could be told in two", writes)
		}
		for i := range 100 {
			wg.Go(func() { w.Must(m.SetData(bg, fmt.Append(nil, i))) })
		}
		wg.Wait()
		w.Must(m.SetData(bg, []byte("end")))
		if got := w.truth(); got != "self=end" {
			w.Errorf("there is %q", got)
		}
		w.Fake.LinkOf(c).OnFrame(nil)
		w.Must(m.Leave(bg))
	})
}

// What was told while out is what the member comes back with.
func TestSetDataWhileOut(t *testing.T) {
	bubble(t, func(w *place) {
		c := w.client(term)
		other := w.join(w.client(long), "self", "his")
		m := members.New(c, dir).Keep(bg, members.Member{ID: "self", Data: []byte("1")})
		w.out(m, members.ErrTaken)
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		data := []byte("2")
		w.WantsOp(m.SetData(ctx, data), "setdata", dir+"/self", context.DeadlineExceeded)
		data[0] = '3' // the slice is the caller's again
		seen := w.watch(w.client(long), nil)
		w.sees(seen, "self=his")
		w.Must(other.Release(bg))
		w.in(m)
		w.sees(seen, "self=2")
		if said := seen.said(); slices.Contains(said, "self=1") {
			w.Errorf("told what was overtaken: %q", said)
		}
		w.Must(m.Leave(bg))
	})
}

// Joined closes when a Membership is in for the first time, and not if it never is.
func TestJoined(t *testing.T) {
	bubble(t, func(w *place) {
		g := members.New(w.client(term), dir)
		m := g.Keep(bg, members.Member{ID: "a"})
		w.Wait("joined", m.Joined())
		if v, err := g.Members(bg); err != nil || say(v) != "a=" {
			w.Errorf("listed %q, %v", say(v), err)
		}
		bad := g.Keep(bg, members.Member{ID: "a/b"})
		w.Wait("done", bad.Done())
		select {
		case <-bad.Joined():
			w.Error("joined under an invalid ID")
		default:
		}
		w.Must(m.Leave(bg))
		w.Wait("joined, still", m.Joined())
	})
}

// R34: a Status says while it may be out of date, and then again what is the case.
func TestStatusIsSuspended(t *testing.T) {
	for _, expires := range []bool{false, true} {
		t.Run(fmt.Sprint("expires: ", expires), func(t *testing.T) {
			bubble(t, func(w *place) {
				c := w.client(term)
				m := w.keep(c, "self", "1")
				first, _ := m.Latest()
				heal := w.Fake.Cut(c)
				s := w.stands(m, "in, perhaps", func(s members.Status) bool { return s.Suspended })
				if !s.In || s.Token != first.Token || s.Err != nil {
					w.Errorf("suspended, it stands %+v", s)
				}
				if expires {
					if s := w.out(m, coord.ErrExpired); s.Suspended || s.Token != first.Token {
						w.Errorf("expired, it stands %+v", s)
					}
				}
				heal()
				if s := w.stands(m, "in", func(s members.Status) bool { return s.In && !s.Suspended }); (s.Token > first.Token) != expires {
					w.Errorf("back, it stands %+v; at first %+v", s, first)
				}
				w.Must(m.Leave(bg))
			})
		})
	}
}

// What the package returns cannot be changed from outside: its handles have no exported
// fields. A Membership writes with SetData, and delivers its Statuses as a stream does.
func TestHandlesAreOpaque(t *testing.T) {
	for _, handle := range []reflect.Type{reflect.TypeFor[members.Membership](), reflect.TypeFor[members.Group]()} {
		for _, f := range reflect.VisibleFields(handle) {
			if f.IsExported() {
				t.Errorf("%v has the field %s", handle, f.Name)
			}
		}
	}
	bubble(t, func(w *place) {
		m := members.New(w.client(term), dir).Keep(bg, members.Member{ID: "self"})
		select {
		case s := <-m.Updates():
			if !s.In || m.Err() != nil {
				w.Errorf("received %v, %v", s, m.Err())
			}
		case <-m.Done():
			w.Fatal(m.Err())
		}
		if s, ok := m.Latest(); !ok || !s.In {
			w.Errorf("the newest status is %v, %t", s, ok)
		}
		w.Must(m.Leave(bg))
		for s := range m.All() {
			if s.In {
				w.Errorf("in after Leave: %v", s)
			}
		}
		<-m.Done()
		w.WantsOp(m.Err(), "keep", dir+"/self", coord.ErrReleased)
	})
}
