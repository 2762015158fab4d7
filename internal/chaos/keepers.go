package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/history"
	"github.com/zkcoord/zkcoord/lock/leader"
	"github.com/zkcoord/zkcoord/members"
)

// lead keeps a candidacy. In a term it writes and publishes, and then hands the lead on.
func (a *actor) lead() {
	k := leader.New(a.session, leaderPath, leader.Label(a.name)).Keep(a.working, []byte(a.name))
	var last *coord.Hold
	for {
		select {
		case s := <-k.Updates():
			if !s.Leads || s.Hold == last {
				continue
			}
			last = s.Hold
			quiet := a.quiet()
			e := a.event(history.Leader, leaderPath)
			a.note(e, history.Ask, nil)
			if a.run(s.Hold, func(h *holding) { a.term(k, h) }, e) {
				a.done(quiet)
			}
		case <-k.Done():
			return
		}
	}
}

// term leads for a while.
func (a *actor) term(k *leader.Candidacy, h *holding) {
	ctx, cancel := context.WithTimeout(h.Context(a.working), 2*a.Timeout)
	defer cancel()
	a.toil(h)
	_ = k.Publish(ctx, fmt.Appendf(nil, "%s %d", a.name, h.Token())) // if that fails, the term is over
	a.pause(ctx, 100, 1000)
}

// belong keeps a membership, and changes its data, until what follows it ends.
func (a *actor) belong() {
	ms := members.New(a.session, groupPath).Keep(a.looking, members.Member{ID: memberID(a.ID)})
	e := a.event(history.Members, groupPath+"/"+memberID(a.ID))
	a.note(e, history.Ask, nil)
	in := false
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for {
		select {
		case s := <-ms.Updates():
			switch {
			case s.In && !in:
				acquired := e
				acquired.Token = int64(s.Token)
				a.note(acquired, history.Acquired, nil)
			case !s.In && in:
				a.note(e, history.Lost, s.Err)
				a.note(e, history.Released, nil)
				e = a.event(e.Recipe, e.Path)
				a.note(e, history.Ask, nil)
			}
			in = s.In
		case <-again.C:
			if a.working.Err() != nil {
				continue
			}
			quiet := a.quiet()
			ctx, cancel := context.WithTimeout(a.working, a.Timeout)
			if ms.SetData(ctx, fmt.Append(nil, a.cycles)) == nil {
				a.done(quiet)
			}
			cancel()
		case <-a.looking.Done():
			a.note(e, history.Release, nil)
			err := ms.Leave(context.Background())
			a.note(e, history.Released, err)
			return
		}
	}
}

// view follows the members.
func (a *actor) view() {
	group := members.New(a.session, groupPath)
	show := func(v members.View) string {
		text := ""
		for _, m := range v.Members {
			text += fmt.Sprintf("%s=%s ", m.ID, m.Data)
		}
		return text
	}
	stream := group.Watch(a.looking)
	e := a.event(history.Members, groupPath)
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case v := <-stream.Updates():
			a.saw(e, show(v), 0, v.Suspended)
		case <-look.C:
			a.compare(func(ctx context.Context) bool {
				now, err := group.Members(ctx)
				latest, ok := stream.Latest()
				return err == nil && ok && !latest.Suspended && show(now) == show(latest)
			})
		case <-stream.Done():
			return
		}
	}
}

// see follows who leads.
func (a *actor) see() {
	election := leader.New(a.session, leaderPath)
	stream := election.Watch(a.looking)
	e := a.event(history.Leader, leaderPath)
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case v := <-stream.Updates():
			a.saw(e, fmt.Sprintf("%s %d %s", v.Leader.Label, v.Leader.Token, v.Value), 0, v.Suspended)
		case <-look.C:
			a.compare(func(ctx context.Context) bool {
				now, err := election.Leader(ctx)
				latest, ok := stream.Latest()
				return err == nil && ok && !latest.Suspended && now.Has == latest.Has && now.Leader.Token == latest.Leader.Token
			})
		case <-stream.Done():
			return
		}
	}
}

// saw records what a stream shows.
func (a *actor) saw(e history.Event, value string, zxid int64, suspended bool) {
	if suspended {
		a.note(e, history.Suspended, nil)
		return
	}
	e.Value, e.Zxid = value, zxid
	a.note(e, history.Seen, nil)
	a.done(a.quiet())
}

// compare finds out, once nothing changes any more, whether what is followed has come to
// what is stored.
func (a *actor) compare(equal func(ctx context.Context) bool) {
	select {
	case <-a.settling:
	default:
		return
	}
	select {
	case <-a.converged:
		return
	default:
	}
	ctx, cancel := context.WithTimeout(a.looking, a.Timeout)
	defer cancel()
	if equal(ctx) {
		close(a.converged)
	}
}
