package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// A Spread is the middle and the ends of some values; N says how many they are.
type Spread struct {
	Median, Min, Max float64
	N                int
}

func spread[K comparable](values map[K]float64) Spread {
	v := slices.Sorted(maps.Values(values))
	n := len(v)
	if n == 0 {
		return Spread{}
	}
	return Spread{(v[(n-1)/2] + v[n/2]) / 2, v[0], v[n-1], n}
}

// plain is the median alone.
func (s Spread) plain() string {
	if s.N == 0 {
		return "–"
	}
	return format(s.Median)
}

// String is the median with the ends, if they differ.
func (s Spread) String() string {
	if s.N < 2 || format(s.Min) == format(s.Max) {
		return s.plain()
	}
	return fmt.Sprintf("%s [%s..%s]", format(s.Median), format(s.Min), format(s.Max))
}

// format prints a number with three digits that count, and thousands apart.
func format(v float64) string {
	switch abs := math.Abs(v); {
	case abs < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case abs < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return grouped(v)
}

// grouped prints a whole number.
func grouped(v float64) string {
	text := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
