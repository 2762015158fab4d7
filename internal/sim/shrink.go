package sim

import (
	"slices"
	"time"
)

// Shrink returns a script that fails as s does, with fewer lines and shorter times, as far as
// so many runs lead. fails plays a script and reports whether it fails in that way.
func Shrink(s *Script, runs int, fails func(*Script) bool) *Script {
	try := func(lines []Line, end time.Duration) bool {
		if runs == 0 {
			return false
		}
		runs--
		smaller := *s
		smaller.Lines, smaller.End = lines, end
		if !fails(&smaller) {
			return false
		}
		s = &smaller
		return true
	}
	for before := -1; before != len(s.Lines) && runs > 0; {
		before = len(s.Lines)
		// What comes after the failure first: it is the cheapest to find.
		for n := len(s.Lines) / 2; n > 0; n /= 2 {
			if kept := s.Lines[:len(s.Lines)-n]; try(slices.Clone(kept), min(s.End, endOf(kept))) {
				n = len(s.Lines)
			}
		}
		for size := (len(s.Lines) + 1) / 2; size > 0; size /= 2 {
			for i := 0; i < len(s.Lines); {
				rest := slices.Delete(slices.Clone(s.Lines), i, min(i+size, len(s.Lines)))
				if !try(rest, s.End) {
					i += size
				}
			}
		}
	}
	// The times between lines, and from the last to the end.
	for i := range s.Lines {
		var before time.Duration
		if i > 0 {
			before = s.Lines[i-1].At
		}
		for _, gap := range []time.Duration{0, time.Second, (s.Lines[i].At - before) / 2} {
			if less := s.Lines[i].At - before - gap.Truncate(time.Millisecond); less > 0 && try(shift(s.Lines, i, less), s.End-less) {
				break
			}
		}
	}
	if n := len(s.Lines); n > 0 {
		try(s.Lines, s.Lines[n-1].At)
	}
	return s
}

// endOf returns when the script ends whose lines are these: late enough for what they begin.
func endOf(lines []Line) time.Duration {
	if len(lines) == 0 {
		return 0
	}
	return lines[len(lines)-1].At + time.Minute
}

// shift returns the lines with those from i on so much earlier.
func shift(lines []Line, i int, less time.Duration) []Line {
	lines = slices.Clone(lines)
	for ; i < len(lines); i++ {
		lines[i].At -= less
	}
	return lines
}
