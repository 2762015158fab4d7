package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// A trend is what became of one metric at rest.
type trend struct {
	before, after float64 // the medians of the second and the last quarter; not a number if there are too few
	flat          bool
}

// enough is how many samples a quarter must have.
const enough = 2 * restSamples

// trends compares the second and the last quarter of the samples at rest.
func trends(samples []sample) (all [len(metrics)]trend, known bool) {
	var rests []sample
	for _, x := range samples {
		if x.note == "rest" {
			rests = append(rests, x)
		}
	}
	q := len(rests) / 4
	known = true
	for i, m := range metrics {
		before, n := median(rests[q:2*q], i)
		after, k := median(rests[len(rests)-q:], i)
		all[i] = trend{before, after, after <= before*(1+m.ratio)+m.slack}
		known = known && n >= enough && k >= enough
	}
	return all, known
}

// median returns that of the values of a metric, and how many there are.
func median(samples []sample, metric int) (v float64, n int) {
	var values []float64
	for _, x := range samples {
		if v := x.values[metric]; !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return math.NaN(), 0
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2, len(values)
}

// verdict writes what became of each metric, and returns the exit status. Idle are the kinds of
// work that were not done in the end.
func verdict(w io.Writer, samples []sample, idle []string) (status int) {
	all, known := trends(samples)
	fmt.Fprintf(w, "\n%-20s %12s %12s %12s  %s\n", "at rest", "2nd quarter", "last quarter", "tolerance", "verdict")
	for i, m := range metrics {
		t := all[i]
		word := "flat"
		switch {
		case math.IsNaN(t.before) || math.IsNaN(t.after):
			word = "not known"
		case !t.flat:
			word, status = "GROWS", 1
		}
		fmt.Fprintf(w, "%-20s %12.1f %12.1f %12s  %s\n", m.name, t.before, t.after, fmt.Sprintf("%.0f%% + %.0f", 100*m.ratio, m.slack), word)
	}
	if len(idle) > 0 {
		fmt.Fprintf(w, "not done in the last quarter: %s\n", strings.Join(idle, ", "))
		status = 1
	}
	if !known {
		fmt.Fprintln(w, "too few samples to tell")
		status = 2
	}
	return status
}
