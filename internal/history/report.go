package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Report is what a history shows.
type Report struct {
	Violations []Violation // by time

	Events     int
	Span       time.Duration           // from the first event to the last
	Acquired   map[string]int          // by recipe
	Lost       map[string]int          // by recipe
	HandOvers  map[string]int          // by recipe: acquisitions that had to wait for the end of another hold
	Operations map[string]map[Kind]int // by function and outcome
	Faults     map[string]int          // by name
	Died       int                     // processes that were killed
	Excused    int                     // acquisitions beside a holder that could not know
	margins    map[marginKey]*Margin
}

// A Margin is the least time between the end of a hold and an acquisition that had to wait
// for it.
type Margin struct {
	Recipe string
	After  Kind   // Lost or Release
	Cause  string // of the loss: the name of a fault, "revoked", "deleted" or "closed"
	Times  int
	Least  time.Duration
	Events [2]Event // of the least
}

type marginKey struct {
	recipe string
	after  Kind
	cause  string
}

// A Violation is a promise that was not kept.
type Violation struct {
	Rule   string
	Text   string
	Events []Event // that show it
}

// At returns the time of the last event that shows v.
func (v Violation) At() (at time.Duration) {
	for _, e := range v.Events {
		at = max(at, e.At)
	}
	return at
}

// String returns v with its events, one a line.
func (v Violation) String() string {
	b := new(strings.Builder)
	fmt.Fprintf(b, "%s: %s", v.Rule, v.Text)
	for _, e := range v.Events {
		line, _ := json.Marshal(e) // of strings and numbers
		fmt.Fprintf(b, "\n\t%s", line)
	}
	return b.String()
}

func newReport() *Report {
	return &Report{
		Acquired: make(map[string]int), Lost: make(map[string]int), HandOvers: make(map[string]int),
		Operations: make(map[string]map[Kind]int), margins: make(map[marginKey]*Margin),
	}
}

// OK reports whether there is no violation.
func (r *Report) OK() bool { return len(r.Violations) == 0 }

// Margins returns the margins after losses, and after releases, by recipe and cause.
func (r *Report) Margins() []Margin {
	var all []Margin
	for _, m := range r.margins {
		all = append(all, *m)
	}
	slices.SortFunc(all, func(a, b Margin) int {
		return cmp.Or(cmp.Compare(a.After, b.After), cmp.Compare(a.Recipe, b.Recipe), cmp.Compare(a.Cause, b.Cause))
	})
	return all
}

// Smallest returns the smallest margin after the loss of a session, and whether there is one.
func (r *Report) Smallest() (least Margin, ok bool) {
	for _, m := range r.Margins() {
		if m.After == Lost && !slices.Contains(otherLosses, m.Cause) && (!ok || m.Least < least.Least) {
			least, ok = m, true
		}
	}
	return least, ok
}

// otherLosses are those of which the holder's own client decides, or that come without a
// warning. The words are in the errors of package coord.
var otherLosses = []string{"revoked", "deleted", "closed"}

// margin takes the time from the end of p to the beginning of h, which had to wait for it.
func (c *checker) margin(p, h *Hold) {
	if p.Excuse != "" || p.Ended != Lost && p.Ended != Release {
		return
	}
	key := marginKey{recipe: h.Recipe, after: p.Ended}
	if p.Ended == Lost {
		key.cause = c.lossCause(p)
	}
	m := c.margins[key]
	if m == nil {
		m = &Margin{Recipe: key.recipe, After: key.after, Cause: key.cause}
		c.margins[key] = m
	}
	if left := h.From.At - p.Told.At; m.Times == 0 || left < m.Least {
		m.Least, m.Events = left, [2]Event{c.events[p.end], c.events[h.From.I]}
	}
	m.Times++
}

func (c *checker) lossCause(h *Hold) string {
	for _, word := range otherLosses {
		if strings.Contains(c.events[h.end].Err, word) {
			return word
		}
	}
	return c.faults.cause(h.Told.At, h.Proc)
}

// Write writes the report as a table, with the first violations.
func (r *Report) Write(w io.Writer) error {
	b := new(strings.Builder)
	fmt.Fprintf(b, "history: %d events in %v\n", r.Events, r.Span.Round(time.Millisecond))
	fmt.Fprintf(b, "\n%-12s %9s %9s %10s\n", "recipe", "acquired", "lost", "hand-overs")
	for _, recipe := range slices.Sorted(maps.Keys(r.Acquired)) {
		fmt.Fprintf(b, "%-12s %9d %9d %10d\n", recipe, r.Acquired[recipe], r.Lost[recipe], r.HandOvers[recipe])
	}
	if len(r.Operations) > 0 {
		fmt.Fprintf(b, "\n%-12s %9s %9s %10s\n", "operation", "ok", "refused", "unknown")
	}
	for _, f := range slices.Sorted(maps.Keys(r.Operations)) {
		n := r.Operations[f]
		fmt.Fprintf(b, "%-12s %9d %9d %10d\n", f, n[OK], n[Refused], n[Unknown])
	}
	if len(r.Faults) > 0 || r.Died > 0 {
		fmt.Fprintf(b, "\n%-32s %9s\n", "fault", "times")
	}
	for _, f := range slices.Sorted(maps.Keys(r.Faults)) {
		fmt.Fprintf(b, "%-32s %9d\n", f, r.Faults[f])
	}
	if r.Died > 0 {
		fmt.Fprintf(b, "%-32s %9d\n", "processes killed", r.Died)
	}
	if len(r.margins) > 0 {
		fmt.Fprintf(b, "\n%-12s %-10s %-24s %7s  %s\n", "margin of", "after", "cause", "times", "least")
	}
	for _, m := range r.Margins() {
		fmt.Fprintf(b, "%-12s %-10s %-24s %7d  %v\n", m.Recipe, m.After, cmp.Or(m.Cause, "-"), m.Times, m.Least.Round(time.Microsecond))
	}
	b.WriteString("\n")
	if least, ok := r.Smallest(); ok {
		fmt.Fprintf(b, "smallest margin after the loss of a session: %v (%s, %s)\n", least.Least.Round(time.Microsecond), least.Recipe, least.Cause)
	}
	fmt.Fprintf(b, "excused, because the holder could not know: %d\nviolations: %d\n", r.Excused, len(r.Violations))
	const shown = 20
	for _, v := range r.Violations[:min(shown, len(r.Violations))] {
		fmt.Fprintf(b, "%v\n", v)
	}
	if n := len(r.Violations) - shown; n > 0 {
		fmt.Fprintf(b, "and %d more\n", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
