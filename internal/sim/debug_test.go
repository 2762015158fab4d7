package sim

import (
	"runtime"
	"testing"
	"sync"
	"slices"
	"os"
	"strconv"
)

var debugSeeds = func() int { n, _ := strconv.Atoi(os.Getenv("DSEEDS")); return max(n, 12) }()

func TestDebugTrace(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for seed := range uint64(debugSeeds) {
		s := Generate(seed, short)
		var runs [2][]string
		for i := range runs {
			var mu sync.Mutex
			debugTrace = func(line string) { mu.Lock(); runs[i] = append(runs[i], line); mu.Unlock() }
			Play(t, s, Plant{})
			slices.Sort(runs[i])
		}
		for i := range runs[0] {
			if runs[0][i] != runs[1][i] {
				t.Logf("seed %d line %d of %d", seed, i, len(runs[0]))
				for j := max(0, i-6); j < i+8; j++ {
					t.Logf("   %-90s | %s", runs[0][j], runs[1][j])
				}
				break
			}
		}
	}
}
