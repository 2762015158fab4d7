package locktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// A scenario says in its name what is guaranteed, and which requirements that
// answers.
type scenario struct {
	name string
	run  func(w *World)
}

// Scenarios runs the whole table for s, in both worlds.
func Scenarios(t *testing.T, s Subject) {
	Both(t, s, slices.Concat(basic, endings, broken))
}

// ScenariosInBubbles is [Scenarios] for a subject that asks a server for nothing that
// others do not ask a real one for: it has no world on that but in the long form.
func ScenariosInBubbles(t *testing.T, s Subject) {
	if harness.Stress {
		Scenarios(t, s)
		return
	}
	t.Run("fake", func(t *testing.T) {
		each(t, s, slices.Concat(basic, endings, broken), harness.Bubble)
	})
}

// Both runs what is in table for s, in both worlds. As after every scenario, nothing
// may be left.
func Both(t *testing.T, s Subject, table []scenario) {
	harness.Both(t, func(t *testing.T, in harness.Maker) { each(t, s, table, in) })
}

// each runs what is in table for s, each in a world of its own.
func each(t *testing.T, s Subject, table []scenario, in harness.Maker) {
	for _, sc := range table {
		t.Run(sc.name, func(t *testing.T) {
			in(t, func(w *harness.World) {
				world := In(w, s)
				sc.run(world)
				if !w.Failed() {
					world.NothingLeft()
				}
			})
		})
	}
}

var basic = []scenario{
	{"FIFO, tokens increase, one request to take a free lock (R40)", func(w *World) {
		a, b, c := w.Client(T), w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.Queued(bg, b, 2)
		hc := w.Queued(bg, c, 3)
		for i, h := range []*coord.Hold{ha, hb, hc} {
			w.Grant(h)
			if h.Err() != nil || h.Token() == 0 || !h.Until().After(time.Now()) {
				w.Errorf("hold %d: err %v, token %d, until %v", i, h.Err(), h.Token(), h.Until())
			}
			w.Must(h.Release(bg))
			w.IsOpen("lost", h.Lost())
			w.IsClosed("done", h.Done())
			w.Wants(h.Err(), coord.ErrReleased)
		}
		if !(ha.Token() < hb.Token() && hb.Token() < hc.Token()) {
			w.Errorf("tokens %d, %d, %d", ha.Token(), hb.Token(), hc.Token())
		}
	}},
	{"two holds of one client, one session and one path exclude each other (R81, R49)", func(w *World) {
		c := w.Client(T)
		h1 := w.Held(c)
		h2 := w.Behind(c, 2)
		w.IsOpen("second acquired", h2.Acquired())
		w.Wants(w.Outcome(w.Try(bg, c.Client, w.Dir)), coord.ErrLocked)
		w.Must(h1.Release(bg))
		w.Grant(h2)
		w.Must(h2.Release(bg))
	}},
	{"a try is decided by the place in the queue (R61, R50)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		h := w.Try(bg, a.Client, w.Dir)
		w.Grant(h)
		w.alone()
		no := w.Try(bg, b.Client, w.Dir)
		w.Wants(w.Outcome(no), coord.ErrLocked)
		w.Wait("done", no.Done())
		if n := len(w.Children()); n != 1 {
			w.Errorf("%d children after a try that failed", n)
		}
		w.Must(h.Release(bg))
		w.Grant(w.Try(bg, b.Client, w.Dir))
		w.Must(b.Close())
	}},
	{"early, double and concurrent release are harmless (R80, R7, R14)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.Acquire(bg, b.Client, w.Dir)
		back := make(chan error, 3)
		for range cap(back) {
			go func() { back <- hb.Release(bg) }()
		}
		for range cap(back) {
			w.Must(<-back)
		}
		w.Wants(hb.Err(), coord.ErrReleased)
		w.Must(ha.Err())
		w.Must(ha.Release(bg))
		w.Must(ha.Release(bg))
	}},
	{"the guard lets writes pass only while the lock is held (R77)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		early := w.Held(a)
		key := w.Dir + "-guarded"
		_, err := w.Op().Create(key, nil, 0, zk.WorldACL(zk.PermAll))
		w.Must(err)
		defer w.Op().Delete(key, -1)
		write := func(c *Client, h *coord.Hold) error {
			_, err := c.Conn().Multi(harness.Guard(h), &zk.SetDataRequest{Path: key, Version: -1})
			return err
		}
		late := w.Queued(bg, b, 2)
		w.Wants(write(b, late), zk.ErrNoNode)
		w.Must(write(a, early))
		w.Must(early.Release(bg))
		w.Wants(write(a, early), zk.ErrNoNode)
		w.Grant(late)
		w.Must(write(b, late))
		w.Must(late.Release(bg))
	}},
	{"bad paths and finished contexts end the hold at once and leave nothing", func(w *World) {
		c := w.Client(T)
		for _, dir := range []string{"", "relative", "/", "/a/", "/a//b", "/a/../b", "/a\x00", "/\xff"} {
			h := w.Acquire(bg, c.Client, dir)
			err := w.Outcome(h)
			w.Wants(err, coord.ErrInvalidPath)
			w.Wait("done", h.Done())
			if !strings.Contains(err.Error(), fmt.Sprintf("%q", dir)) || !strings.Contains(err.Error(), cmp.Or(w.Verb, "acquire")) {
				w.Errorf("error %q does not name path and operation", err)
			}
		}
		ctx, cancel := context.WithCancelCause(bg)
		cause := errors.New("no longer needed")
		cancel(cause)
		w.Wants(w.Outcome(w.Acquire(ctx, c.Client, w.Dir)), cause)
	}},
	{"the work's context ends with the hold, and with the reason", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		h := w.Held(a)
		work := h.Context(bg)
		w.Must(work.Err())
		w.Must(h.Release(bg))
		w.Wait("end of the work", work.Done())
		w.Wants(context.Cause(work), coord.ErrReleased)
		h = w.Held(b)
		work = h.Context(bg)
		w.Expire(b)
		w.Wait("end of the work", work.Done())
		w.Wants(context.Cause(work), coord.ErrExpired)
		w.Wants(context.Cause(h.Context(bg)), coord.ErrExpired)
	}},
	{"foreign children are ignored, those of other clients respected", func(w *World) {
		c := w.Client(T)
		w.Must(w.Held(c).Release(bg))
		put := func(name string, flags int32) string {
			path, err := w.Op().Create(w.queue()+"/"+name, nil, flags, zk.WorldACL(zk.PermAll))
			w.Must(err)
			return path
		}
		const garbage = "_c_,_c_x,lock-,__lock__,-lock-12,x-lock-99999999999,lock-0000000000x,config,\u00fc"
		for name := range strings.SplitSeq(garbage, ",") {
			put(name, 0)
		}
		for _, foreign := range []string{
			"_c_5b2a8c1e-93d4-4c75-8f1b-0a4de3a1c0f7-lock-", // Curator
			"_c_0123456789abcdef0123456789abcdef-lock-",     // go-zookeeper
			"0123456789abcdef0123456789abcdef__lock__",      // kazoo
		} {
			node := put(foreign, zk.FlagEphemeral|zk.FlagSequence)
			free := func() { w.Delete(node) }
			if len(w.Parts) > 0 {
				held := w.Dir + "/" + w.Parts[0] + "/held"
				w.Create(held, "")
				free = func() {
					w.Delete(held)
					w.Delete(node)
				}
			}
			w.Wants(w.Outcome(w.Try(bg, c.Client, w.Dir)), coord.ErrLocked)
			h := w.Acquire(bg, c.Client, w.Dir)
			w.Eventually("in line", func() bool { return w.Watches() == 2 })
			w.IsOpen("acquired behind "+foreign, h.Acquired())
			free()
			w.Grant(h)
			w.Must(h.Release(bg))
		}
		for name := range strings.SplitSeq(garbage, ",") {
			w.Must(w.Op().Delete(w.queue()+"/"+name, -1))
		}
	}},
}
