package sim

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/internal/harness"
)

// short is the size of the scripts that are played every day.
var short = Size{Clients: 10, Time: time.Minute, Op: 3 * time.Second, Fault: 700 * time.Millisecond}

// No promise is broken in scripts of seeds that are always the same, and of some that never
// were there before.
func TestSim(t *testing.T) {
	var all Totals
	fixed := harness.Times(6, 200)
	for i := range 2 * fixed {
		seed := uint64(i)
		if i >= fixed {
			seed = uint64(time.Now().UnixNano()) % 1e12
		}
		s := Generate(seed, short)
		r := Play(t, s, Plant{})
		all.Add(s, r)
		if len(r.Violations) > 0 {
			t.Fatalf("seed %d: %s\n%s", seed, r.Violations[0], kept(t, s))
		}
	}
	if met, injected := sum(all.Met), sum(all.Injected); met < injected/2 {
		t.Errorf("of %d faults only %d hit something", injected, met)
	}
	t.Logf("%.1f client-hours, %d acquisitions, %d faults of which %d hit something", all.Time.Hours(), sum(all.Acquired), sum(all.Injected), sum(all.Met))
}

// Scripts that have found something find nothing any more.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.script")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s, err := Parse(string(data))
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range Play(t, s, Plant{}).Violations {
				t.Error(v)
			}
		})
	}
}

// The same script gives the same history. With the race detector, which has goroutines run
// in random order, it does not.
func TestSameHistoryFaults(t *testing.T) {
	if harness.Racing {
		t.Skip("goroutines run in random order")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for seed := range uint64(harness.Times(10, 200)) {
		s := Generate(seed, short)
		one, two := text(t, Play(t, s, Plant{})), text(t, Play(t, s, Plant{}))
		for i := range min(len(one), len(two)) {
			if one[i] != two[i] {
				t.Errorf("seed %d: event %d of %d is\n%s\nand then\n%s", seed, i, len(one), one[i], two[i])
				break
			}
		}
	}
}

// text returns a history, an event each.
func text(t *testing.T, r *Result) (all []string) {
	if len(r.Violations) > 0 {
		t.Fatal(r.Violations[0])
	}
	for _, e := range r.Events {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(line))
	}
	return all
}
