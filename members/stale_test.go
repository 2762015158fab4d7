package members_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/members"
	"github.com/zkcoord/zkcoord/rwlock"
)

// A grip waits until c holds something at dir.
type grip func(c *coord.Client, dir string) (*coord.Hold, error)

// alone returns what waits until c holds as f has it, and how to end that.
func (f grip) alone(c *coord.Client, dir string) (*coord.Hold, func(context.Context) error, error) {
	h, err := f(c, dir)
	return h, h.Release, err
}

// guarded are the recipes whose Hold has a Guard.
var guarded = []struct {
	name string
	hold grip
	// next waits until c holds what nobody can beside that. What it returns is nil if
	// there is no Hold of it.
	next func(c *coord.Client, dir string) (*coord.Hold, func(context.Context) error, error)
	// node is the znode that an operator deletes to have the next one hold.
	node func(h *coord.Hold, dir string) string
}{
	{"Mutex", acquire, grip(acquire).alone, its},
	{"Unqueued", take, grip(take).alone, func(_ *coord.Hold, dir string) string { return dir }},
	{"RWMutex, writing", write, grip(write).alone, its},
	{"RWMutex, reading", lockToRead, grip(write).alone, its},
	{"RWMutex, downgraded", downgrade, grip(write).alone, its},
	{"Group.Join", join, grip(join).alone, member},
	{"Group.Join before Group.Keep", join, keep, member},
}

func acquire(c *coord.Client, dir string) (*coord.Hold, error) {
	h := lock.New(c, dir).Acquire(bg)
	return h, h.Wait()
}

func take(c *coord.Client, dir string) (*coord.Hold, error) {
	h := lock.NewUnqueued(c, dir).Acquire(bg)
	return h, h.Wait()
}

func lockToRead(c *coord.Client, dir string) (*coord.Hold, error) {
	h := rwlock.New(c, dir).AcquireRead(bg)
	return h, h.Wait()
}

func downgrade(c *coord.Client, dir string) (*coord.Hold, error) {
	m := rwlock.New(c, dir)
	h := m.AcquireWrite(bg)
	return h, errors.Join(h.Wait(), m.Downgrade(bg, h))
}

func keep(c *coord.Client, dir string) (*coord.Hold, func(context.Context) error, error) {
	m := members.New(c, dir).Keep(bg, members.Member{ID: "self"})
	select {
	case <-m.Joined():
		return nil, m.Leave, nil
	case <-m.Done():
		return nil, m.Leave, m.Err()
	}
}

func write(c *coord.Client, dir string) (*coord.Hold, error) {
	h := rwlock.New(c, dir).AcquireWrite(bg)
	return h, h.Wait()
}

// join waits until nobody else has the ID.
func join(c *coord.Client, dir string) (*coord.Hold, error) {
	g := members.New(c, dir)
	for {
		h := g.Join(bg, members.Member{ID: "self"})
		err := h.Wait()
		if !errors.Is(err, members.ErrTaken) {
			return h, err
		}
		ctx, stop := context.WithCancel(bg)
		for s := range g.Follow(ctx, "self").All() {
			if !s.Present && !s.Suspended {
				break
			}
		}
		stop()
	}
}

// its returns the znode that stands for h, for recipes with one only.
func its(h *coord.Hold, _ string) string { return harness.Guard(h).Path }

func member(_ *coord.Hold, dir string) string { return dir + "/self" }

// fates are how a holder becomes a stale one. Each returns the next holder.
var fates = []struct {
	name string
	term time.Duration // of the holder's session
	meet func(w *harness.World, c *harness.Client, h *coord.Hold, node string) (next *harness.Client)
}{
	{"it has released", harness.T, func(w *harness.World, _ *harness.Client, h *coord.Hold, _ string) *harness.Client {
		if err := h.Release(bg); err != nil {
			w.Error(err)
		}
		return w.Client(harness.T)
	}},
	{"the ensemble has ended its session", harness.T, func(w *harness.World, c *harness.Client, _ *coord.Hold, _ string) *harness.Client {
		w.Expire(c)
		return w.Client(harness.T)
	}},
	{"its client has given its session up", harness.T, func(w *harness.World, c *harness.Client, h *coord.Hold, _ string) *harness.Client {
		heal := c.Link.Stall(coordtest.Both)
		w.Wait("loss", h.Lost())
		heal() // before the ensemble ends the session
		return c
	}},
	{"its znode was deleted by hand", harness.T, func(w *harness.World, c *harness.Client, h *coord.Hold, node string) *harness.Client {
		if err := w.Op().Delete(node, -1); err != nil {
			w.Fatal(err)
		}
		w.Wait("loss", h.Lost())
		return c
	}},
	{"its znode was deleted by hand while it is cut off", 10 * harness.T, func(w *harness.World, c *harness.Client, _ *coord.Hold, node string) *harness.Client {
		w.Cleanup(c.Link.Stall(coordtest.Both))
		if err := w.Op().Delete(node, -1); err != nil {
			w.Fatal(err)
		}
		return w.Client(harness.T)
	}},
}

// TestStaleGuard: of no recipe does a stale holder's guard let anything pass once
// somebody else holds, in whatever way it has lost, however many have held since;
// and the guard of the holder does. (R77, R92)
func TestStaleGuard(t *testing.T) {
	for _, world := range []struct {
		name   string
		in     harness.Maker
		rounds int
	}{{"fake", harness.Bubble, 3}, {"real", harness.OnReal, 1}} {
		for _, kind := range guarded {
			for _, fate := range fates {
				t.Run(world.name+"/"+kind.name+"/"+fate.name, func(t *testing.T) {
					if world.name == "real" {
						t.Parallel() // they mostly wait
					}
					world.in(t, func(w *harness.World) {
						passes := func(h *coord.Hold) error {
							_, err := w.Op().Multi(harness.Guard(h), &zk.SetDataRequest{Path: "/", Version: -1})
							return err
						}
						var stale []*coord.Hold
						for range world.rounds {
							c := w.Client(fate.term)
							h, err := kind.hold(c.Client, w.Dir)
							if err != nil {
								t.Fatal(err)
							}
							if err := passes(h); err != nil {
								t.Errorf("a holder's write is refused: %v", err)
							}
							by := fate.meet(w, c, h, kind.node(h, w.Dir))
							now, leave, err := kind.next(by.Client, w.Dir)
							if err != nil {
								t.Fatal(err)
							}
							stale = append(stale, h)
							for _, old := range stale {
								if err := passes(old); !errors.Is(err, zk.ErrNoNode) {
									t.Errorf("a stale holder's write while somebody else holds: %v", err)
								}
							}
							if now != nil {
								if err := passes(now); err != nil {
									t.Errorf("the next holder's write is refused: %v", err)
								}
								stale = append(stale, now)
							}
							if err := leave(bg); err != nil {
								t.Error(err)
							}
						}
					})
				})
			}
		}
	}
}
