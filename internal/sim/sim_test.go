package sim

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/internal/harness"
)

// short is the size of the scripts that are played every day.
var short = Size{Clients: 10, Time: time.Minute, Op: 3 * time.Second, Fault: 700 * time.Millisecond}

// No promise is broken in scripts of some seeds.
func TestSim(t *testing.T) {
	var all Totals
	for seed := range uint64(harness.Times(6, 200)) {
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
