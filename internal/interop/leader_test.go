package interop

import (
	"context"
	"errors"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/lock/leader"
)

// candidates adds three candidates of ours.
func (x *contest) candidates() {
	x.Helper()
	for range 3 {
		c := x.client()
		x.ours("candidate", true, c, func(ctx context.Context) *coord.Hold {
			return leader.New(c, x.dir).Campaign(ctx, []byte("ours"))
		}, nil)
	}
}

// observed: our observers are shown a leader that does not announce itself, with its id as
// the value, and the next one, which is ours.
func (x *contest) observed(p *peer, what string) {
	c := x.client()
	e := leader.New(c, x.dir)
	views := e.Watch(x.ctx)
	shows := func(value string) {
		x.Helper()
		x.eventually("the observer is shown "+value, func() bool {
			v, _ := views.Latest()
			return v.Has && string(v.Value) == value && v.Leader.Token != 0 && v.Leader.Session != 0
		})
		if v, err := e.Leader(x.ctx); err != nil || string(v.Value) != value {
			x.Errorf("the leader is %+v, %v; want %s", v, err, value)
		}
	}
	p.say(what, x.dir)
	x.hears(p, "enter write")
	x.hears(p, "leave")
	shows("their id") // as it leads until it is told what to do
	h := e.Campaign(x.ctx, []byte("ours"))
	x.queued(c, 2)
	p.say("stop")
	x.held(h)
	x.hears(p, "done")
	shows("ours")
	x.release(h)
}

// refused: where a LeaderLatch leads nobody of ours does, who would not see it nor be
// seen. Whoever asks who leads is told, and all is well when it is gone.
func (x *contest) refused(p *peer) {
	c := x.client()
	e := leader.New(c, x.dir)
	p.say("latch", x.dir)
	x.hears(p, "leads")
	is := func(what string, err error) {
		x.Helper()
		if !errors.Is(err, coord.ErrForeign) {
			x.Errorf("%s: %v", what, err)
		}
	}
	is("a candidate", e.Campaign(x.ctx, nil).Wait())
	k := e.Keep(x.ctx, nil)
	x.eventually("the end of a candidacy", func() bool { return k.Err() != nil })
	is("a candidacy", k.Err())
	is("a Mutex", lock.New(c, x.dir).Acquire(x.ctx).Wait())
	_, err := e.Candidates(x.ctx)
	is("Candidates", err)
	_, err = e.Leader(x.ctx)
	is("Leader", err)
	views := e.Watch(x.ctx)
	x.eventually("the end of an observer", func() bool { return views.Err() != nil })
	is("an observer", views.Err())
	p.say("stop")
	x.hears(p, "done")
	x.queued(c, 0)
	x.release(x.held(e.Campaign(x.ctx, nil)))
}
