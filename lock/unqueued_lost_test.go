package lock_test

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock"
)

// claimLosses are what it promises to a holder that loses it, and to the next.
var claimLosses = []scenario{
	{"an expired holder is told, another gets the lock, and the client can go on (R2, R46, R87)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.waits(bg, b, 2)
		stale := harness.Guard(ha)
		w.Expire(a)
		w.Wait("lost", ha.Lost())
		w.Wants(ha.Err(), coord.ErrExpired)
		w.Grant(hb)
		w.Must(ha.Release(bg))
		w.Must(hb.Err())
		_, err := b.Conn().Multi(stale) // R77
		w.Wants(err, zk.ErrNoNode)
		again := w.Acquire(bg, a.Client, w.Dir)
		w.Must(hb.Release(bg))
		w.Grant(again)
		w.Must(again.Release(bg))
	}},
	{"a waiter learns that its own session is over (R26)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.waits(bg, b, 2)
		w.Expire(b)
		w.Wants(w.Outcome(hb), coord.ErrExpired)
		w.IsOpen("lost", hb.Lost())
		w.Must(ha.Release(bg))
	}},
	{"a holder whose znode an operator deletes is told (R19)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		w.Must(w.Op().Delete(w.Dir, -1)) // perhaps before it is followed
		w.Wait("lost", ha.Lost())
		w.Wants(ha.Err(), coord.ErrDeleted)
		w.Wait("done", ha.Done())
		ha = w.Held(a)
		hb := w.waits(bg, b, 2)
		a.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Op == "multi" {
				w.Error("a client that knows that it is not the holder does more than remove its own name")
			}
			return coordtest.Pass
		})
		w.Must(w.Op().Delete(w.Dir, -1))
		w.Wait("lost", ha.Lost())
		w.Grant(hb)
		w.Wait("done", ha.Done())
		a.Link.OnFrame(nil)
		w.Wants(w.write(a, ha), zk.ErrNoNode)
		w.Must(w.write(b, hb))
		w.Must(hb.Release(bg))
	}},
	{"one that acquires is not misled by what its client last saw there", func(w place) {
		c := w.Client(T)
		ctx, cancel := context.WithCancel(bg)
		news := lock.NewUnqueued(c.Client, w.Dir).Watch(ctx)
		for range 50 {
			h := w.Held(c)
			w.Must(h.Err())
			_, err := w.Op().Set(w.Dir, []byte("__REVOKE__"), -1)
			w.Must(err)
			w.Wait("lost", h.Lost()) // so that word of the znode has come
			w.Wants(h.Err(), coord.ErrRevoked)
			w.Must(h.Release(bg))
		}
		cancel()
		w.Wait("end of the stream", news.Done())
		w.Must(w.Held(c).Release(bg)) // uses up the watch that the stream has left
	}},
	{"a holder that does not know that its znode was deleted can neither write nor remove the next one's (R78, R77, R92)", func(w place) {
		a, b := w.Client(10*T), w.Client(10*T)
		ha := w.Held(a)
		hb := w.waits(bg, b, 2)
		heal := a.Link.Stall(coordtest.ToServer)
		released := make(chan error, 1)
		go func() { released <- ha.Release(bg) }() // is under way from now on
		w.Wait("end of the hold", ha.Context(bg).Done())
		w.Must(w.Op().Delete(w.Dir, -1))
		w.Grant(hb)
		guard := harness.Guard(ha)
		_, err := w.Op().Multi(guard)
		w.Wants(err, zk.ErrNoNode)
		heal()
		w.Must(<-released)
		w.Must(w.write(b, hb))
		w.IsOpen("lost", hb.Lost())
		if n := len(w.guards()); !w.Exists(w.Dir) || n != 1 {
			w.Errorf("znode there: %v; %d guards", w.Exists(w.Dir), n)
		}
		w.Must(hb.Release(bg))
	}},
	{"nor that of a program that just creates it (R78)", func(w place) {
		a := w.Client(10 * T)
		ha := w.Held(a)
		heal := a.Link.Stall(coordtest.ToServer)
		released := make(chan error, 1)
		go func() { released <- ha.Release(bg) }()
		w.Wait("end of the hold", ha.Context(bg).Done())
		w.Must(w.Op().Delete(w.Dir, -1))
		_, err := w.Op().Create(w.Dir, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		w.Must(err)
		heal()
		w.Must(<-released)
		if !w.Exists(w.Dir) {
			w.Error("the other's znode is gone")
		}
		w.Must(w.Op().Delete(w.Dir, -1))
	}},
	{"a release whose answer is lost does not remove the next one's znode (R78)", func(w place) {
		a, b := w.Client(10*T), w.Client(10*T)
		ha := w.Held(a)
		hb := w.waits(bg, b, 2)
		heal := make(chan func(), 1)
		a.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Op == "multi" && f.Dir == coordtest.ToClient {
				a.Link.OnFrame(nil)
				heal <- a.Link.Cut()
				return coordtest.HangUp
			}
			return coordtest.Pass
		})
		released := make(chan error, 1)
		go func() { released <- ha.Release(bg) }()
		w.Grant(hb)
		(<-heal)()
		w.Must(<-released)
		w.Must(w.write(b, hb))
		w.IsOpen("lost", hb.Lost())
		w.Must(hb.Release(bg))
	}},
	{"a holder whose name in the directory was deleted by hand cannot write, and can release (R7)", func(w place) {
		a := w.Client(T)
		ha := w.Held(a)
		w.Must(w.Op().Delete(w.Dir+"-guard/"+w.guards()[0], -1))
		w.Wants(w.write(a, ha), zk.ErrNoNode)
		w.Must(ha.Release(bg))
		if w.Exists(w.Dir) {
			w.Error("the znode is still there")
		}
	}},
	{"a holder asked by a revocation is told and keeps others out until released (R39)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.waits(bg, b, 2)
		_, err := w.Op().Set(w.Dir, []byte("__REVOKE__"), -1)
		w.Must(err)
		w.Wait("lost", ha.Lost())
		w.Wants(ha.Err(), coord.ErrRevoked)
		w.IsOpen("done", ha.Done())
		w.IsOpen("acquired", hb.Acquired())
		w.Must(ha.Release(bg))
		w.Wants(ha.Err(), coord.ErrRevoked)
		w.Grant(hb)
		w.Must(hb.Release(bg))
	}},
}
