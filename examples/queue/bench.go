package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/zkcoord/zkcoord/coord"
)

// benchmark puts n items and has them done, by one taker and by eight, each with a session
// of its own, and prints how fast that was.
func benchmark(ctx context.Context, dial func() (*coord.Client, error), dir string, n int) error {
	for _, takers := range []int{1, 8} {
		c, err := dial()
		if err != nil {
			return err
		}
		defer c.Close()
		q, err := Open(ctx, c, fmt.Sprintf("%s/bench-%d", dir, time.Now().UnixNano()))
		if err != nil {
			return err
		}
		began := time.Now()
		for i := range n {
			if err := q.Put(ctx, fmt.Sprint(i), i%10, nil); err != nil {
				return err
			}
		}
		put := time.Since(began)

		work, stop := context.WithCancel(ctx)
		defer stop()
		var all sync.WaitGroup
		var mu sync.Mutex
		done := 0
		failed := make(chan error, takers)
		began = time.Now()
		for range takers {
			c, err := dial()
			if err != nil {
				return err
			}
			defer c.Close()
			all.Go(func() {
				err := (&Queue{c, q.dir}).Work(work, func(context.Context, Item) ([]byte, error) {
					mu.Lock()
					defer mu.Unlock()
					if done++; done == n {
						time.AfterFunc(time.Second, stop) // when the last is finished
					}
					return nil, nil
				})
				if work.Err() == nil {
					failed <- err
					stop()
				}
			})
		}
		all.Wait()
		select {
		case err := <-failed:
			return err
		default:
		}
		took := time.Since(began) - time.Second
		fmt.Printf("%d items: put at %.0f/s, done by %d takers at %.0f/s\n", n, float64(n)/put.Seconds(), takers, float64(n)/took.Seconds())
		if err := q.Results(ctx, func(string, []byte) {}); err != nil {
			return err
		}
	}
	return nil
}
