package rwlock_test

import (
	"context"
	"fmt"
	"log"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/rwlock"
)

// migrate makes the schema that of version. Most often it is, and to read is enough.
func migrate(ctx context.Context, c *coord.Client, m *rwlock.RWMutex, version string) error {
	outdated := false
	look := func(ctx context.Context, _ *coord.Hold) error {
		data, _, err := c.Get(ctx, "/schema")
		outdated = string(data) != version
		return err
	}
	if err := m.DoRead(ctx, look); err != nil || !outdated {
		return err
	}
	// There is no upgrade: the read is released, and another may write now.
	return m.DoWrite(ctx, func(ctx context.Context, h *coord.Hold) error {
		if err := look(ctx, h); err != nil || !outdated {
			return err // it has
		}
		fmt.Println("migrating to", version)
		_, err := c.Txn(ctx, h.Guard(), coord.OpSet("/schema", []byte(version), -1))
		return err
	})
}

// Two readers find that they must write. One after the other does, and the second finds
// that it need not any more.
func ExampleRWMutex_AcquireWrite() {
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
	if _, err := c.Create(ctx, "/schema", []byte("v1"), coord.Persistent); err != nil {
		log.Fatal(err)
	}

	m := rwlock.New(c, "/schema/lock")
	done := make(chan error)
	for range 2 {
		go func() { done <- migrate(ctx, c, m, "v2") }()
	}
	fmt.Println(<-done, <-done)
	// Output:
	// migrating to v2
	// <nil> <nil>
}
