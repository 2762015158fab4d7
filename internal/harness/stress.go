package harness

import (
	"os"

	"github.com/zkcoord/zkcoord/internal/ensemble"
)

// Stress reports whether tests shall run their long form.
var Stress = os.Getenv("ZKCOORD_STRESS") != ""

// Times returns how often a test does something: every day, or in its long form.
func Times(daily, long int) int {
	if Stress {
		return long
	}
	return daily
}

// Main wraps the m of TestMain as [ensemble.Main] does: it ends the real server that
// tests share.
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(harness.Main(m)) }
//
// Each of after is called once the tests have run.
func Main(m ensemble.Runner, after ...func()) ensemble.Runner {
	return runner{ensemble.Main(m), after}
}

type runner struct {
	ensemble.Runner
	after []func()
}

func (r runner) Run() int {
	code := r.Runner.Run()
	for _, f := range r.after {
		f()
	}
	return code
}

// Racing says that the race detector is there, which runs goroutines in random order.
const Racing = racing
