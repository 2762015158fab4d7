package rwlock_test

import (
	"context"
	"sync"
	"testing"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/locktest"
	"github.com/zkcoord/zkcoord/rwlock"
)

// mixed is a lock that is acquired twice for reading, once for writing and so on.
var mixed = locktest.Subject{Name: "readers and writers", New: func() locktest.Subject {
	var mu sync.Mutex
	n := 0
	reads := make(map[*coord.Hold]bool)
	return locktest.Subject{
		Acquire: func(ctx context.Context, c *coord.Client, dir string) *coord.Hold {
			mu.Lock()
			defer mu.Unlock()
			m := rwlock.New(c, dir)
			if n++; n%3 == 0 {
				return m.AcquireWrite(ctx)
			}
			h := m.AcquireRead(ctx)
			reads[h] = true
			return h
		},
		Reads: func(h *coord.Hold) bool {
			mu.Lock()
			defer mu.Unlock()
			return reads[h]
		},
	}
}}

func TestLagging(t *testing.T) { locktest.Lagging(t, mixed) }
