package sim

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// torture is the size of the scripts of TestTorture.
var torture = Size{Clients: 20, Time: 5 * time.Minute, Op: 30 * time.Second, Fault: 900 * time.Millisecond}

// shrinking is how many runs are spent on one failure, and shrinks on how many failures.
const (
	shrinking = 300
	shrinks   = 3
)

// TestTorture is make torture: it plays scripts for TORTURE, on all processors, or the
// script of SEED, or the one in the file SCRIPT.
func TestTorture(t *testing.T) {
	length := os.Getenv("TORTURE")
	if length == "" {
		t.Skip("see make torture")
	}
	if s := one(t); s != nil {
		if f := again(t, s); f != nil {
			report(t, f)
		}
		return
	}
	d, err := time.ParseDuration(length)
	if err != nil {
		t.Fatal(err)
	}
	base := uint64(time.Now().UnixNano()) % 1e9 * 1000
	t.Logf("seeds from %d on, for %v", base, d)
	var mu sync.Mutex
	var all Totals
	var workers sync.WaitGroup
	n := runtime.NumCPU()
	until := time.Now().Add(d)
	for i := range n {
		workers.Go(func() {
			j := job{Seed: base + uint64(i), Step: uint64(n), Until: until, Size: torture}
			for deaths := 0; time.Now().Before(until) && deaths < 10; deaths++ {
				j.Dir = t.TempDir()
				found := j.run(t)
				mu.Lock()
				all.merge(&found)
				mu.Unlock()
				if len(found.Failures) > 0 {
					j.Seed = found.Failures[len(found.Failures)-1].Seed + j.Step
				}
			}
		})
	}
	workers.Wait()
	var table strings.Builder
	all.Write(&table)
	t.Logf("\n%s", &table)
	told := make(map[string]int)
	for i := range all.Failures {
		f := &all.Failures[i]
		if told[f.Rule]++; told[f.Rule] == 1 && len(told) <= shrinks {
			report(t, f)
			continue
		}
		t.Errorf("make torture SEED=%d: %s", f.Seed, head(f.String(), 2))
	}
}

// one returns the script that the caller names, nil for none.
func one(t *testing.T) *Script {
	text := os.Getenv("SCRIPT")
	if text != "" {
		data, err := os.ReadFile(text)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(string(data))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if text = os.Getenv("SEED"); text == "" || text == "0" {
		return nil
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return Generate(seed, torture)
}

// report fails the test with a script that is shrunk as far as that goes.
func report(t *testing.T, f *Failure) {
	s, err := Parse(f.Script)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("seed %d: %s", f.Seed, head(f.String(), 40))
	last := f
	s = Shrink(s, shrinking, func(s *Script) bool {
		g := again(t, s)
		if g == nil || g.Rule != f.Rule {
			return false
		}
		last = g
		return true
	})
	t.Errorf("%s\n%s\n%s", kept(t, s), s, head(last.String(), 60))
}
