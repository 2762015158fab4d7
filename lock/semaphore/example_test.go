package semaphore_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/lock/semaphore"
)

// Ten jobs, of which three at a time may use the database.
func Example() {
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

	var (
		mu         sync.Mutex
		jobs       sync.WaitGroup
		done, busy int
		tooMany    bool
	)
	for range 10 {
		jobs.Go(func() {
			err := semaphore.New(c, "/db/slots", 3).Do(ctx, func(ctx context.Context, h *coord.Hold) error {
				mu.Lock()
				busy++
				tooMany = tooMany || busy > 3
				mu.Unlock()
				// Here it would work, until ctx is canceled.
				mu.Lock()
				defer mu.Unlock()
				busy--
				done++
				return nil
			})
			if err != nil {
				log.Print(err)
			}
		})
	}
	jobs.Wait()
	fmt.Println(done, "done, too many at a time:", tooMany)
	// Output:
	// 10 done, too many at a time: false
}

func ExampleSemaphore_Resize() {
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

	old := semaphore.New(c, "/db/slots", 3)
	if err := old.Resize(ctx, 5); err != nil {
		log.Fatal(err)
	}
	fmt.Println(old.Acquire(ctx).Wait())
	h := semaphore.New(c, "/db/slots", 5).Acquire(ctx)
	fmt.Println(h.Wait())
	_ = h.Release(ctx)
	// Output:
	// acquire /db/slots: semaphore: wrong number of permits: 3 here, 5 in the directory
	// <nil>
}
