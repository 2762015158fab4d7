package barrier_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/members/barrier"
)

// Three workers compute in steps. None begins a step before all have done the one before.
func Example() {
	ctx := context.Background()
	server, err := coordtest.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	c, err := coord.Dial(ctx, []string{server.Addr()}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	const workers = 3
	var all sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for i := range workers {
		all.Go(func() {
			b := barrier.New(c, "/jobs/17", workers)
			for step := range 2 {
				h := b.Enter(ctx, fmt.Sprint("worker-", i))
				if err := h.Wait(); err != nil {
					fmt.Println(err)
					return
				}
				mu.Lock()
				if done < step*workers {
					fmt.Println("a step has begun too early")
				}
				done++
				mu.Unlock()
				if err := h.Release(ctx); err != nil {
					fmt.Println(err)
				}
			}
		})
	}
	all.Wait()
	fmt.Println(done, "done")
	// Output:
	// 6 done
}
