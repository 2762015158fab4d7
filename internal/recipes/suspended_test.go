package recipes_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/lock/leader"
	"github.com/zkcoord/zkcoord/lock/semaphore"
	"github.com/zkcoord/zkcoord/members"
	"github.com/zkcoord/zkcoord/rwlock"
)

// A look tells what a stream says last: whether it has said anything, and whether that
// is Suspended.
type look func() (any, suspended bool)

// at returns the look at s.
func at[T any](s *event.Stream[T], suspended func(T) bool) look {
	return func() (bool, bool) {
		v, any := s.Latest()
		return any, any && suspended(v)
	}
}

func contentionSuspended(q coord.Contention) bool { return q.Suspended }

// followers are all that follow something, by what c sees at path.
var followers = []struct {
	name  string
	watch func(c *coord.Client, path string) look
}{
	{"Client.Watch of data", func(c *coord.Client, path string) look {
		return at(c.Watch(bg, path, event.Data), func(s event.Snapshot) bool { return s.Suspended })
	}},
	{"Client.Watch of children", func(c *coord.Client, path string) look {
		return at(c.Watch(bg, path, event.Children), func(s event.Snapshot) bool { return s.Suspended })
	}},
	{"Mutex.Watch", func(c *coord.Client, path string) look { return at(lock.New(c, path).Watch(bg), contentionSuspended) }},
	{"Mutex.Watch of a lock that nobody wants", func(c *coord.Client, path string) look {
		return at(lock.New(c, path+"/none").Watch(bg), contentionSuspended)
	}},
	{"RWMutex.Watch", func(c *coord.Client, path string) look { return at(rwlock.New(c, path).Watch(bg), contentionSuspended) }},
	{"Election.Watch", func(c *coord.Client, path string) look {
		return at(leader.New(c, path+"-election").Watch(bg), func(v leader.View) bool { return v.Suspended })
	}},
	{"Election.Watch of a leader that does not announce itself", func(c *coord.Client, path string) look {
		return at(leader.New(c, path).Watch(bg), func(v leader.View) bool { return v.Suspended })
	}},
	{"Election.Watch where nobody leads", func(c *coord.Client, path string) look {
		return at(leader.New(c, path+"/none").Watch(bg), func(v leader.View) bool { return v.Suspended })
	}},
	{"Semaphore.Watch", func(c *coord.Client, path string) look {
		return at(semaphore.New(c, path+"-semaphore", 1).Watch(bg), func(v semaphore.View) bool { return v.Suspended })
	}},
	{"Semaphore.Watch of permits that nobody wants", func(c *coord.Client, path string) look {
		return at(semaphore.New(c, path+"/none", 1).Watch(bg), func(v semaphore.View) bool { return v.Suspended })
	}},
	{"Unqueued.Watch", func(c *coord.Client, path string) look {
		return at(lock.NewUnqueued(c, path+"-unqueued").Watch(bg), contentionSuspended)
	}},
	{"Unqueued.Watch of a lock that nobody has", func(c *coord.Client, path string) look {
		return at(lock.NewUnqueued(c, path+"/none").Watch(bg), contentionSuspended)
	}},
	{"Group.Watch", func(c *coord.Client, path string) look {
		return at(members.New(c, path+"-group").Watch(bg), func(v members.View) bool { return v.Suspended })
	}},
	{"Group.Follow", func(c *coord.Client, path string) look {
		return at(members.New(c, path+"-group").Follow(bg, "self"), func(p members.Presence) bool { return p.Suspended })
	}},
	{"Value.Watch", func(c *coord.Client, path string) look {
		return at(config.New(c, path, config.Text()).Watch(bg), func(u config.Update[string]) bool { return u.Suspended })
	}},
	{"Tree.Watch", func(c *coord.Client, path string) look {
		return at(config.NewTree(c, path, config.Text()).Watch(bg), func(v config.Values[string]) bool { return v.Suspended })
	}},
}

// An outage is a way in which a client loses its connection, and then its session. While
// it lasts the client has no other.
type outage struct {
	name   string
	begin  func(w *harness.World, c *harness.Client) (end func())
	states []coord.State // that the client goes through
}

var outages = []outage{
	{"cut", func(_ *harness.World, c *harness.Client) func() { return c.Link.Cut() }, []coord.State{coord.Suspended, coord.Expired}},
	{"silence", func(_ *harness.World, c *harness.Client) func() { return c.Link.Stall(coordtest.Both) }, []coord.State{coord.Suspended, coord.Expired}},
	{"expiry", func(w *harness.World, c *harness.Client) func() {
		var over atomic.Bool
		connects := 0
		c.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Op == "connect" && f.Dir == coordtest.ToServer {
				if connects++; connects > 1 && !over.Load() { // the first is told of the expiry
					return coordtest.HangUp
				}
			}
			return coordtest.Pass
		})
		w.Fake.Expire(c.Kit().Session().ID())
		return func() { over.Store(true) }
	}, []coord.State{coord.Expired}},
}

// However a client loses its connection, at the moment at which its State says so every
// stream says Suspended, and once the connection is back none does. (R34, R62.)
func TestStreamsSaySuspendedInTime(t *testing.T) {
	for _, x := range outages {
		t.Run(x.name, func(t *testing.T) {
			harness.Bubble(t, func(w *harness.World) {
				c, other := w.Client(T), w.Client(harness.Long)
				for _, h := range []interface{ Wait() error }{
					lock.New(other.Client, w.Dir).Acquire(bg),
					lock.NewUnqueued(other.Client, w.Dir+"-unqueued").Acquire(bg),
					leader.New(other.Client, w.Dir+"-election").Campaign(bg, nil),
					semaphore.New(other.Client, w.Dir+"-semaphore", 1).Acquire(bg),
					members.New(other.Client, w.Dir+"-group").Join(bg, members.Member{ID: "self"}),
				} {
					w.Must(h.Wait())
				}
				looks := make([]look, len(followers))
				for i, s := range followers {
					looks[i] = s.watch(c.Client, w.Dir)
				}
				say := func(when string, want bool) {
					w.Helper()
					moment := time.Now()
					w.Rest()
					if d := time.Since(moment); d > 0 {
						w.Errorf("%s: it has taken %v to come to rest", when, d)
					}
					for i, s := range followers {
						if any, suspended := looks[i](); !any || suspended != want {
							w.Errorf("%s: %s has said something: %v; says Suspended: %v", when, s.name, any, suspended)
						}
					}
				}
				w.Eventually("every stream has said something", func() bool {
					for _, look := range looks {
						if any, _ := look(); !any {
							return false
						}
					}
					return true
				})
				say("at first", false)
				end := x.begin(w, c)
				for _, state := range x.states {
					w.Await(c.Client, state)
					say(state.String(), true)
				}
				end()
				w.Await(c.Client, coord.Connected)
				w.Eventually("no stream says Suspended", func() bool {
					for _, look := range looks {
						if _, suspended := look(); suspended {
							return false
						}
					}
					return true
				})
			})
		})
	}
}

// A client that has held a lock, and sends others to the holder that its stream names,
// never sends them to itself once it has lost the lock, and in the end to the next
// holder.
func TestNobodyIsSentToAHolderThatIsGone(t *testing.T) {
	for _, l := range []struct {
		name    string
		acquire func(ctx context.Context, c *coord.Client, path string) *coord.Hold
		watch   func(c *coord.Client, path string) *event.Stream[coord.Contention]
	}{
		{"Mutex", func(ctx context.Context, c *coord.Client, path string) *coord.Hold {
			return lock.New(c, path).Acquire(ctx)
		},
			func(c *coord.Client, path string) *event.Stream[coord.Contention] { return lock.New(c, path).Watch(bg) }},
		{"Unqueued", func(ctx context.Context, c *coord.Client, path string) *coord.Hold {
			return lock.NewUnqueued(c, path).Acquire(ctx)
		},
			func(c *coord.Client, path string) *event.Stream[coord.Contention] {
				return lock.NewUnqueued(c, path).Watch(bg)
			}},
		{"RWMutex", func(ctx context.Context, c *coord.Client, path string) *coord.Hold {
			return rwlock.New(c, path).AcquireWrite(ctx)
		},
			func(c *coord.Client, path string) *event.Stream[coord.Contention] {
				return rwlock.New(c, path).Watch(bg)
			}},
	} {
		for _, x := range outages {
			t.Run(l.name+"/"+x.name, func(t *testing.T) {
				harness.Bubble(t, func(w *harness.World) {
					c, other := w.Client(T), w.Client(harness.Long)
					h := l.acquire(bg, c.Client, w.Dir)
					w.Must(h.Wait())
					next := l.acquire(bg, other.Client, w.Dir)
					stream := l.watch(c.Client, w.Dir)
					w.Rest()
					session := c.Kit().Session().ID()
					names := func(q coord.Contention, session coord.SessionID) bool {
						return !q.Suspended && len(q.Contenders) > 0 && q.Contenders[0].Session == session
					}
					if q, _ := stream.Latest(); !names(q, session) {
						w.Fatalf("at first %+v", q)
					}
					end := x.begin(w, c)
					w.Wait("lost", h.Lost())
					w.Rest()
					if q, _ := stream.Latest(); names(q, session) {
						w.Errorf("lost, and the stream says %+v", q)
					}
					for len(stream.Updates()) > 0 {
						<-stream.Updates()
					}
					w.Wait("grant", next.Acquired())
					end()
					for q := range stream.All() {
						if names(q, session) {
							w.Errorf("lost, and the stream says %+v", q)
						}
						if names(q, other.Kit().Session().ID()) {
							break
						}
					}
					w.Must(next.Err())
				})
			})
		}
	}
}
