package lock_test

import (
	"context"
	"fmt"
	"log"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/lock"
)

// transfer moves something between two accounts, which are locked for that.
func transfer(ctx context.Context, c *coord.Client, from, to string) error {
	h := lock.All(ctx, lock.New(c, from+"/lock"), lock.New(c, to+"/lock"))
	defer h.Release(context.WithoutCancel(ctx))
	if err := h.Wait(); err != nil {
		return err
	}
	fmt.Println("locks held:", len(h.Tokens()))
	_, err := c.Txn(ctx,
		h.Guard(), // of both
		coord.OpSet(from+"/balance", []byte("60"), -1),
		coord.OpSet(to+"/balance", []byte("40"), -1))
	return err
}

// Two transfers between the same accounts, in opposite directions, do not wait for each
// other forever.
func ExampleAll() {
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
	for _, account := range []string{"/ada", "/ben"} {
		if _, err := c.Create(ctx, account, nil, coord.Persistent); err != nil {
			log.Fatal(err)
		}
		if _, err := c.Create(ctx, account+"/balance", []byte("50"), coord.Persistent); err != nil {
			log.Fatal(err)
		}
	}

	done := make(chan error)
	go func() { done <- transfer(ctx, c, "/ada", "/ben") }()
	go func() { done <- transfer(ctx, c, "/ben", "/ada") }()
	fmt.Println(<-done, <-done)
	// Output:
	// locks held: 2
	// locks held: 2
	// <nil> <nil>
}
