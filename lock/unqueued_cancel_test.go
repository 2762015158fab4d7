package lock_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/lock"
)

// R5: a contender that gives up while the directories of a new lock are being made leaves
// nothing behind that the server would not remove by itself.
func TestUnqueuedCanceledWhileMaking(t *testing.T) {
	for n := 1; n <= 8; n++ {
		synctest.Test(t, func(t *testing.T) {
			server := coordtest.NewServer(t)
			c := server.Client(t, nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			requests := 0
			server.LinkOf(c).OnFrame(func(f coordtest.Frame) coordtest.Action {
				if f.Dir == coordtest.ToServer && f.N > 0 {
					if requests++; requests == n {
						cancel()
						synctest.Wait()
					}
				}
				return coordtest.Pass
			})
			h := lock.NewUnqueued(c, "/deep/down/lock").Acquire(ctx)
			if h.Wait() == nil {
				if err := h.Release(t.Context()); err != nil {
					t.Error(err)
				}
			}
			<-h.Done()
			for range 5 { // from the bottom up
				server.Reap()
			}
			if tree := server.Tree(); tree != "" {
				t.Errorf("canceled at request %d: left\n%s", n, tree)
			}
		})
	}
}
