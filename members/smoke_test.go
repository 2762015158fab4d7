package members_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/members"
)

func TestSmoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bg := context.Background()
		server := coordtest.NewServer(t)
		a, b := server.Client(t, nil), server.Client(t, nil)
		ga, gb := members.New(a, "/g/x"), members.New(b, "/g/x")
		w := gb.Watch(t.Context())
		show := func() {
			time.Sleep(time.Second)
			v, ok := w.Latest()
			s := ""
			for _, m := range v.Members {
				s += m.ID + "=" + string(m.Data) + " "
			}
			t.Log(ok, s, v.Suspended, v.Err)
		}
		show()
		h := ga.Join(bg, members.Member{ID: "one", Data: []byte("1")})
		if err := h.Wait(); err != nil {
			t.Fatal(err)
		}
		show()
		k := gb.Keep(bg, members.Member{ID: "two", Data: []byte("2")})
		t.Log(<-k.Updates())
		show()
		if err := k.Update(bg, []byte("22")); err != nil {
			t.Fatal(err)
		}
		show()
		dup := gb.Join(bg, members.Member{ID: "one"})
		if err := dup.Wait(); !errors.Is(err, members.ErrTaken) {
			t.Fatal(err)
		}
		t.Log(dup.Err())
		server.Expire(b.Session().ID())
		t.Log(<-k.Updates())
		show()
		t.Log(k.Latest())
		standby := gb.Keep(bg, members.Member{ID: "one", Data: []byte("standby")})
		t.Log(<-standby.Updates())
		h.Release(bg)
		t.Log(<-standby.Updates())
		show()
		heal := server.Stall(b, coordtest.Both)
		time.Sleep(7 * time.Second)
		t.Log(k.Latest())
		heal()
		time.Sleep(time.Second)
		t.Log(k.Latest())
		show()
		t.Log(k.Leave(bg), k.Err(), standby.Leave(bg))
		show()
		t.Log(server.Tree())
		_ = coord.ErrClosed
	})
}
