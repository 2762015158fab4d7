package sim

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/lock/leader"
	"github.com/zkcoord/zkcoord/lock/semaphore"
	"github.com/zkcoord/zkcoord/members"
	"github.com/zkcoord/zkcoord/rwlock"
)

// A view is what a follower of a path sees of those who contend for it, as text.
type view struct {
	Line
	mu  sync.Mutex
	now string // guarded by mu
}

func (v *view) set(now string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.now = now
}

func (v *view) get() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.now
}

// suspended is the text of what may be out of date.
const suspended = "suspended"

// followView follows those who contend for a path, until ctx ends.
func (a *actor) followView(ctx context.Context, recipe string) {
	v := &view{Line: a.Line, now: "nothing yet"}
	a.w.mu.Lock()
	a.w.following = append(a.w.following, v)
	a.w.mu.Unlock()
	switch recipe {
	case "lock":
		watchContenders(ctx, a, v, lock.New(a.Client, a.path()).Watch(ctx))
	case "rwlock":
		watchContenders(ctx, a, v, rwlock.New(a.Client, a.path()).Watch(ctx))
	case "claim":
		watchContenders(ctx, a, v, lock.NewUnqueued(a.Client, a.path()).Watch(ctx))
	case "leader":
		last := coord.Token(0)
		watch(ctx, a, v, leader.New(a.Client, a.path()).Watch(ctx), func(l leader.View) string {
			switch {
			case l.Suspended:
				return suspended
			case !l.Has:
				return ""
			}
			// The token of a leader is that of its place in the queue.
			if l.Leader.Token < last {
				a.w.violate("view went back", "%s: the leader's token is %d after %d", a.Line, l.Leader.Token, last)
			}
			last = l.Leader.Token
			return fmt.Sprintf("%s=%s", l.Leader.Label, l.Value)
		})
	case "semaphore":
		watch(ctx, a, v, semaphore.New(a.Client, a.path(), permits).Watch(ctx), func(s semaphore.View) string {
			if s.Suspended {
				return suspended
			}
			return labels(s.Holders)
		})
	case "members":
		watch(ctx, a, v, members.New(a.Client, a.path()).Watch(ctx), func(m members.View) string {
			if m.Suspended {
				return suspended
			}
			var all []string
			for _, m := range m.Members {
				all = append(all, fmt.Sprintf("%s=%s", m.ID, m.Data))
			}
			return strings.Join(all, " ")
		})
	default:
		a.w.violate("script", "%s: nobody can follow that", a.Line)
	}
	a.w.mu.Lock()
	defer a.w.mu.Unlock()
	for i, other := range a.w.following {
		if other == v {
			a.w.following = append(a.w.following[:i:i], a.w.following[i+1:]...)
			break
		}
	}
}

func watchContenders(ctx context.Context, a *actor, v *view, s *event.Stream[coord.Contention]) {
	watch(ctx, a, v, s, func(c coord.Contention) string {
		if c.Suspended {
			return suspended
		}
		return labels(c.Contenders)
	})
}

func labels(all []coord.Contender) string {
	var text []string
	for _, c := range all {
		text = append(text, c.Label)
	}
	return strings.Join(text, " ")
}

// watch keeps v up to date with what s delivers.
func watch[T any](ctx context.Context, a *actor, v *view, s *event.Stream[T], text func(T) string) {
	for x := range s.All() {
		v.set(text(x))
	}
	a.ends(ctx, s.Err())
}
