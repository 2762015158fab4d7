package lock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/locktest"
	"github.com/zkcoord/zkcoord/lock"
)

var claims = []scenario{
	{"all get it, one at a time, and tokens increase; a free lock costs one request (R40)", func(w place) {
		a := w.Client(T)
		w.Must(w.Held(a).Release(bg)) // so that the directory is there
		var asked atomic.Int32
		a.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Dir == coordtest.ToServer && f.Op == "multi" {
				asked.Add(1)
			}
			if f.Dir == coordtest.ToServer && f.Op != "multi" && f.N != 0 && asked.Load() == 0 {
				w.Errorf("%s before the create", f.Op)
			}
			return coordtest.Pass
		})
		last := w.Held(a)
		if n := asked.Load(); n != 1 {
			w.Errorf("%d transactions", n)
		}
		if _, stat, err := w.Op().Get(w.Dir); err != nil || coord.Token(stat.Czxid) != last.Token() {
			w.Errorf("token %d, znode %+v, %v", last.Token(), stat, err)
		}
		waiting := []*coord.Hold{w.waits(bg, w.Client(T), 2), w.waits(bg, w.Client(T), 3), w.waits(bg, w.Client(T), 4)}
		for len(waiting) > 0 {
			w.Must(last.Err())
			w.Must(last.Release(bg))
			w.IsOpen("lost", last.Lost())
			w.Wants(last.Err(), coord.ErrReleased)
			var next *coord.Hold
			w.Eventually("the next", func() bool {
				for i, h := range waiting {
					select {
					case <-h.Acquired():
						next, waiting = h, slices.Delete(waiting, i, i+1)
						return true
					default:
					}
				}
				return false
			})
			if next.Token() <= last.Token() || !next.Until().After(time.Now()) {
				w.Errorf("token %d after %d, until %v", next.Token(), last.Token(), next.Until())
			}
			last = next
		}
		w.Must(last.Release(bg))
	}},
	{"two holds of one client exclude each other, and do not lose by each other's coming and going (R81, R49)", func(w place) {
		c := w.Client(T)
		h := w.Held(c)
		w.Wants(w.Outcome(w.Try(bg, c.Client, w.Dir)), coord.ErrLocked)
		for range 50 {
			next := w.Acquire(bg, c.Client, w.Dir)
			w.Must(w.write(c, h))
			w.Must(h.Err())
			w.IsOpen("second acquired", next.Acquired())
			w.Must(h.Release(bg))
			w.Grant(next)
			h = next
		}
		w.Must(h.Release(bg))
	}},
	{"a try is decided by the ensemble's answer (R61, R50)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		h := w.Try(bg, a.Client, w.Dir)
		w.Grant(h)
		no := w.Try(bg, b.Client, w.Dir)
		w.Wants(w.Outcome(no), coord.ErrLocked)
		w.Wait("done", no.Done())
		w.Must(h.Release(bg))
		h = w.Try(bg, b.Client, w.Dir)
		w.Grant(h)
		w.Must(h.Release(bg))
	}},
	{"early, double and concurrent release are harmless (R80, R7, R14)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		ha, hb := w.Held(a), w.Acquire(bg, b.Client, w.Dir)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if err := hb.Release(bg); err != nil {
					w.Error(err)
				}
			})
		}
		wg.Wait()
		w.Wants(hb.Err(), coord.ErrReleased)
		w.Must(ha.Err())
		w.Must(ha.Release(bg))
		again := w.Held(b)
		w.Must(ha.Release(bg))
		w.Must(again.Err())
		w.Must(again.Release(bg))
	}},
	{"bad paths, bad labels and finished contexts end the hold at once", func(w place) {
		c := w.Client(T)
		for _, path := range []string{"", "relative", "/", "/a/", "/a//b", "/a/../b", "/\xff"} {
			h := w.Acquire(bg, c.Client, path)
			w.Wants(w.Outcome(h), coord.ErrInvalidPath)
			if text := h.Err().Error(); !strings.HasPrefix(text, "acquire") || !strings.Contains(text, fmt.Sprintf("invalid path %q", path)) {
				w.Errorf("error %q", h.Err())
			}
			_, _, err := lock.NewUnqueued(c.Client, path).Holder(bg)
			w.Wants(err, coord.ErrInvalidPath)
		}
		for _, label := range []string{"__REVOKE__", strings.Repeat("x", 1025)} {
			if w.Outcome(lock.NewUnqueued(c.Client, w.Dir, lock.Label(label)).Acquire(bg)) == nil {
				w.Errorf("label %.20q accepted", label)
			}
		}
		ctx, cancel := context.WithCancelCause(bg)
		cause := errors.New("no longer needed")
		cancel(cause)
		w.Wants(w.Outcome(w.Acquire(ctx, c.Client, w.Dir)), cause)
	}},
	{"a refusal by the ensemble is the cause", func(w place) {
		c := w.Client(T)
		w.Must(w.Held(c).Release(bg)) // so that the directory above is there
		_, err := w.Op().Create(w.Dir+"-closed", nil, 0, zk.WorldACL(zk.PermRead))
		w.Must(err)
		w.Wants(w.Outcome(w.Acquire(bg, c.Client, w.Dir+"-closed/lock")), zk.ErrNoAuth)
		w.Must(w.Op().Delete(w.Dir+"-closed", -1))
		h := w.Held(c)
		w.Wants(w.Outcome(w.Acquire(bg, c.Client, w.Dir+"/below")), zk.ErrNoChildrenForEphemerals)
		w.Must(h.Release(bg))
	}},
	{"a waiter that is canceled leaves nothing, and ctx does not govern the holding (R5)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		ctx, cancel := context.WithCancelCause(bg)
		ha := w.Acquire(ctx, a.Client, w.Dir)
		w.Grant(ha)
		hb := w.waits(ctx, b, 2)
		cause := errors.New("lost interest")
		cancel(cause)
		w.Wants(w.Outcome(hb), cause)
		w.Wait("done", hb.Done())
		w.IsOpen("lost", hb.Lost())
		w.Must(ha.Err())
		if n := len(w.guards()); n != 1 {
			w.Errorf("%d guards", n)
		}
		w.Must(ha.Release(bg))
	}},
	{"wait returns nil exactly if held, though canceled at the moment of the grant (R74)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		for range 20 {
			ha := w.Held(a)
			ctx, cancel := context.WithCancel(bg)
			hb := w.Acquire(ctx, b.Client, w.Dir)
			go ha.Release(bg)
			go cancel()
			if err := w.Outcome(hb); err != nil {
				w.Wants(err, context.Canceled)
				w.IsOpen("acquired", hb.Acquired())
			} else {
				w.Must(hb.Release(bg))
			}
			w.Wait("done", ha.Done())
			w.Wait("done", hb.Done())
		}
	}},
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
	{"whatever is at the path keeps everyone out, and Holder shows it", func(w place) {
		c := w.Client(T)
		w.Must(w.Held(c).Release(bg)) // so that the directory above is there
		_, err := w.Op().Create(w.Dir, []byte("closed for the move"), 0, zk.WorldACL(zk.PermAll))
		w.Must(err)
		h := w.waits(bg, c, 1)
		w.Wants(w.Outcome(w.Try(bg, c.Client, w.Dir)), coord.ErrLocked)
		who, held, err := lock.NewUnqueued(c.Client, w.Dir).Holder(bg)
		if !held || err != nil || who.Session != 0 || who.Label != "closed for the move" {
			w.Errorf("holder %+v, %v, %v", who, held, err)
		}
		w.Must(w.Op().Delete(w.Dir, -1))
		w.Grant(h)
		w.Must(h.Release(bg))
	}},
	{"Holder and Watch tell who holds", func(w place) {
		a, b := w.Client(T), w.Client(T)
		u := lock.NewUnqueued(a.Client, w.Dir, lock.Label("ada"))
		look := lock.NewUnqueued(b.Client, w.Dir)
		if who, held, err := look.Holder(bg); held || err != nil || who != (coord.Contender{}) {
			w.Errorf("holder %+v, %v, %v", who, held, err)
		}
		ctx, cancel := context.WithCancel(bg)
		news := look.Watch(ctx)
		next := func() (who coord.Contender) {
			w.Helper()
			select {
			case q := <-news.Updates():
				if q.Suspended || len(q.Contenders) > 1 {
					w.Errorf("news %+v", q)
				}
				for _, who = range q.Contenders {
				}
				return who
			case <-time.After(time.Minute):
				w.Fatal("no news")
				panic("unreachable")
			}
		}
		if who := next(); who != (coord.Contender{}) {
			w.Errorf("at first %+v", who)
		}
		h := u.Acquire(bg)
		w.Grant(h)
		who := next()
		if who.Label != "ada" || who.Session != a.Kit().Session().ID() || who.Token != h.Token() || !strings.HasSuffix(w.Dir, "/"+who.Node) || who.Since.IsZero() {
			w.Errorf("news %+v of token %d", who, h.Token())
		}
		if now, held, err := look.Holder(bg); !held || err != nil || now != who {
			w.Errorf("holder %+v, %v, %v", now, held, err)
		}
		w.Must(h.Release(bg))
		if who := next(); who != (coord.Contender{}) {
			w.Errorf("at last %+v", who)
		}
		cancel()
		w.Wait("end of the stream", news.Done())
		w.Wants(news.Err(), context.Canceled)
		w.Must(b.Close())
		news = look.Watch(bg)
		w.Wait("end of the stream", news.Done())
		w.Wants(news.Err(), coord.ErrClosed)
	}},
	{"a holder that is revoked is shown as such, with its label", func(w place) {
		a, b := w.Client(T), w.Client(T)
		look := lock.NewUnqueued(b.Client, w.Dir)
		ctx, cancel := context.WithCancel(bg)
		defer cancel()
		before := look.Watch(ctx)
		h := lock.NewUnqueued(a.Client, w.Dir, lock.Label("ada")).Acquire(bg)
		w.Grant(h)
		shows := func(news *event.Stream[coord.Queue], revoked bool) {
			w.Helper()
			w.Eventually("who holds", func() bool {
				q, _ := news.Latest()
				return len(q.Contenders) == 1 && q.Contenders[0].Label == "ada" && q.Contenders[0].Revoked == revoked && q.Contenders[0].Token == h.Token()
			})
		}
		shows(before, false)
		_, err := w.Op().Set(w.Dir, []byte("__REVOKE__"), -1)
		w.Must(err)
		shows(before, true)
		shows(look.Watch(ctx), true)
		if who, _, err := look.Holder(bg); err != nil || who.Label != "ada" || !who.Revoked {
			w.Errorf("holder %+v, %v", who, err)
		}
		w.Must(h.Release(bg))
		_, err = w.Op().Create(w.Dir, []byte("__REVOKE__"), 0, zk.WorldACL(zk.PermAll)) // nobody's
		w.Must(err)
		if who, _, err := look.Holder(bg); err != nil || who.Label != "" || !who.Revoked {
			w.Errorf("holder %+v, %v", who, err)
		}
		w.Must(w.Op().Delete(w.Dir, -1))
		w.Must(b.Close())
	}},
	{"holders and waiters survive a reset of their connection (R86, R45, R52)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.waits(bg, b, 2)
		for range 3 {
			w.Down(a)()
			w.Down(b)()
		}
		w.Must(ha.Err())
		w.IsOpen("acquired", hb.Acquired())
		w.Must(w.write(a, ha))
		w.Must(ha.Release(bg))
		w.Grant(hb)
		w.Must(hb.Release(bg))
	}},
	{"a waiter that is cut off while the lock is freed gets it when it is back (R45, R11)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.waits(bg, b, 2)
		up := w.Down(b)
		w.Must(ha.Release(bg))
		w.IsOpen("acquired", hb.Acquired())
		up()
		w.Grant(hb)
		w.Must(hb.Release(bg))
	}},
	{"a holder whose znode becomes another's while it is cut off is told when it is back (R20, R1)", func(w place) {
		a, b := w.Client(10*T), w.Client(10*T)
		ha := w.Held(a)
		hb := w.waits(bg, b, 2)
		up := w.Down(a)
		w.Must(w.Op().Delete(w.Dir, -1))
		w.Grant(hb)
		up()
		w.Wait("lost", ha.Lost())
		w.Wants(ha.Err(), coord.ErrDeleted)
		w.Wait("done", ha.Done())
		w.Must(w.write(b, hb))
		w.Must(hb.Release(bg))
	}},
	{"a release while cut off goes on in the background, and ctx bounds only the wait for it (R7, R43, R61)", func(w place) {
		a, b := w.Client(10*T), w.Client(10*T)
		ha := w.Held(a)
		hb := w.waits(bg, b, 2)
		up := w.Down(a)
		cause := errors.New("in a hurry")
		ctx, cancel := context.WithTimeoutCause(bg, 20*time.Millisecond, cause)
		defer cancel()
		began := time.Now()
		w.Wants(ha.Release(ctx), cause)
		if d := time.Since(began); d > time.Second {
			w.Errorf("release took %v", d)
		}
		w.Wants(ha.Err(), coord.ErrReleased)
		w.IsOpen("acquired", hb.Acquired())
		up()
		w.Grant(hb)
		w.Must(ha.Release(bg))
		w.Must(hb.Release(bg))
	}},
	{"a lost create that was carried out is found, and one that was not is made again (R4, R60)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		w.Must(w.Held(b).Release(bg))
		for _, lost := range []coordtest.Direction{coordtest.ToServer, coordtest.ToClient} {
			for _, cancels := range []bool{false, true} {
				ctx, cancel := context.WithCancel(bg)
				met := false
				a.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
					if !met && f.Op == "multi" && f.Dir == lost {
						met = true
						if cancels {
							cancel()
						}
						return coordtest.HangUp
					}
					return coordtest.Pass
				})
				h := w.Acquire(ctx, a.Client, w.Dir)
				if cancels {
					w.Wants(w.Outcome(h), context.Canceled)
					w.Wait("done", h.Done())
					if w.Exists(w.Dir) || len(w.guards()) > 0 {
						w.Error("znodes left")
					}
					continue
				}
				w.Grant(h)
				if _, stat, err := w.Op().Get(w.Dir); err != nil || coord.Token(stat.Czxid) != h.Token() || len(w.guards()) != 1 {
					w.Errorf("token %d, znode %+v, %d guards, %v", h.Token(), stat, len(w.guards()), err)
				}
				w.Must(h.Release(bg))
				cancel()
			}
		}
		a.Link.OnFrame(nil)
	}},
	{"what is asked for while cut off does not happen in the next session (R91, R95)", func(w place) {
		a := w.Client(T)
		held := w.Held(a)
		heal := a.Link.Stall(coordtest.Both)
		late := w.Acquire(bg, a.Client, w.Dir)
		w.Wait("lost", held.Lost())
		heal()
		w.Wants(w.Outcome(late), coord.ErrExpired)
		w.Wait("done", late.Done())
		_, err := a.Kit().Await(bg)
		w.Must(err)
		w.Eventually("old znodes gone", func() bool { return !w.Exists(w.Dir) && len(w.guards()) == 0 })
	}},
	{"a holder that is cut off is told before another gets the lock (R2, R21, R85, R16)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.waits(bg, b, 2)
		heal := a.Link.Stall(coordtest.Both)
		select {
		case <-ha.Lost():
		case <-hb.Acquired():
			w.Error("granted before the holder was told")
		}
		w.Wait("lost", ha.Lost())
		w.Wants(ha.Err(), coord.ErrExpired)
		w.Grant(hb)
		w.Must(hb.Release(bg))
		heal()
	}},
	{"closing loses the hold, frees the lock at once and ends the waiting (R28, R47)", func(w place) {
		a, b := w.Client(10*T), w.Client(T)
		ha, wait, hb := w.Held(a), w.Acquire(bg, a.Client, w.Dir), w.Acquire(bg, b.Client, w.Dir)
		began := time.Now()
		w.Must(a.Close())
		for _, h := range []*coord.Hold{ha, wait, w.Acquire(bg, a.Client, w.Dir)} {
			w.Wants(h.Err(), coord.ErrClosed)
			select {
			case <-h.Done():
			default:
				w.Error("not done")
			}
		}
		w.Grant(hb)
		if d := time.Since(began); d > 10*time.Second {
			w.Errorf("granted only after %v", d)
		}
		w.Must(hb.Release(bg))
		for range 5 { // at any moment
			c := w.Client(T)
			w.Acquire(bg, c.Client, w.Dir)
			w.Must(c.Close())
		}
	}},
}

// TestUnqueued runs the scenarios in both worlds.
func TestUnqueued(t *testing.T) {
	t.Parallel()
	inBoth(t, unqueued, claims, clean)
}

// TestUnqueuedHerd counts the events at a release: one client hears of it once,
// however many of its goroutines wait, and of the next holder's coming at most
// once. It also shows what a herd asks for. (R88.)
func TestUnqueuedHerd(t *testing.T) {
	const clients, holds = 4, 5
	locktest.OnReal(t, unqueued, func(w *locktest.World) {
		p := place{w}
		last := w.Held(w.Client(10 * T))
		var events [clients]atomic.Int32
		var requests atomic.Int32
		waiting := make(map[*coord.Hold]bool)
		for i := range clients {
			c := w.Client(10 * T)
			for range holds {
				waiting[p.waits(bg, c, i+2)] = true
			}
			c.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
				switch {
				case f.Op == "event":
					events[i].Add(1)
				case f.Dir == coordtest.ToServer && f.N != 0:
					requests.Add(1)
				}
				return coordtest.Pass
			})
		}
		for round := range 5 {
			p.Must(last.Release(bg))
			w.Eventually("the next", func() bool {
				for h := range waiting {
					select {
					case <-h.Acquired():
						last = h
						delete(waiting, h)
						return true
					default:
					}
				}
				return false
			})
			w.Eventually("all wait again", func() bool { return w.Watches() == clients })
			for i := range events {
				if n := events[i].Swap(0); n < 1 || n > 2 {
					t.Errorf("round %d: %d events for client %d", round, n, i)
				}
			}
			t.Logf("%d requests of %d waiters in %d clients", requests.Swap(0), len(waiting)+1, clients)
		}
		for h := range waiting {
			p.Must(h.Release(bg))
		}
		p.Must(last.Release(bg))
		clean(p)
	})
}

// TestUnqueuedCycles: after any number of acquisitions, on one path and on as
// many, there is no watch left on the server, and no znode. (R12, R42, R65, R14.)
func TestUnqueuedCycles(t *testing.T) {
	t.Parallel()
	locktest.OnReal(t, unqueued, func(w *locktest.World) {
		p := place{w}
		clients := []*locktest.Client{w.Client(10 * T), w.Client(10 * T)}
		var inside atomic.Int32
		var last atomic.Int64
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for range 250 {
					h := w.Acquire(bg, clients[i%2].Client, w.Dir)
					if err := h.Wait(); err != nil {
						t.Errorf("cycle: %v", err)
						return
					}
					if inside.Add(1) != 1 {
						t.Error("two holders")
					}
					if n := int64(h.Token()); last.Swap(n) >= n {
						t.Errorf("token %d not above the last one", n)
					}
					inside.Add(-1)
					if err := h.Release(bg); err != nil {
						t.Errorf("release: %v", err)
					}
				}
			})
		}
		wg.Wait()
		clean(p)
		for i := range 100 {
			h := w.Acquire(bg, clients[0].Client, fmt.Sprint(w.Dir, "-", i))
			w.Grant(h)
			p.Must(h.Release(bg))
		}
		w.Eventually("no watch left", func() bool { return w.Watches() == 0 })
	})
}

// TestUnqueuedNoOverlap cuts holders off and lets the links heal before the
// ensemble ends the sessions, and after. (R2, R16, R21, R85.)
func TestUnqueuedNoOverlap(t *testing.T) {
	t.Parallel()
	locktest.OnReal(t, unqueued, func(w *locktest.World) {
		dir := w.Dir
		var wg sync.WaitGroup
		for i := range 12 {
			v := locktest.In(w.At(fmt.Sprint(dir, "-", i)), unqueued)
			a, b := w.Client(T), w.Client(T)
			wg.Go(func() {
				p := place{v}
				ha := v.Held(a)
				hb := v.Acquire(bg, b.Client, v.Dir)
				<-time.After(time.Duration(i) * T / 60) // at another phase of the heartbeats each time
				var heal func()
				switch i % 3 {
				case 0:
					heal = a.Link.Stall(coordtest.Both)
				case 1:
					heal = a.Link.Stall(coordtest.ToServer)
				case 2:
					heal = a.Link.Cut()
				}
				if i%2 == 0 {
					defer time.AfterFunc(T*4/5, heal).Stop() // the lease is over, the session is not
				}
				select {
				case <-ha.Lost():
				case <-hb.Acquired():
					t.Error("granted before the holder was told")
				}
				p.Wants(ha.Err(), coord.ErrExpired)
				v.Grant(hb)
				heal()
				again := v.Acquire(bg, a.Client, v.Dir)
				p.Must(hb.Release(bg))
				v.Grant(again)
				if !(ha.Token() < hb.Token() && hb.Token() < again.Token()) {
					t.Errorf("tokens %d, %d, %d", ha.Token(), hb.Token(), again.Token())
				}
				p.Must(again.Release(bg))
			})
		}
		wg.Wait()
	})
}
