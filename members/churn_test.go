package members_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/members"
)

// R27: the first View does not wait for a moment of rest. It comes within a second
// although of 300 members one leaves and another comes each 2 ms, and a request
// takes 1 ms. A member that was there when it was asked for and still is, is in it.
func TestFirstViewInTurmoil(t *testing.T) {
	bubble(t, func(w *place) {
		const many = 300
		for n := range many {
			w.create(dir+"/"+id(n), "", zk.FlagEphemeral, world)
		}
		c := w.client(long)
		w.Fake.LinkOf(c).OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Dir == coordtest.ToServer {
				time.Sleep(time.Millisecond)
			}
			return coordtest.Pass
		})
		began := time.Now()
		views := members.New(c, dir).Watch(w.Context())
		for n := 0; ; n++ {
			select {
			case v := <-views.Updates():
				for i := n; i < many; i++ {
					if _, there := v.Member(id(i)); !there {
						w.Errorf("the first view lacks %s", id(i))
					}
				}
				return
			case <-time.After(2 * time.Millisecond):
			}
			if since := time.Since(began); since > time.Second {
				w.Fatalf("no view after %v", since)
			}
			w.Must(w.Op().Delete(dir+"/"+id(n), -1))
			w.create(dir+"/"+id(many+n), "", zk.FlagEphemeral, world)
		}
	})
}

// Children that may not be read cost little, whatever else happens in the directory:
// each is tried again at ever later listings, up to a minute apart. When one may be
// read it is seen after that.
func TestUnreadableChildren(t *testing.T) {
	bubble(t, func(w *place) {
		const many = 200
		for n := range many {
			w.create(dir+"/"+id(n), "", zk.FlagEphemeral, zk.WorldACL(zk.PermAll&^zk.PermRead))
		}
		c := w.client(long)
		r := w.watch(c, nil)
		w.sees(r, "!")
		reads := w.reads(c)
		w.comeAndGo(r, 50)
		// In these 100 s each is tried some nine times, the pauses doubling from 100 ms.
		if got := reads(); got > 50+12*many {
			w.Errorf("%d readings for %d listings with %d children", got, 100, many)
		}

		_, err := w.Op().SetACL(dir+"/"+id(7), world, -1)
		w.Must(err)
		time.Sleep(time.Minute)
		w.comeAndGo(r, 1)
		w.sees(r, id(7)+"= !")
	})
}

// reads counts from now on how often c asks for data.
func (w *place) reads(c *coord.Client) func() int {
	n := 0
	w.Fake.LinkOf(c).OnFrame(func(f coordtest.Frame) coordtest.Action {
		if f.Dir == coordtest.ToServer && f.Op == "getData" {
			n++
		}
		return coordtest.Pass
	})
	return func() int { w.Fake.LinkOf(c).OnFrame(nil); return n }
}

// comeAndGo has somebody come and go, as often as this, a second apart.
func (w *place) comeAndGo(r *record, times int) {
	w.Helper()
	for range times {
		w.create(dir+"/new", "", zk.FlagEphemeral, world)
		time.Sleep(time.Second)
		v, _ := r.Latest()
		if _, there := v.Member("new"); !there {
			w.Errorf("the member that has come is not seen: %q", say(v))
		}
		w.Must(w.Op().Delete(dir+"/new", -1))
		time.Sleep(time.Second)
	}
}
