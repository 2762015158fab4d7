package async

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
)

// The result comes once; the goroutine ends even if nobody receives it; and if it
// was not started, nothing comes.
func TestGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tasks sync.WaitGroup
		start := func(f func(context.Context)) bool {
			tasks.Go(func() { f(t.Context()) })
			return true
		}
		answer := func(context.Context) int { return 42 }
		if got := <-Go(start, answer); got != 42 {
			t.Errorf("got %d", got)
		}
		Go(start, answer)
		tasks.Wait() // or the bubble is deadlocked, and the test fails
		result := Go(func(func(context.Context)) bool { return false }, answer)
		synctest.Wait()
		select {
		case got := <-result:
			t.Errorf("got %d from a function that was not run", got)
		default:
		}
	})
}
