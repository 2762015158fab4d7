package leader_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/lock/leader"
)

func serve(ctx context.Context, c *coord.Client, addr string) error {
	e := leader.New(c, "/shop/leader", leader.Label(addr))
	return e.Lead(ctx, []byte(addr), func(ctx context.Context, h *coord.Hold) error {
		// This is the only one, until ctx is canceled.
		_, err := c.Txn(ctx, h.Guard(), coord.OpSet("/shop/owner", []byte(addr), -1)) // rejected after a loss
		if err != nil {
			return err
		}
		<-ctx.Done()
		return context.Cause(ctx)
	})
}

func follow(ctx context.Context, c *coord.Client, redirect func(addr string)) error {
	views := leader.New(c, "/shop/leader").Watch(ctx)
	for v := range views.All() {
		if v.Has && !v.Suspended {
			redirect(string(v.Value))
		} else {
			redirect("") // nobody leads, or nobody knows for sure
		}
	}
	return views.Err()
}

func Example() {
	server, err := coordtest.Start() // in place of an ensemble
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx, stop := context.WithCancelCause(context.Background())
	c, err := coord.Dial(ctx, []string{server.Addr()}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for _, path := range []string{"/shop", "/shop/owner"} {
		if _, err := c.Create(ctx, path, nil, coord.Persistent); err != nil {
			log.Fatal(err)
		}
	}

	over := make(chan error, 1)
	go func() { over <- serve(ctx, c, "10.0.0.1:80") }()
	enough := errors.New("enough")
	err = follow(ctx, c, func(addr string) {
		if addr != "" {
			fmt.Println("leader:", addr)
			stop(enough)
		}
	})
	fmt.Println(errors.Is(err, enough), errors.Is(<-over, enough))
	// Output:
	// leader: 10.0.0.1:80
	// true true
}

func ExampleElection_Keep() {
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

	k := leader.New(c, "/shop/leader").Keep(ctx, []byte("10.0.0.1:80"))
	first := coord.Token(0)
	for s := range k.All() {
		switch {
		case s.Leads && first == 0:
			fmt.Println("leads")
			first = s.Token
			server.Expire(c.Kit().Session().ID()) // the ensemble gives up the session, as after a long partition
		case s.Leads && s.Token > first:
			fmt.Println("leads again, in another session")
			if err := k.Resign(ctx); err != nil {
				log.Fatal(err)
			}
		}
	}
	fmt.Println(errors.Is(k.Err(), coord.ErrReleased))
	// Output:
	// leads
	// leads again, in another session
	// true
}
