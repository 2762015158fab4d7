package leader

import (
	"time"

	"github.com/zkcoord/zkcoord/coord"
)

// SetPatience sets for how long observers of c wait for an announcement before they ask for
// the queue.
func SetPatience(c *coord.Client, d time.Duration) { c.Kit().Values().Store(patienceKey{}, d) }
