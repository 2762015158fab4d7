package coord_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/lock"
)

// lead has reindex called from time to time while it leads, with the newest
// settings. It returns when ctx ends, or why it does not lead any more.
func lead(ctx context.Context, c *coord.Client, reindex func(context.Context, []byte)) error {
	leader := lock.New(c, "/reindex/leader").Acquire(ctx)
	defer leader.Release(context.WithoutCancel(ctx))
	settings := c.Watch(ctx, "/reindex/settings", event.Data)

	acquired, over := leader.Acquired(), leader.Done()
	var work context.Context  // ends when we no longer lead
	var tick <-chan time.Time // nil, and so never ready, until we lead
	var newest event.Snapshot
	for {
		select {
		case <-acquired:
			acquired, over = nil, nil // closed for good: look once
			work, tick = leader.Context(ctx), time.Tick(10*time.Millisecond)
		case newest = <-settings.Updates():
		case <-settings.Done():
			return settings.Err()
		case <-tick:
			reindex(work, newest.Data)
		case <-leader.Lost(): // before anyone else can lead
			return leader.Err()
		case <-over: // and never led
			return leader.Err()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// What happens to a lock when its session fails: its channel Lost closes, and the
// context of the work ends, before anyone else can have it. (R48.)
func ExampleHold_Lost() {
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
	if _, err := c.Txn(ctx, coord.OpCreate("/reindex", nil, 0), coord.OpCreate("/reindex/settings", []byte("fast"), 0)); err != nil {
		log.Fatal(err)
	}

	err = lead(ctx, c, func(ctx context.Context, settings []byte) {
		if settings == nil || ctx.Err() != nil { // not read yet; lost already
			return
		}
		fmt.Printf("reindex %s\n", settings)
		server.Expire(c.Kit().Session().ID()) // the ensemble gives up the session, as after a long partition
		<-ctx.Done()
		fmt.Println("stopped")
	})
	fmt.Println(errors.Is(err, coord.ErrExpired))
	// Output:
	// reindex fast
	// stopped
	// true
}

// pay writes the balance, if it still holds the lock.
func pay(ctx context.Context, c *coord.Client, m *lock.Mutex, balance string) error {
	return m.Do(ctx, func(ctx context.Context, h *coord.Hold) error {
		_, err := c.Txn(ctx, h.Guard(), coord.OpSet("/balance", []byte(balance), -1))
		return err
	})
}

// A write that happens only while the lock is still held.
func ExampleHold_Guard() {
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
	if _, err := c.Create(ctx, "/balance", nil, coord.Persistent); err != nil {
		log.Fatal(err)
	}

	m := lock.New(c, "/balance-lock")
	fmt.Println("held:", pay(ctx, c, m, "7"))
	h := m.Acquire(ctx)
	h.Release(ctx)
	_, err = c.Txn(ctx, h.Guard(), coord.OpSet("/balance", []byte("8"), -1))
	fmt.Println("released:", err)
	// Output:
	// held: <nil>
	// released: txn /balance-lock: coord: not held
}

func ExampleClient_Watch() {
	server, err := coordtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, err := coord.Dial(ctx, []string{server.Addr()}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	// It is no error that there is no such znode. Some state may be passed over,
	// but never the last one.
	settings := c.Watch(ctx, "/settings", event.Data)
	for snap := range settings.All() {
		switch {
		case !snap.Exists:
			fmt.Println("none")
			_, err = c.Create(ctx, "/settings", []byte("slow"), coord.Persistent)
		case string(snap.Data) == "slow":
			fmt.Println("slow")
			_, err = c.Set(ctx, "/settings", []byte("fast"), -1)
		default:
			fmt.Println(string(snap.Data))
			cancel()
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(errors.Is(settings.Err(), context.Canceled))
	// Output:
	// none
	// slow
	// fast
	// true
}

// dial connects to the ensemble of the shop.
func dial(ctx context.Context, servers []string, password string) (*coord.Client, error) {
	shop := coord.Auth{Scheme: "digest", Credential: []byte("shop:" + password)}
	return coord.Dial(ctx, servers, &coord.Options{
		SessionTimeout: 6 * time.Second,
		Chroot:         "/shop", // all paths are below it
		Auth:           []coord.Auth{shop},
		ACL:            []coord.ACL{shop.ACL(coord.PermAll)},
		// TLS:         &tls.Config{RootCAs: ourCA},
	})
}

// What a client can be told about the ensemble and about itself.
func ExampleOptions() {
	server, err := coordtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	c, err := dial(context.Background(), []string{server.Addr()}, "secret")
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	state, _ := c.State()
	fmt.Println(state, c.FullPath("/lock"))
	// Output:
	// connected /shop/lock
}
