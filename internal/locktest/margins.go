package locktest

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// A margins collects the times between the loss by one and the grant to another.
type margins struct {
	mu    sync.Mutex
	least time.Duration
	runs  int
}

// measured are those of all that has run in this process.
var measured margins

func (m *margins) add(margin time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runs == 0 || margin < m.least {
		m.least = margin
	}
	m.runs++
}

// merge adds what x, which is complete, has collected.
func (m *margins) merge(x *margins) {
	if x.runs == 0 {
		return
	}
	m.add(x.least)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs += x.runs - 1
}

// Main wraps the m of TestMain as [harness.Main] does, and tells in the end the
// smallest margin by which a holder knew of its loss before the next was
// granted, if any were measured.
func Main(m ensemble.Runner) ensemble.Runner {
	return harness.Main(m, func() {
		if measured.runs > 0 {
			fmt.Fprintf(os.Stderr, "smallest margin in %d partitions: %v\n", measured.runs, measured.least.Round(time.Millisecond))
		}
	})
}
