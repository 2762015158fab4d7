package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A spread is the median with both ends, of any number of values.
func TestSpread(t *testing.T) {
	for _, tt := range []struct {
		values map[int]float64
		want   string
	}{
		{nil, "–"},
		{map[int]float64{1: 5}, "5.00"},
		{map[int]float64{1: 30, 3: 10, 2: 20}, "20.0 [10.0..30.0]"},
		{map[int]float64{1: 1, 2: 2, 3: 3, 4: 10}, "2.50 [1.00..10.0]"},
		{map[int]float64{1: 1.001, 2: 1.002}, "1.00"},
	} {
		if got := spread(tt.values).String(); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.values, got, tt.want)
		}
	}
}

// Three digits count, but of a whole number none is left out.
func TestFormat(t *testing.T) {
	for v, want := range map[float64]string{0: "0.00", 9.99: "9.99", 9.999: "10.0", 99.9: "99.9", 99.96: "100",
		1234.5: "1,234", 1234567: "1,234,567", 100000: "100,000", -1234567: "-1,234,567", -123: "-123"} {
		if got := format(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

// example is a benchmark of two rounds. Its second round was twice as fast as its first.
func example() *Results {
	r := &Results{
		Machine: "abacus, 2 CPUs", Commit: "0123456789ab", Begun: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC),
		Took: time.Minute, CPUs: 2, Load: [2]float64{.5, 1.5}, Servers: []string{"ZooKeeper 3.8.0"},
		Names:    map[string]string{"floor": "floor", "zkcoord": "zkcoord", "zklock": "zk.Lock", "kazoo": "kazoo 2.8.0"},
		Missing:  []string{"curator: no jar"},
		Failures: []string{"kazoo, handover/16, round 2: it has ended"},
	}
	for _, n := range []int{2, 16} {
		row := Row{Name: fmt.Sprint("handover/", n), Workload: "handover", N: n, Text: fmt.Sprint(n), Peers: []string{"floor", "zkcoord", "zklock"}}
		r.Rows = append(r.Rows, row)
		for i, peer := range row.Peers {
			for round := 1; round <= 2; round++ {
				slower := float64(1 + i)
				r.Runs = append(r.Runs, Run{Round: round, Row: row.Name, Peer: peer, Others: .01, Metrics: map[string]float64{
					"steady": 1, "rate": 1000 * float64(round) / slower, "hand_p50": 500 / float64(round) * slower, "bytes_out": 100 * float64(n) * slower,
				}})
			}
		}
	}
	return r
}

func text(t *testing.T, r *Results) string {
	t.Helper()
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A ratio is that of one round: what slows a whole round down does not show in it.
func TestRatiosAreThoseOfOneRound(t *testing.T) {
	got := text(t, example())
	for _, line := range []string{
		"| 16 | floor | 1,500 | | 375 | |",
		"| 16 | zk.Lock | 500 | 0.33 | 1,125 | 3.00 |",
		"| handover, 2 | floor: 1,500/s | 0.50 | 0.33 |",
	} {
		if !strings.Contains(got, line) {
			t.Errorf("no %q in\n%s", line, got)
		}
	}
}

// A table has as many cells in each of its lines.
func TestTablesAreEven(t *testing.T) {
	r := example()
	for _, tab := range tables { // one row of each
		r.Rows = append(r.Rows, Row{Name: tab.title, Workload: tab.workload, N: 1000, Text: "1000", Peers: []string{"floor", "zkcoord"}})
		r.Runs = append(r.Runs, Run{Round: 1, Row: tab.title, Peer: "zkcoord", Metrics: map[string]float64{"rate": 1}})
	}
	cells := 0
	shown := text(t, r)
	for line := range strings.Lines(shown) {
		n := strings.Count(line, "|")
		if n > 0 && cells > 0 && n != cells {
			t.Errorf("%d cells, not %d: %s", n, cells, line)
		}
		cells = n
	}
	for _, tab := range tables {
		if !strings.Contains(shown, "## "+tab.title) {
			t.Errorf("no table %q", tab.title)
		}
	}
}

// A report says what it was made of, what is missing from it, and whether it can be
// relied on.
func TestHead(t *testing.T) {
	r := example()
	got := text(t, r)
	for _, want := range []string{"2026-01-02 03:04 UTC", "abacus", "0123456789ab", "ZooKeeper 3.8.0", "Missing: curator: no jar",
		"Failed: kazoo, handover/16", "The machine was held alone", "0.01 of 2 CPUs", "Load average 0.50 before, 1.50 after", "Rounds: 2"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "kazoo 2.8.0") {
		t.Error("a client is named that was not run")
	}
	r.Runs[0].Others = .5
	if got := text(t, r); !strings.Contains(got, "not held alone") {
		t.Errorf("nothing is said of others' use of the machine:\n%s", got)
	}
}

// A plot is well-formed, has a line and a label for each client, and no ground of its
// own.
func TestPlots(t *testing.T) {
	dir := t.TempDir()
	r := example()
	if err := r.Plots(dir); err != nil {
		t.Fatal(err)
	}
	for _, p := range plots {
		svg, err := os.ReadFile(filepath.Join(dir, p.file))
		if err != nil {
			t.Fatal(err)
		}
		for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", p.file, err)
			}
		}
		for _, want := range []string{">floor<", ">zkcoord<", ">zk.Lock<", ">16<"} {
			if !bytes.Contains(svg, []byte(want)) {
				t.Errorf("%s: no %s", p.file, want)
			}
		}
		if bytes.Contains(svg, []byte(">Curator<")) || bytes.Contains(svg, []byte("Liberation")) {
			t.Errorf("%s has what it should not have", p.file)
		}
		if !strings.Contains(text(t, r), "("+p.file+")") {
			t.Errorf("the report does not show %s", p.file)
		}
	}
}

// What was measured with one size alone is not plotted.
func TestNoPlotOfOneSize(t *testing.T) {
	r := example()
	r.Rows = r.Rows[:1]
	if err := r.Plots(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if got := text(t, r); strings.Contains(got, ".svg") {
		t.Errorf("the report shows a plot:\n%s", got)
	}
}
