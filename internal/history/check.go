package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// An Option adjusts a check.
type Option func(*options)

type options struct {
	complete bool
	grace    map[string]time.Duration
	stale    map[string]time.Duration
}

func newOptions(opts []Option) *options {
	o := &options{
		grace: map[string]time.Duration{Pause: time.Second, Delete: 30 * time.Second, Expire: 30 * time.Second},
		stale: map[string]time.Duration{Isolate: 10 * time.Second},
	}
	for _, opt := range opts {
		opt(o)
	}
	return o
}

// Complete says that the run came to its end: faults were healed, and what was asked for was
// waited for. Then a process that lives and still waits is a violation.
func Complete() Option { return func(o *options) { o.complete = true } }

// Grace says that a holder cannot know in time of a loss by the fault, and that it hears of
// it within d of the end of the fault. What it holds by then counts as held until the fault
// began. Without it that is a second for [Pause], and 30 seconds for [Delete] and [Expire].
func Grace(fault string, d time.Duration) Option {
	return func(o *options) { o.grace[fault] = d }
}

// Stale says that during the fault, and for d after its end, what is read may be old. Without
// it that is 10 seconds for [Isolate].
func Stale(fault string, d time.Duration) Option {
	return func(o *options) { o.stale[fault] = d }
}

// A checker looks for violations in one history.
type checker struct {
	*timeline
	*Report
}

// Check looks for violations of what the recipes promise.
func Check(events []Event, opts ...Option) *Report {
	events = Merge(events)
	o := newOptions(opts)
	c := &checker{newTimeline(events, o), newReport()}
	c.count()
	c.Violations = append(c.Violations, c.faulty...)
	for _, of := range byPath(c.holds, func(h *Hold) Event { return h.Event }) {
		switch of[0].Recipe {
		case Lock, Unqueued, RWLock, Leader, Members:
			c.exclusion(of)
		case Semaphore:
			c.permits(of)
		case Barrier:
			c.rounds(of)
		default:
			c.violation("malformed", fmt.Sprintf("recipe %q holds nothing", of[0].Recipe), of[0].end, of[0].From.I)
			continue
		}
		c.tokens(of)
	}
	for _, of := range byPath(c.ops, func(o *Operation) Event { return Event{Path: o.Path} }) {
		c.fencing(of)
		c.sums(of)
		c.values(of)
		c.items(of)
	}
	c.guards()
	c.views()
	if o.complete {
		c.unfinished()
	}
	slices.SortStableFunc(c.Violations, func(a, b Violation) int { return cmp.Compare(a.At(), b.At()) })
	return c.Report
}

// byPath returns what belongs to the same recipe and path, in the order of the paths.
func byPath[T any](all []T, event func(T) Event) [][]T {
	type place struct{ recipe, path string }
	parts := make(map[place][]T)
	for _, x := range all {
		e := event(x)
		parts[place{e.Recipe, e.Path}] = append(parts[place{e.Recipe, e.Path}], x)
	}
	var of [][]T
	for _, p := range slices.SortedFunc(maps.Keys(parts), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.recipe, b.recipe), cmp.Compare(a.path, b.path))
	}) {
		of = append(of, parts[p])
	}
	return of
}

// violation adds one, with the events that show it, by their indexes; -1 is none.
func (c *checker) violation(rule, text string, shown ...int) {
	v := Violation{Rule: rule, Text: text}
	slices.Sort(shown)
	for _, i := range slices.Compact(shown) {
		if i >= 0 && i < len(c.events) {
			v.Events = append(v.Events, c.events[i])
		}
	}
	c.Violations = append(c.Violations, v)
}

// count counts what happened.
func (c *checker) count() {
	c.Events = len(c.events)
	if c.Events > 0 {
		c.Span = c.events[c.Events-1].At - c.events[0].At
	}
	for _, h := range c.holds {
		c.Acquired[h.Recipe]++
		if h.Ended == Lost {
			c.Lost[h.Recipe]++
		}
	}
	for _, o := range c.ops {
		if c.Operations[o.F] == nil {
			c.Operations[o.F] = make(map[Kind]int)
		}
		c.Operations[o.F][o.Outcome]++
	}
	for _, e := range c.events {
		if e.Kind == Died {
			c.Died++
		}
	}
	c.Faults = maps.Clone(c.faults.byKind)
}

// unfinished says who still waits or holds in the end.
func (c *checker) unfinished() {
	for _, w := range c.asked {
		switch {
		case !w.open():
		case w.hold == nil:
			c.violation("unfinished", fmt.Sprintf("%s waits for %s %s in the end", w.ask.Proc, w.ask.Recipe, w.ask.Path), w.asked.I)
		default:
			c.violation("unfinished", fmt.Sprintf("%s holds %s %s in the end", w.ask.Proc, w.ask.Recipe, w.ask.Path), w.hold.From.I)
		}
	}
	for _, of := range c.calling {
		for _, o := range of {
			c.violation("unfinished", fmt.Sprintf("%s of %s by %s has no answer in the end", o.F, o.Path, o.Proc), o.Called.I)
		}
	}
}
