package coordtest_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/lock"
)

// Each fault hits the client that it is meant for and no other.
func TestFaultsByClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := coordtest.NewServer(t)
		ours, theirs := server.Client(t, nil), server.Client(t, nil)
		create := func(c *coord.Client, path string) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := c.Create(ctx, path, nil, coord.Persistent)
			return err
		}
		for name, hurt := range map[string]func() (heal func()){
			"cut":   func() func() { return server.Cut(ours) },
			"stall": func() func() { return server.Stall(ours, coordtest.ToServer) },
		} {
			heal := hurt()
			if create(ours, "/ours-"+name) == nil {
				t.Errorf("%s: a request got through", name)
			}
			if err := create(theirs, "/theirs-"+name); err != nil {
				t.Errorf("%s: the other client: %v", name, err)
			}
			heal()
			if _, err := ours.Kit().Await(t.Context()); err != nil {
				t.Fatal(err)
			}
			// What was under way is answered before this.
			if err := create(ours, "/healed-"+name); err != nil {
				t.Errorf("%s: after the healing: %v", name, err)
			}
		}
		server.LoseReply(ours)
		if err := create(ours, "/lost"); err == nil || ours.Kit().Session().Refused(err) {
			t.Errorf("lost reply: %v, want an error that leaves the outcome open", err)
		}
		if ok, _, err := theirs.Conn().Exists("/lost"); !ok || err != nil {
			t.Errorf("lost reply: the request was not carried out: %v", err)
		}
		if _, err := ours.Kit().Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := create(ours, "/after"); err != nil {
			t.Errorf("after the lost reply: %v", err)
		}
	})
}

// A lost reply is that of what the client asks for, and not of what it asks for by
// itself because it holds something.
func TestLoseReplyOfHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := coordtest.NewServer(t)
		c := server.Client(t, nil)
		h := lock.New(c, "/lock").Acquire(t.Context())
		must(t, h.Wait())
		var renewals atomic.Int64
		server.LinkOf(c).OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Dir == coordtest.ToClient && f.Op == "check" {
				renewals.Add(1)
			}
			return coordtest.Pass
		})
		time.Sleep(c.Kit().Session().Timeout())
		if n := renewals.Load(); n < 3 {
			t.Fatalf("%d renewals in a timeout: this test shows nothing", n)
		}
		server.LoseReply(c)
		time.Sleep(c.Kit().Session().Timeout())
		if _, err := c.Conn().Create("/lost", nil, 0, zk.WorldACL(zk.PermAll)); err == nil {
			t.Error("the reply arrived")
		}
		must(t, h.Release(t.Context()))
	})
}
