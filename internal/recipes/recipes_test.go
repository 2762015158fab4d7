package recipes_test

import (
	"context"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/lock/leader"
	"github.com/zkcoord/zkcoord/lock/semaphore"
	"github.com/zkcoord/zkcoord/members"
	"github.com/zkcoord/zkcoord/members/barrier"
	"github.com/zkcoord/zkcoord/rwlock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(harness.Main(m)) }

var bg = context.Background()

const T = harness.T

// A held is what has been asked for and may be granted.
type held interface {
	Acquired() <-chan struct{}
	Done() <-chan struct{}
	Err() error // nil while it is sought or held
	Release(context.Context) error
	node() string // the full path of the znode that stands for it once it is held
}

// A recipe is one way to hold something at a path.
type recipe struct {
	name    string
	seek    seeker
	queued  bool   // in a directory at the path
	create  string // the request that makes its znode
	blocker seeker // holds it while seek waits; nil: it does not wait
	beside  seeker // can hold it at the same time; nil: nothing can
	member  bool
}

// A seeker begins to acquire something at path for c.
type seeker func(ctx context.Context, c *coord.Client, path string) held

// recipes are all there are.
var recipes = []recipe{
	{name: "Mutex.Acquire", seek: acquire, queued: true, create: "multi", blocker: acquire},
	{name: "Mutex.TryAcquire", queued: true, create: "multi",
		seek: func(ctx context.Context, c *coord.Client, path string) held {
			return hold{lock.New(c, path).TryAcquire(ctx)}
		}},
	{name: "All", queued: true, create: "multi", blocker: acquire,
		seek: func(ctx context.Context, c *coord.Client, path string) held {
			return hold{lock.All(ctx, lock.New(c, path), lock.New(c, path+"-z"))}
		}},
	{name: "RWMutex.AcquireRead", seek: read, queued: true, create: "multi", blocker: write, beside: read},
	{name: "RWMutex.AcquireWrite", seek: write, queued: true, create: "multi", blocker: read},
	{name: "RWMutex.TryAcquireRead", queued: true, create: "multi", beside: read,
		seek: func(ctx context.Context, c *coord.Client, path string) held {
			return hold{rwlock.New(c, path).TryAcquireRead(ctx)}
		}},
	{name: "RWMutex.TryAcquireWrite", queued: true, create: "multi",
		seek: func(ctx context.Context, c *coord.Client, path string) held {
			return hold{rwlock.New(c, path).TryAcquireWrite(ctx)}
		}},
	{name: "RWMutex.AcquireWrite and Downgrade", seek: downgrade, queued: true, create: "multi", blocker: write},
	{name: "Semaphore.Acquire", seek: permit, create: "multi", blocker: permit},
	{name: "Semaphore.TryAcquire", create: "multi",
		seek: func(ctx context.Context, c *coord.Client, path string) held {
			return hold{semaphore.New(c, path, 1).TryAcquire(ctx)}
		}},
	{name: "Election.Campaign", seek: campaign, queued: true, create: "multi", blocker: campaign},
	{name: "Unqueued.Acquire", seek: unqueued, create: "multi", blocker: unqueued},
	{name: "Unqueued.TryAcquire", create: "multi",
		seek: func(ctx context.Context, c *coord.Client, path string) held {
			return hold{lock.NewUnqueued(c, path).TryAcquire(ctx)}
		}},
	{name: "Barrier.Enter", seek: enter("self"), create: "multi", blocker: enter("other")},
	{name: "Group.Join", seek: join, create: "multi", member: true},
	{name: "Group.Keep", create: "multi", member: true, blocker: join,
		seek: func(ctx context.Context, c *coord.Client, path string) held {
			return kept{members.New(c, path).Keep(ctx, members.Member{ID: "self"}), path + "/self"}
		}},
}

func acquire(ctx context.Context, c *coord.Client, path string) held {
	return hold{lock.New(c, path).Acquire(ctx)}
}

func read(ctx context.Context, c *coord.Client, path string) held {
	return hold{rwlock.New(c, path).AcquireRead(ctx)}
}

func write(ctx context.Context, c *coord.Client, path string) held {
	return hold{rwlock.New(c, path).AcquireWrite(ctx)}
}

func campaign(ctx context.Context, c *coord.Client, path string) held {
	return hold{leader.New(c, path).Campaign(ctx, []byte("value"))}
}

func permit(ctx context.Context, c *coord.Client, path string) held {
	return hold{semaphore.New(c, path, 1).Acquire(ctx)}
}

func unqueued(ctx context.Context, c *coord.Client, path string) held {
	return hold{lock.NewUnqueued(c, path).Acquire(ctx)}
}

func join(ctx context.Context, c *coord.Client, path string) held {
	return hold{members.New(c, path).Join(ctx, members.Member{ID: "self"})}
}

// enter enters a barrier for one, as id.
func enter(id string) seeker {
	return func(ctx context.Context, c *coord.Client, path string) held {
		return hold{barrier.New(c, path, 1).Enter(ctx, id)}
	}
}

type hold struct{ *coord.Hold }

func (h hold) node() string { return harness.Guard(h.Hold).Path }

// A halved is a write that is downgraded as soon as it is held.
type halved struct {
	hold
	back chan struct{} // closed when it has been, or is over
}

func downgrade(ctx context.Context, c *coord.Client, path string) held {
	m := rwlock.New(c, path)
	h := halved{hold{m.AcquireWrite(ctx)}, make(chan struct{})}
	go func() {
		defer close(h.back)
		if h.Wait() == nil {
			_ = m.Downgrade(bg, h.Hold) // what it says, Err says too
		}
	}()
	return h
}

func (h halved) Err() error {
	select {
	case <-h.Acquired():
		<-h.back
	default:
	}
	return h.hold.Err()
}

// A kept is a Membership, held as long as it has not been out since it joined.
type kept struct {
	*members.Membership
	path string
}

func (k kept) Acquired() <-chan struct{}         { return k.Joined() }
func (k kept) Release(ctx context.Context) error { return k.Leave(ctx) }
func (k kept) node() string                      { return k.path }

func (k kept) Err() error {
	if err := k.Membership.Err(); err != nil {
		return err
	}
	select {
	case <-k.Joined():
	default:
		return nil
	}
	if s, _ := k.Latest(); !s.In {
		return fmt.Errorf("out: %w", s.Err)
	}
	return nil
}
