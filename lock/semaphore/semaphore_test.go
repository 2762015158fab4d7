package semaphore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock/semaphore"
)

func TestSemaphore(t *testing.T) {
	t.Parallel() // it mostly waits
	inBoth(t, basic)
}

var basic = []scenario{
	{"n hold, and the next ones get their permits in order, with tokens that increase", func(w place) {
		const n, total = 3, 7
		var holds []*coord.Hold
		for i := range total {
			c := w.Client(T)
			if i < n {
				holds = append(holds, w.held(c, n))
			} else {
				holds = append(holds, w.waits(bg, c, n, i-n+1))
			}
		}
		for i, h := range holds {
			w.grant(h)
			if j := i + n; j < total {
				w.IsOpen("acquired beyond the permits", holds[j].Acquired())
			}
			if got := len(w.leases()); got != min(n, total-i) {
				w.Errorf("%d leases", got)
			}
			if i > 0 && h.Token() <= holds[i-1].Token() {
				w.Errorf("token %d after %d", h.Token(), holds[i-1].Token())
			}
			w.Must(h.Release(bg))
			if j := i + n; j < total {
				w.grant(holds[j])
			}
		}
	}},
	{"permits are given back in any order", func(w place) {
		const n = 3
		a, b := w.Client(T), w.Client(T)
		holds := []*coord.Hold{w.held(a, n), w.held(a, n), w.held(b, n)}
		next := w.waits(bg, b, n, 1)
		w.Must(holds[1].Release(bg))
		w.grant(next)
		w.Must(holds[0].Err())
		w.Must(holds[2].Err())
		for _, h := range []*coord.Hold{holds[2], next, holds[0]} {
			w.Must(h.Release(bg))
		}
	}},
	{"contenders that disagree about the number are told so", func(w place) {
		a, b := w.Client(T), w.Client(T)
		h := w.held(a, 2)
		for _, n := range []int{1, 3} {
			no := w.sem(b, n).Acquire(bg)
			w.Wants(w.outcome(no), semaphore.ErrPermits)
			w.WantsOp(no.Err(), "acquire", w.Dir, nil, fmt.Sprintf("%d here", n), "2 in the directory")
			w.Wait("done", no.Done())
		}
		w.Must(h.Release(bg))
		if got := w.Get(w.Dir); got != "2" {
			w.Errorf("data %q", got)
		}
	}},
	{"numbers that no semaphore can have end the hold at once, as do bad paths", func(w place) {
		c := w.Client(T)
		for _, n := range []int{0, -1, semaphore.MaxPermits + 1} {
			h := w.sem(c, n).Acquire(bg)
			w.Wait("done", h.Done())
			w.WantsOp(h.Err(), "acquire", w.Dir, semaphore.ErrPermits, fmt.Sprint(n))
			w.WantsOp(w.sem(c, 1).Resize(bg, n), "resize", w.Dir, semaphore.ErrPermits)
		}
		for _, dir := range []string{"", "/", "a", "/a/", "/a//b"} {
			s := semaphore.New(c.Client, dir, 1)
			w.Wants(w.outcome(s.Acquire(bg)), coord.ErrInvalidPath)
			w.Wants(s.Resize(bg, 1), coord.ErrInvalidPath)
			_, err := s.Contenders(bg)
			w.Wants(err, coord.ErrInvalidPath)
			watch := s.Watch(bg)
			w.Wait("end of the watch", watch.Done())
			w.Wants(watch.Err(), coord.ErrInvalidPath)
		}
		if w.Exists(w.Dir) {
			w.Error("the directory was made")
		}
	}},
	{"Do and Run hold a permit during the work", func(w place) {
		a, b := w.Client(T), w.Client(T)
		mine := errors.New("the work went wrong")
		w.Wants(w.sem(a, 1).Do(bg, func(ctx context.Context, h *coord.Hold) error {
			w.Must(ctx.Err())
			w.Eventually("the gate is left", func() bool { return len(w.queue()) == 0 })
			w.Wants(w.outcome(w.sem(b, 1).TryAcquire(bg)), coord.ErrLocked)
			w.Wants(w.outcome(w.sem(a, 1).Acquire(h.Context(bg))), semaphore.ErrNested)
			return mine
		}), mine)
		calls := 0
		w.Must(w.sem(a, 1).Run(bg, func(ctx context.Context, _ *coord.Hold) error {
			if calls++; calls == 1 {
				w.Delete(w.Dir + "/leases/" + w.leases()[0])
				w.Wait("end of the work's ctx", ctx.Done())
				w.Wants(context.Cause(ctx), coord.ErrDeleted)
			}
			return nil
		}))
		if calls != 2 {
			w.Errorf("called %d times", calls)
		}
	}},
	{"a holder may hold another permit", func(w place) {
		a := w.Client(T)
		h := w.held(a, 2)
		more := w.grant(w.sem(a, 2).Acquire(h.Context(bg)))
		w.Must(more.Release(bg))
		w.Must(h.Release(bg))
	}},
	{"the guard lets writes pass only while the permit is held", func(w place) {
		a := w.Client(T)
		write := func(h *coord.Hold) error {
			_, err := a.Txn(bg, h.Guard(), coord.OpSet(w.Dir+"-guarded", nil, -1))
			return err
		}
		h, other := w.held(a, 2), w.held(a, 2)
		w.Create(w.Dir+"-guarded", "")
		late := w.waits(bg, a, 2, 1)
		w.Wants(write(late), coord.ErrNotHeld)
		w.Must(write(h))
		w.Must(h.Release(bg))
		w.Wants(write(h), coord.ErrNotHeld)
		w.Must(write(other))
		w.Must(write(w.grant(late)))
		w.Must(late.Release(bg))
		w.Must(other.Release(bg))
		w.Delete(w.Dir + "-guarded")
	}},
	{"a waiter that gives up, at the gate or behind it, leaves nothing, and the next is not held up", func(w place) {
		a, b, c, d := w.Client(T), w.Client(T), w.Client(T), w.Client(T)
		h := w.held(a, 1)
		cause := errors.New("lost interest")
		ctx1, cancel1 := context.WithCancelCause(bg)
		ctx2, cancel2 := context.WithCancelCause(bg)
		first := w.waits(ctx1, b, 1, 1)
		second := w.waits(ctx2, c, 1, 2)
		third := w.waits(bg, d, 1, 3)
		cancel2(cause)
		w.Wants(w.outcome(second), cause)
		w.Wait("done", second.Done())
		cancel1(cause)
		w.Wants(w.outcome(first), cause)
		w.Wait("done", first.Done())
		w.IsOpen("acquired", third.Acquired())
		if got := len(w.queue()); got != 1 {
			w.Errorf("%d in the queue", got)
		}
		w.Must(h.Release(bg))
		w.grant(third)
		w.Must(third.Release(bg))
	}},
	{"a holder's deletion and revocation are told, and a revoked one keeps its permit until it releases it", func(w place) {
		a, b := w.Client(T), w.Client(T)
		h := w.held(a, 1)
		next := w.waits(bg, b, 1, 1)
		w.Set(w.Dir+"/leases/"+w.leases()[0], "__REVOKE__")
		w.Wait("lost", h.Lost())
		w.Wants(h.Err(), coord.ErrRevoked)
		w.IsOpen("done", h.Done())
		w.IsOpen("acquired", next.Acquired())
		w.Must(h.Release(bg))
		w.grant(next)
		w.Delete(w.Dir + "/leases/" + w.leases()[0])
		w.Wait("lost", next.Lost())
		w.Wants(next.Err(), coord.ErrDeleted)
		w.Wait("done", next.Done())
	}},
	{"a waiter at the gate whose place somebody deletes is told, and the next goes on", func(w place) {
		a, b, c := w.Client(T), w.Client(T), w.Client(T)
		h := w.held(a, 1)
		first := w.waits(bg, b, 1, 1)
		place := w.queue()[0]
		second := w.waits(bg, c, 1, 2)
		w.Delete(w.Dir + "/locks/" + place)
		w.Wants(w.outcome(first), coord.ErrDeleted)
		w.Must(h.Release(bg))
		w.grant(second)
		w.Must(second.Release(bg))
	}},
	{"the end of a session ends what it holds and waits for, and the others go on", func(w place) {
		a, b, c := w.Client(T), w.Client(T), w.Client(T)
		h := w.held(a, 2)
		other := w.held(c, 2)
		first := w.waits(bg, b, 2, 1)
		second := w.waits(bg, c, 2, 2)
		w.Expire(b)
		w.Wants(w.outcome(first), coord.ErrExpired)
		w.Expire(a)
		w.Wait("lost", h.Lost())
		w.Wants(h.Err(), coord.ErrExpired)
		w.grant(second)
		w.Must(other.Err())
		w.Must(other.Release(bg))
		w.Must(second.Release(bg))
	}},
	{"closing the client ends everything at once", func(w place) {
		a, b := w.Client(harness.Long), w.Client(T)
		h := w.held(a, 1)
		first := w.waits(bg, a, 1, 1)
		second := w.waits(bg, b, 1, 2)
		w.Must(a.Close())
		for _, h := range []*coord.Hold{h, first} {
			w.IsClosed("done", h.Done())
			w.Wants(h.Err(), coord.ErrClosed)
		}
		w.Wants(w.outcome(w.sem(a, 1).Acquire(bg)), coord.ErrClosed)
		w.grant(second)
		w.Must(second.Release(bg))
	}},
}
