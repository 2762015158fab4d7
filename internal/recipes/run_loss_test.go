package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
)

var errMine = errors.New("the work went wrong")

// losses are the ways in which what c holds is lost.
var losses = []struct {
	name string
	do   func(p place, c *harness.Client)
	want error
}{
	{"expiry", func(p place, c *harness.Client) { p.Expire(c) }, coord.ErrExpired},
	{"deletion", func(p place, c *harness.Client) { p.Delete(p.node()) }, coord.ErrDeleted},
	{"revocation", func(p place, c *harness.Client) { p.Set(p.node(), "__REVOKE__") }, coord.ErrRevoked},
}

// A guarantee is one that holds of each lock.
type guarantee struct {
	name string
	run  func(p place)
}

// runs are what is guaranteed of Run and Do.
var runs = []guarantee{
	{"Run calls f again after each loss, whatever f has returned, until it returns with the lock held", func(p place) {
		c, other := p.Client(T), p.Client(harness.Long)
		calls := 0
		var last coord.Token
		p.Must(p.run(bg, c.Client, p.Dir, func(ctx context.Context, h *coord.Hold) error {
			p.Must(ctx.Err())
			if h.Token() <= last {
				p.Errorf("token %d after %d", h.Token(), last)
			}
			last = h.Token()
			n := calls
			if calls++; n == 3*len(losses) {
				return nil
			}
			loss := losses[n%len(losses)]
			loss.do(p, c)
			p.Wait("end of the work after "+loss.name, ctx.Done())
			if cause := context.Cause(ctx); !errors.Is(cause, loss.want) || !coord.IsLost(cause) {
				p.Errorf("%s: the work's ctx ends with %v", loss.name, cause)
			}
			return []error{nil, errMine, ctx.Err()}[n/len(losses)]
		}))
		if want := 3*len(losses) + 1; calls != want {
			p.Errorf("%d calls, want %d", calls, want)
		}
		p.free(other)
	}},
	{"Run ends with f's error, if the lock is held until f returns", func(p place) {
		c, other := p.Client(T), p.Client(harness.Long)
		if err := p.run(bg, c.Client, p.Dir, func(context.Context, *coord.Hold) error { return errMine }); err != errMine {
			p.Errorf("Run = %v", err)
		}
		p.free(other)
	}},
	{"Run goes on waiting after a loss of its place", func(p place) {
		c, other := p.Client(T), p.Client(harness.Long)
		h := p.blocker(bg, other.Client, p.Dir)
		p.Wait("grant", h.Acquired())
		before := len(p.Children(p.Dir))
		back := make(chan error, 1)
		var called atomic.Bool
		go func() {
			back <- p.run(bg, c.Client, p.Dir, func(context.Context, *coord.Hold) error {
				called.Store(true)
				return nil
			})
		}()
		waits := func() { p.Eventually("a waiter", func() bool { return !p.queued || len(p.Children(p.Dir)) > before }) }
		waits()
		over := c.Expired()
		p.Expire(c)
		p.Wait("expiry", over)
		p.Await(c.Client, coord.Connected)
		waits()
		if p.queued {
			own := func() string { // Run's, behind the blocker's
				for _, name := range p.Children(p.Dir) {
					if _, stat, err := p.Op().Get(p.Dir + "/" + name); err == nil && coord.SessionID(stat.EphemeralOwner) == c.Kit().Session().ID() {
						return p.Dir + "/" + name
					}
				}
				return ""
			}
			var node string
			p.Eventually("a waiter of the new session", func() bool { node = own(); return node != "" })
			p.Delete(node)
			p.Eventually("another place", func() bool { now := own(); return now != "" && now != node })
		}
		if called.Load() {
			p.Error("f is called beside the holder")
		}
		p.Must(h.Release(bg))
		if err := <-back; err != nil || !called.Load() {
			p.Errorf("Run = %v; f was called: %v", err, called.Load())
		}
	}},
	{"Run whose ctx ends while it waits leaves, and says why (R5, R61)", func(p place) {
		c, other := p.Client(T), p.Client(harness.Long)
		h := p.blocker(bg, other.Client, p.Dir)
		p.Wait("grant", h.Acquired())
		before := len(p.Children(p.Dir))
		cause := errors.New("lost interest")
		ctx, cancel := context.WithCancelCause(bg)
		back := make(chan error, 1)
		go func() {
			back <- p.run(ctx, c.Client, p.Dir, func(context.Context, *coord.Hold) error { panic("called beside the holder") })
		}()
		p.Eventually("a waiter", func() bool { return !p.queued || len(p.Children(p.Dir)) > before })
		cancel(cause)
		p.Wants(<-back, cause)
		p.Eventually("its znode gone", func() bool { return len(p.Children(p.Dir)) == before })
		p.Must(h.Err())
		p.Must(h.Release(bg))
	}},
	{"Run whose ctx ends while the lock is held tells f, and returns what f does", func(p place) {
		c, other := p.Client(T), p.Client(harness.Long)
		for _, want := range []error{nil, errMine} {
			ctx, cancel := context.WithCancel(bg)
			err := p.run(ctx, c.Client, p.Dir, func(ctx context.Context, _ *coord.Hold) error {
				cancel()
				p.Wait("end of the work", ctx.Done())
				return want
			})
			if err != want {
				p.Errorf("Run = %v, want %v", err, want)
			}
			p.free(other)
		}
	}},
	{"Run whose ctx has ended at a loss does not call f again", func(p place) {
		c, other := p.Client(T), p.Client(harness.Long)
		ctx, cancel := context.WithCancel(bg)
		calls := 0
		err := p.run(ctx, c.Client, p.Dir, func(ctx context.Context, _ *coord.Hold) error {
			calls++
			p.Expire(c)
			p.Wait("end of the work", ctx.Done())
			cancel()
			return nil
		})
		p.Wants(err, context.Canceled)
		if calls != 1 {
			p.Errorf("%d calls", calls)
		}
		p.free(other)
	}},
	{"Run ends when the client is closed, whatever f returns", func(p place) {
		c, other := p.Client(T), p.Client(harness.Long)
		for _, mine := range []error{nil, errMine} {
			err := p.run(bg, c.Client, p.Dir, func(ctx context.Context, _ *coord.Hold) error {
				go c.Close()
				p.Wait("end of the work", ctx.Done())
				return mine
			})
			p.Wants(err, coord.ErrClosed)
			if mine != nil {
				p.Wants(err, mine)
			}
			c = p.Client(T)
		}
		p.Wants(p.run(bg, c.Client, "/a//b", p.noWork), coord.ErrInvalidPath)
		p.Must(c.Close())
		p.Wants(p.run(bg, c.Client, p.Dir, p.noWork), coord.ErrClosed)
		p.free(other)
	}},
	{"Run ends when it is refused, before the work or after it", func(p place) {
		c, other := p.Client(T), p.Client(harness.Long)
		p.free(other) // makes what is above
		dir := p.Dir + "/closed"
		if !p.queued {
			dir = p.Dir + "-closed"
		}
		_, err := p.Op().Create(dir, nil, 0, zk.WorldACL(zk.PermAll&^zk.PermCreate))
		p.Must(err)
		p.Wants(p.run(bg, c.Client, dir+"/lock", p.noWork), zk.ErrNoAuth)
		if p.queued { // an Unqueued's own name may stay, and does not keep it from going on
			_, err = p.Op().SetACL(dir, zk.WorldACL(zk.PermAll&^zk.PermDelete), -1)
			p.Must(err)
			calls := 0
			err = p.run(bg, c.Client, dir, func(ctx context.Context, _ *coord.Hold) error {
				calls++
				p.Set(dir+"/"+p.Children(dir)[0], "__REVOKE__")
				p.Wait("end of the work", ctx.Done())
				return nil
			})
			p.Wants(err, zk.ErrNoAuth) // its own znode would be in its way
			p.Wants(err, coord.ErrRevoked)
			if calls != 1 {
				p.Errorf("%d calls", calls)
			}
			p.Must(c.Close())
			p.Eventually("nobody left", func() bool { return len(p.Children(dir)) == 0 })
		}
		p.Delete(dir)
	}},
	{"Run lets a panic pass, and the lock go", func(p place) {
		c, other := p.Client(T), p.Client(harness.Long)
		func() {
			defer func() {
				if p := recover(); p != errMine {
					panic(p)
				}
			}()
			_ = p.run(bg, c.Client, p.Dir, func(context.Context, *coord.Hold) error { panic(errMine) })
		}()
		p.free(other)
	}},
	{"Do tells of a loss once, beside what the work says of itself (R6)", func(p place) {
		for _, x := range []struct {
			name string
			f    func(context.Context) error
			says string // beside the loss
		}{
			{"nothing", func(context.Context) error { return nil }, ""},
			{"the ctx's error", func(ctx context.Context) error { return ctx.Err() }, ""},
			{"the ctx's cause", func(ctx context.Context) error { return context.Cause(ctx) }, ""},
			{"the cause, in words of its own", func(ctx context.Context) error { return fmt.Errorf("job: %w", context.Cause(ctx)) }, "job: "},
			{"the ctx's error, in words of its own", func(ctx context.Context) error { return fmt.Errorf("job: %w", ctx.Err()) }, "job: context canceled\n"},
			{"an error of its own", func(context.Context) error { return errMine }, errMine.Error() + "\n"},
		} {
			c := p.Client(T)
			err := p.do(bg, c.Client, p.Dir, func(ctx context.Context, _ *coord.Hold) error {
				p.Expire(c)
				p.Wait("end of the work", ctx.Done())
				return x.f(ctx)
			})
			var e *coord.Error
			if !coord.IsLost(err) || !errors.As(err, &e) || e.Op != "lost" || e.Path != p.Dir {
				p.Errorf("%s: %v is no loss of %s", x.name, err, p.Dir)
			}
			loss := fmt.Sprint("lost ", p.Dir, ": ", coord.ErrExpired)
			if text := err.Error(); !strings.HasPrefix(text, x.says+loss) || strings.Count(text, "lost") != 1 || x.says == "" && strings.Contains(text, "\n") {
				p.Errorf("%s: %q, want %q and the loss, %q", x.name, text, x.says, loss)
			}
			p.Must(c.Close())
		}
	}},
}
