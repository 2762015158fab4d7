package members

import (
	"context"
	"errors"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
)

// Members returns the members of g. It waits until a server has answered, or ctx ends,
// whose cause is then in the error.
func (g *Group) Members(ctx context.Context) (View, error) {
	return g.await(ctx, "members", 0)
}

// Find returns the member with this ID, and whether there is one. The answer comes
// from one server, which may be a little behind the others. Find waits until there is
// one, or ctx ends, whose cause is then in the error.
func (g *Group) Find(ctx context.Context, id string) (Member, bool, error) {
	fail := func(err error) (Member, bool, error) {
		return Member{}, false, &coord.Error{Op: "find", Path: g.path(id), Err: err}
	}
	if err := g.check(id); err != nil {
		return fail(err)
	}
	var n coord.Node
	err := g.c.Kit().Retry(ctx, func(s *coord.Session) (err error) {
		n, err = s.Get(ctx, g.path(id))
		return err
	})
	switch {
	case err != nil:
		return fail(err)
	case n.EphemeralOwner == 0:
		return Member{}, false, nil
	}
	return Member{id, n.Data}, true, nil
}

// A Presence is what is known of one member.
type Presence struct {
	Member         // as it is or, if it is not there, as it last was
	Present   bool // it is there
	Suspended bool // the connection is down, and this is what was last known
}

// Follow follows the member with this ID until ctx ends: whether it is there, and its
// data. The stream ends with a [coord.Error] whose cause is ctx's, or
// [coord.ErrClosed], or ZooKeeper's refusal.
func (g *Group) Follow(ctx context.Context, id string) *event.Stream[Presence] {
	if err := g.check(id); err != nil {
		return event.Ended[Presence](&coord.Error{Op: "follow", Path: g.path(id), Err: err})
	}
	return coord.NewStream(ctx, g.c, "follow", g.path(id), func(ctx context.Context, p event.Publisher[Presence]) error {
		last := Presence{Member: Member{ID: id}}
		first := true
		nodes := g.c.Watch(ctx, g.path(id), event.Data) // ends with ctx
		for snap := range nodes.All() {
			now := last
			now.Suspended = snap.Suspended
			if !snap.Suspended {
				if now.Present = snap.Exists && snap.EphemeralOwner != 0; now.Present {
					now.Data = snap.Data
				}
			}
			if first || now.Present != last.Present || now.Suspended != last.Suspended || !same(now.Member, last.Member) {
				p.Publish(now)
			}
			first, last = false, now
		}
		return nodes.Err()
	})
}

// Await waits until there is a member with this ID, and returns it. If ctx ends first,
// its cause is in the error.
func (g *Group) Await(ctx context.Context, id string) (Member, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := g.Follow(ctx, id)
	for m := range s.All() {
		if m.Present && !m.Suspended {
			return m.Member, nil
		}
	}
	return Member{}, &coord.Error{Op: "await", Path: g.path(id), Err: errors.Unwrap(s.Err())}
}

// AwaitN waits until there are at least n members, and returns those that are there
// then. If ctx ends first, its cause is in the error.
func (g *Group) AwaitN(ctx context.Context, n int) (View, error) {
	return g.await(ctx, "awaitn", n)
}

func (g *Group) await(ctx context.Context, op string, n int) (View, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := g.Watch(ctx)
	for v := range s.All() {
		if len(v.Members) >= n && !v.Suspended {
			return v, nil
		}
	}
	return View{}, &coord.Error{Op: op, Path: g.dir, Err: errors.Unwrap(s.Err())}
}
