package leader_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock/leader"
)

func TestKeep(t *testing.T) {
	t.Parallel()
	inBoth(t, candidacies)
}

// stands waits until k's newest Status is ok, and returns it.
func (w place) stands(k *leader.Candidacy, what string, ok func(leader.Status) bool) (s leader.Status) {
	w.Helper()
	w.Eventually(what, func() bool {
		s, _ = k.Latest()
		return ok(s)
	})
	return s
}

func leads(s leader.Status) bool { return s.Leads }

// leadsAfter returns what reports whether a later term than that of s has begun.
func leadsAfter(s leader.Status) func(leader.Status) bool {
	return func(now leader.Status) bool { return now.Leads && now.Token > s.Token }
}

var candidacies = []scenario{
	{"a candidacy leads again in each session and after each loss, with a greater token, and says so", func(w place) {
		c, o := w.Client(T), w.Client(T)
		view := w.watch(o)
		k := w.election(c).Keep(bg, []byte("value"))
		s := w.stands(k, "leads", leads)
		for _, lose := range []func(){
			func() { w.Expire(c) },
			func() { w.Delete(harness.Guard(s.Hold).Path) },
			func() { w.Set(harness.Guard(s.Hold).Path, "__REVOKE__") },
			func() { w.Must(s.Hold.Release(bg)) },
		} {
			w.Must(s.Hold.Err())
			if s.Err != nil || s.Suspended || s.Hold.Token() != s.Token {
				w.Errorf("leads with %+v", s)
			}
			view.sees(by("value", s.Hold))
			lose()
			w.Wait("end of the term", s.Hold.Done())
			s = w.stands(k, "leads again", leadsAfter(s))
		}
		w.Must(k.Resign(bg))
		w.Wait("end", k.Done())
		w.WantsOp(k.Err(), "keep", w.Dir, coord.ErrReleased)
		last, _ := k.Latest()
		if last.Leads || last.Hold != s.Hold || last.Token != s.Token || !errors.Is(last.Err, coord.ErrReleased) {
			w.Errorf("at last %+v", last)
		}
		w.Must(k.Resign(bg))
		view.sees("nobody")
	}},
	{"what is published is what the slice had then, though it is shown later", func(w place) {
		a, b, o := w.Client(T), w.Client(T), w.Client(T)
		h := w.leads(a, "a")
		k := w.election(b).Keep(bg, nil)
		ctx, cancel := context.WithCancel(bg)
		cancel()
		value := []byte("before")
		w.WantsOp(k.Publish(ctx, value), "publish", w.Dir, context.Canceled)
		copy(value, "after.")
		w.Must(h.Release(bg))
		s := w.stands(k, "leads", leads)
		w.watch(o).sees(by("before", s.Hold))
		w.Must(k.Resign(bg))
	}},
	{"a term that is lost is said to be, with the reason, before anybody else leads", func(w place) {
		a, b := w.Client(T), w.Client(T)
		k := w.election(a).Keep(bg, nil)
		s := w.stands(k, "leads", leads)
		next := w.election(b).Campaign(bg, nil)
		w.Eventually("in line", func() bool { return len(w.Children(w.Dir)) == 2 })
		over := make(chan struct{})
		suspended := false // for less than T: one that looked now and then might miss it
		go func() {
			defer close(over)
			for now := range k.All() {
				suspended = suspended || now.Leads && now.Suspended
				if !now.Leads {
					return
				}
			}
		}()
		up := w.Down(a)
		w.Wait("loss", s.Hold.Lost())
		w.IsOpen("the next leads", next.Acquired())
		w.Wait("word of the loss", over)
		if !suspended {
			w.Error("it was not said to be suspended")
		}
		w.stands(k, "leads no more", func(s leader.Status) bool { return !s.Leads && !s.Suspended && errors.Is(s.Err, coord.ErrExpired) })
		w.Wait("term", next.Acquired())
		up()
		w.Must(next.Release(bg))
		w.stands(k, "leads again", leadsAfter(s))
		w.Must(k.Resign(bg))
	}},
	{"a value is published now or when it leads, and in the terms after that", func(w place) {
		a, b, o := w.Client(T), w.Client(T), w.Client(T)
		view := w.watch(o)
		h := w.leads(b, "b")
		k := w.election(a).Keep(bg, []byte("one"))
		back := make(chan error, 2)
		w.Eventually("in line", func() bool { return len(w.Children(w.Dir)) == 2 })
		brief, cancel := context.WithCancel(bg)
		cancel()
		w.WantsOp(k.Publish(brief, []byte("two")), "publish", w.Dir, context.Canceled)
		go func() { back <- k.Publish(bg, []byte("three")) }()
		view.sees(by("b", h))
		w.Must(h.Release(bg))
		w.Must(<-back)
		s := w.stands(k, "leads", leads)
		view.sees(by("three", s.Hold))
		w.Must(k.Publish(bg, []byte("four")))
		view.sees(by("four", s.Hold))
		w.Expire(a)
		s = w.stands(k, "leads again", leadsAfter(s))
		view.sees(by("four", s.Hold))
		w.WantsOp(k.Publish(bg, make([]byte, 64<<10+1)), "publish", w.Dir, coord.ErrTooLarge)
		w.Must(k.Resign(bg))
		w.WantsOp(k.Publish(bg, nil), "publish", w.Dir, coord.ErrReleased)
	}},
	{"ctx bounds the campaigning: one that leads goes on, and ends with its cause when it leads no more", func(w place) {
		a, b := w.Client(T), w.Client(T)
		cause := errors.New("told to stop")
		ctx, stop := context.WithCancelCause(bg)
		k := w.election(a).Keep(ctx, nil)
		s := w.stands(k, "leads", leads)
		waits := w.election(b).Keep(ctx, nil)
		w.Eventually("in line", func() bool { return len(w.Children(w.Dir)) == 2 })
		stop(cause)
		w.Wait("end of the one that waits", waits.Done())
		w.WantsOp(waits.Err(), "keep", w.Dir, cause)
		w.Must(s.Hold.Err())
		w.IsOpen("the one that leads is over", k.Done())
		w.Delete(harness.Guard(s.Hold).Path)
		w.Wait("end", k.Done())
		w.WantsOp(k.Err(), "keep", w.Dir, cause)
	}},
	{"one that resigns while it waits, or is cut off, leaves nothing; ctx bounds only the wait for that", func(w place) {
		a, b := w.Client(T), w.Client(T)
		h := w.leads(b, "")
		k := w.election(a).Keep(bg, nil)
		w.Eventually("in line", func() bool { return len(w.Children(w.Dir)) == 2 })
		w.Must(k.Resign(bg))
		if n := len(w.Children(w.Dir)); n != 1 {
			w.Errorf("%d candidates after it has resigned", n)
		}
		w.Must(h.Release(bg))
		k = w.election(a).Keep(bg, nil)
		w.stands(k, "leads", leads)
		up := w.Down(a)
		cause := errors.New("in a hurry")
		ctx, cancel := context.WithTimeoutCause(bg, 20*time.Millisecond, cause)
		defer cancel()
		w.WantsOp(k.Resign(ctx), "resign", w.Dir, cause)
		up()
		w.Must(k.Resign(bg))
	}},
	{"a client that is closed ends its candidacies, and the next leads at once", func(w place) {
		a, b := w.Client(harness.Long), w.Client(T)
		k := w.election(a).Keep(bg, nil)
		w.stands(k, "leads", leads)
		next := w.election(b).Campaign(bg, nil)
		w.Eventually("in line", func() bool { return len(w.Children(w.Dir)) == 2 })
		w.Must(a.Close())
		w.IsClosed("done", k.Done())
		w.WantsOp(k.Err(), "keep", w.Dir, coord.ErrClosed)
		w.Wait("term", next.Acquired())
		w.Must(next.Release(bg))
		w.WantsOp(w.election(a).Keep(bg, nil).Err(), "keep", w.Dir, coord.ErrClosed)
	}},
	{"Lead calls its function once a term, and gives the lead up when it returns", func(w place) {
		a, o := w.Client(T), w.Client(T)
		view := w.watch(o)
		calls := 0
		done := errors.New("done")
		w.Wants(w.election(a).Lead(bg, []byte("value"), func(ctx context.Context, h *coord.Hold) error {
			view.sees(by("value", h))
			if calls++; calls == 3 {
				return done
			}
			w.Delete(harness.Guard(h).Path)
			<-ctx.Done()
			w.Wants(context.Cause(ctx), coord.ErrDeleted)
			return nil
		}), done)
		if calls != 3 {
			w.Errorf("called %d times", calls)
		}
		view.sees("nobody")
	}},
}

// A candidate whose place is deleted again and again asks for another, but not all the time.
func TestKeepIsDeletedAgainAndAgain(t *testing.T) {
	harness.Bubble(t, func(hw *harness.World) {
		w := place{hw}
		c := w.Client(T)
		k := w.election(c).Keep(bg, nil)
		w.stands(k, "leads", leads)
		creates := 0
		c.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Dir == coordtest.ToServer && f.Op == "multi" && strings.HasPrefix(f.Path, w.Dir+"/") {
				creates++
			}
			return coordtest.Pass
		})
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			for _, name := range w.Children(w.Dir) {
				_ = w.Op().Delete(w.Dir+"/"+name, -1)
			}
		}
		c.Link.OnFrame(nil)
		if creates < 30 || creates > 300 {
			w.Errorf("%d transactions in a minute", creates)
		}
		w.stands(k, "leads", leads)
		w.Must(k.Resign(bg))
	})
}
