package lock_test

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/lock"
)

// claimViews are what it says of its holder.
var claimViews = []scenario{
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
		if who.Label != "ada" || who.Session != a.Kit().Session().ID() || who.Token != h.Token() || !who.Holds || !strings.HasSuffix(w.Dir, "/"+who.Node) || who.Since.IsZero() {
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
		shows := func(news *event.Stream[coord.Contention], revoked bool) {
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
	{"a holder that is revoked has its label in the end, though the connection breaks while that is asked for", func(w place) {
		a, b := w.Client(T), w.Client(T)
		h := lock.NewUnqueued(a.Client, w.Dir, lock.Label("ada")).Acquire(bg)
		w.Grant(h)
		_, err := w.Op().Set(w.Dir, []byte("__REVOKE__"), -1)
		w.Must(err)
		var met atomic.Bool
		b.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Dir == coordtest.ToServer && f.Op == "getChildren2" && met.CompareAndSwap(false, true) {
				return coordtest.HangUp
			}
			return coordtest.Pass
		})
		news := lock.NewUnqueued(b.Client, w.Dir).Watch(bg)
		w.Eventually("the label", func() bool {
			q, _ := news.Latest()
			return !q.Suspended && len(q.Contenders) == 1 && q.Contenders[0].Revoked && q.Contenders[0].Label == "ada"
		})
		if !met.Load() {
			w.Error("nobody has asked for the label")
		}
		b.Link.OnFrame(nil)
		w.Must(h.Release(bg))
		w.Must(b.Close())
	}},
}
