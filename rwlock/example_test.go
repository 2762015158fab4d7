package rwlock_test

import (
	"context"
	"fmt"
	"log"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/rwlock"
)

// refresh builds what others read, and then reads it itself: what it has built,
// because nobody can write in between.
func refresh(ctx context.Context, m *rwlock.RWMutex, build, serve func(context.Context) error) error {
	return m.DoWrite(ctx, func(ctx context.Context, h *coord.Hold) error {
		if err := build(ctx); err != nil { // ctx is canceled when the lock is lost
			return err
		}
		if err := m.Downgrade(ctx, h); err != nil {
			return err
		}
		return serve(ctx) // together with other readers
	})
}

func ExampleRWMutex_Downgrade() {
	server, err := coordtest.Start() // in place of an ensemble
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

	m := rwlock.New(c, "/index/lock")
	build := func(ctx context.Context) error {
		fmt.Println("writing; can another read?", m.TryAcquireRead(ctx).Wait() == nil)
		return nil
	}
	serve := func(ctx context.Context) error {
		other := m.TryAcquireRead(ctx)
		fmt.Println("reading; can another read?", other.Wait() == nil)
		return other.Release(ctx)
	}
	fmt.Println(refresh(ctx, m, build, serve))
	// Output:
	// writing; can another read? false
	// reading; can another read? true
	// <nil>
}

func ExampleRWMutex_DoRead() {
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

	m := rwlock.New(c, "/index/lock")
	err = m.DoRead(ctx, func(ctx context.Context, _ *coord.Hold) error {
		// There is no upgrade: it would wait for this read.
		fmt.Println(m.AcquireWrite(ctx).Wait())
		return nil
	})
	fmt.Println(err)
	// Output:
	// acquirewrite /index/lock: rwlock: held by the caller already; release it first, because it cannot be upgraded
	// <nil>
}
