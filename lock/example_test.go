package lock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/lock"
)

// publish does work under a lock, unless others have it for too long.
func publish(ctx context.Context, servers []string, work func(context.Context, *coord.Hold) error) error {
	c, err := coord.Dial(ctx, servers, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	h := lock.New(c, "/reports/lock").Acquire(ctx)
	defer h.Release(context.WithoutCancel(ctx))
	select {
	case <-h.Acquired():
		return work(h.Context(ctx), h)
	case <-h.Done():
		return h.Err()
	case <-time.After(time.Minute):
		return errors.New("others have had the lock for a minute")
	}
}

func Example() {
	server, err := coordtest.Start() // in place of an ensemble
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()

	err = publish(context.Background(), []string{server.Addr()}, func(ctx context.Context, h *coord.Hold) error {
		fmt.Println("held:", ctx.Err() == nil, h.Token() > 0)
		return nil
	})
	fmt.Println(err)
	// Output:
	// held: true true
	// <nil>
}

func ExampleMutex_Do() {
	server, err := coordtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()
	c, err := coord.Dial(ctx, []string{server.Addr()}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	err = lock.New(c, "/reports/lock").Do(ctx, func(ctx context.Context, _ *coord.Hold) error {
		server.Expire(c.Kit().Session().ID()) // the ensemble gives up the session, as after a long partition
		<-ctx.Done()                          // the work notices, and stops
		return nil
	})
	fmt.Println("work not protected to its end:", errors.Is(err, coord.ErrExpired))
	// Output:
	// work not protected to its end: true
}

func ExampleMutex_TryAcquire() {
	server, err := coordtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()
	c, err := coord.Dial(ctx, []string{server.Addr()}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	m := lock.New(c, "/reports/lock")
	first := m.Acquire(ctx)
	if err := first.Wait(); err != nil {
		log.Fatal(err)
	}
	second := m.TryAcquire(ctx) // decided by the place in the queue, not by time
	fmt.Println(second.Wait())
	fmt.Println(errors.Is(second.Err(), coord.ErrLocked))
	// Output:
	// tryacquire /reports/lock: coord: locked by someone else
	// true
}

func ExampleMutex_Watch() {
	server, err := coordtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()
	c, err := coord.Dial(ctx, []string{server.Addr()}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	const dir = "/reports/lock"
	holder := lock.New(c, dir, lock.Label("ada")).Acquire(ctx)
	if err := holder.Wait(); err != nil {
		log.Fatal(err)
	}
	waiter := lock.New(c, dir, lock.Label("ben")).Acquire(ctx)
	for queue := range lock.New(c, dir).Watch(ctx).All() {
		if queue.Suspended || len(queue.Contenders) == 0 {
			continue // the holder is not known, or there is none
		}
		switch first := queue.Contenders[0]; {
		case len(queue.Contenders) == 2:
			fmt.Println(first.Label, "before", queue.Contenders[1].Label)
			holder.Release(ctx)
		case first.Label == "ben":
			fmt.Println("now", first.Label, "has it:", waiter.Wait() == nil)
			return
		}
	}
	// Output:
	// ada before ben
	// now ben has it: true
}

// In a bubble the ten seconds of a session take no time. What is tested here
// stands for a program of yours.
func TestPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := coordtest.NewServer(t)
		ours, theirs := server.Client(t, nil), server.Client(t, nil)
		h := lock.New(ours, "/reports/lock").Acquire(t.Context())
		if err := h.Wait(); err != nil {
			t.Fatal(err)
		}
		next := lock.New(theirs, "/reports/lock").Acquire(t.Context())

		server.Stall(ours, coordtest.Both) // nothing gets through any more
		select {
		case <-h.Lost():
		case <-next.Acquired():
			t.Error("the next has the lock before we were told")
		}
		if err := next.Wait(); err != nil {
			t.Error(err)
		}
	})
}
