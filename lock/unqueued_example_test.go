package lock_test

import (
	"context"
	"fmt"
	"log"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/lock"
)

// One of several programs is the primary; the others stand by.
func ExampleUnqueued() {
	server, err := coordtest.Start() // in place of an ensemble
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()
	dial := func() *coord.Client {
		c, err := coord.Dial(ctx, []string{server.Addr()}, nil)
		if err != nil {
			log.Fatal(err)
		}
		return c
	}
	ours, theirs := dial(), dial()
	defer ours.Close()
	defer theirs.Close()

	primary := lock.NewUnqueued(ours, "/billing/primary", lock.Label("ada")).Acquire(ctx)
	if err := primary.Wait(); err != nil {
		log.Fatal(err)
	}
	standby := lock.NewUnqueued(theirs, "/billing/primary", lock.Label("ben"))
	who, held, err := standby.Holder(ctx)
	fmt.Println(who.Label, held, err)

	next := standby.Acquire(ctx)
	defer next.Release(ctx)
	if err := primary.Release(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(next.Wait())
	who, held, err = standby.Holder(ctx)
	fmt.Println(who.Label, held, err)
	// Output:
	// ada true <nil>
	// <nil>
	// ben true <nil>
}
