package recipes_test

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// holds are what is guaranteed of the Hold that Run and Do give to f.
var holds = []guarantee{
	{"f's guarded write is carried out while the lock is held, and not after its session is lost", func(p place) {
		other := p.Client(harness.Long)
		p.free(other) // makes what is above
		data := p.Dir + "-data"
		_, err := p.Op().Create(data, nil, 0, zk.WorldACL(zk.PermAll))
		p.Must(err)
		for _, do := range p.forms() {
			c := p.Client(T)
			// The write is late: it heeds nothing that tells of the loss.
			write := func(h *coord.Hold, text string) error {
				_, err := c.Txn(bg, h.Guard(), coord.OpSet(data, []byte(text), -1))
				return err
			}
			calls := 0
			err := do.call(bg, c.Client, p.Dir, func(ctx context.Context, h *coord.Hold) error {
				if h.Token() == 0 {
					p.Error("no token")
				}
				p.Must(write(h, "held"))
				if calls++; calls > 1 {
					return nil
				}
				p.Expire(c)
				p.Wait("end of the work", ctx.Done())
				p.Wants(write(h, "lost"), coord.ErrNotHeld)
				return nil
			})
			if (err == nil) != do.repeat || coord.IsLost(err) == do.repeat || (calls == 2) != do.repeat {
				p.Errorf("%s: %v after %d calls", do.name, err, calls)
			}
			got, _, err := p.Op().Get(data)
			if p.Must(err); string(got) != "held" {
				p.Errorf("written: %q", got)
			}
			p.Must(c.Close())
		}
		p.free(other)
		p.Delete(data)
	}},
	{"f that releases the Hold loses nothing: its error is the outcome", func(p place) {
		c, other := p.Client(T), p.Client(harness.Long)
		for _, do := range p.forms() {
			for _, x := range []struct {
				returns func(context.Context) error
				want    error
			}{
				{func(context.Context) error { return nil }, nil},
				{func(context.Context) error { return errMine }, errMine},
				{context.Context.Err, context.Canceled},
			} {
				calls := 0
				err := do.call(bg, c.Client, p.Dir, func(ctx context.Context, h *coord.Hold) error {
					calls++
					p.Must(h.Release(bg))
					p.Wait("end of f's ctx", ctx.Done())
					p.Wants(context.Cause(ctx), coord.ErrReleased)
					p.free(other) // and not in the way of the release that follows
					return x.returns(ctx)
				})
				if err != x.want || calls != 1 {
					p.Errorf("%s: %v after %d calls, want %v after one", do.name, err, calls, x.want)
				}
			}
		}
	}},
	{"f that releases the Hold after a loss does not hide the loss", func(p place) {
		c, other := p.Client(T), p.Client(harness.Long)
		for _, do := range p.forms() {
			calls := 0
			err := do.call(bg, c.Client, p.Dir, func(ctx context.Context, h *coord.Hold) error {
				if calls++; calls == 1 {
					p.Expire(c)
					p.Wait("end of the work", ctx.Done())
				}
				p.Must(h.Release(bg))
				return nil
			})
			if (err == nil) != do.repeat || coord.IsLost(err) == do.repeat || (calls == 2) != do.repeat {
				p.Errorf("%s: %v after %d calls", do.name, err, calls)
			}
		}
		p.free(other)
	}},
}

// A form is Do or Run.
type form struct {
	name   string
	call   doer
	repeat bool // after a loss
}

func (p place) forms() []form { return []form{{"Do", p.do, false}, {"Run", p.run, true}} }
