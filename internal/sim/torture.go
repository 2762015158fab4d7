package sim

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/zkcoord/zkcoord/internal/history"
)

// Totals are what several runs have shown.
type Totals struct {
	Scripts   int
	Lines     int // operations
	Time      time.Duration
	Events    int
	Acquired  map[string]int // by recipe
	Lost      map[string]int
	HandOvers map[string]int
	Calls     map[string]map[history.Kind]int
	Injected  map[string]int // faults by kind
	Met       map[string]int
	Margins   map[string]time.Duration // the smallest after a loss, by recipe and cause
	Failures  []Failure
}

// A Failure is a script that has shown a violation.
type Failure struct {
	Seed   uint64
	Script string
	Violation
}

// Add adds the result of a script.
func (t *Totals) Add(s *Script, r *Result) {
	t.merge(&Totals{Scripts: 1, Lines: r.Lines, Time: r.Time, Events: len(r.Events), Injected: r.Injected, Met: r.Met})
	if rep := r.Report; rep != nil {
		o := &Totals{Acquired: rep.Acquired, Lost: rep.Lost, HandOvers: rep.HandOvers, Calls: rep.Operations, Margins: make(map[string]time.Duration)}
		for _, m := range rep.Margins() {
			if m.After == history.Lost {
				o.Margins[m.Recipe+" after "+m.Cause] = m.Least
			}
		}
		t.merge(o)
	}
	if len(r.Violations) > 0 {
		t.Failures = append(t.Failures, Failure{s.Seed, s.String(), r.Violations[0]})
	}
}

// merge adds other totals.
func (t *Totals) merge(o *Totals) {
	t.Scripts += o.Scripts
	t.Lines += o.Lines
	t.Time += o.Time
	t.Events += o.Events
	for _, x := range []struct {
		to   *map[string]int
		from map[string]int
	}{{&t.Acquired, o.Acquired}, {&t.Lost, o.Lost}, {&t.HandOvers, o.HandOvers}, {&t.Injected, o.Injected}, {&t.Met, o.Met}} {
		if *x.to == nil {
			*x.to = make(map[string]int)
		}
		for k, n := range x.from {
			(*x.to)[k] += n
		}
	}
	if t.Calls == nil {
		t.Calls, t.Margins = make(map[string]map[history.Kind]int), make(map[string]time.Duration)
	}
	for f, kinds := range o.Calls {
		if t.Calls[f] == nil {
			t.Calls[f] = make(map[history.Kind]int)
		}
		for k, n := range kinds {
			t.Calls[f][k] += n
		}
	}
	for k, d := range o.Margins {
		if least, ok := t.Margins[k]; !ok || d < least {
			t.Margins[k] = d
		}
	}
	t.Failures = append(t.Failures, o.Failures...)
}

// sum adds numbers.
func sum(m map[string]int) (n int) {
	for _, x := range m {
		n += x
	}
	return n
}

// Write writes a table.
func (t *Totals) Write(w io.Writer) {
	fmt.Fprintf(w, "%d scripts, %.1f client-hours, %d operations, %d events\n", t.Scripts, t.Time.Hours(), t.Lines, t.Events)
	fmt.Fprintf(w, "\n%-12s %9s %9s %10s\n", "recipe", "acquired", "lost", "hand-overs")
	for _, k := range slices.Sorted(maps.Keys(t.Acquired)) {
		fmt.Fprintf(w, "%-12s %9d %9d %10d\n", k, t.Acquired[k], t.Lost[k], t.HandOvers[k])
	}
	fmt.Fprintf(w, "%-12s %9d %9d %10d\n", "all", sum(t.Acquired), sum(t.Lost), sum(t.HandOvers))
	fmt.Fprintf(w, "\n%-12s %9s %9s %10s\n", "operation", "ok", "refused", "unknown")
	for _, k := range slices.Sorted(maps.Keys(t.Calls)) {
		n := t.Calls[k]
		fmt.Fprintf(w, "%-12s %9d %9d %10d\n", k, n[history.OK], n[history.Refused], n[history.Unknown])
	}
	fmt.Fprintf(w, "\n%-12s %9s %9s\n", "fault", "injected", "met")
	for _, k := range slices.Sorted(maps.Keys(t.Injected)) {
		fmt.Fprintf(w, "%-12s %9d %9d\n", k, t.Injected[k], t.Met[k])
	}
	fmt.Fprintf(w, "%-12s %9d %9d\n", "all", sum(t.Injected), sum(t.Met))
	keys := slices.SortedFunc(maps.Keys(t.Margins), func(a, b string) int { return cmp.Compare(t.Margins[a], t.Margins[b]) })
	fmt.Fprintf(w, "\nsmallest margins between a loss and the next grant:\n")
	for _, k := range keys[:min(8, len(keys))] {
		fmt.Fprintf(w, "  %-32s %v\n", k, t.Margins[k])
	}
	fmt.Fprintf(w, "\nviolations: %d\n", len(t.Failures))
}
