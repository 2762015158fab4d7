package main

import (
	"cmp"
	"strconv"

	"github.com/anishathalye/porcupine"

	"github.com/zkcoord/zkcoord/internal/history"
)

// register holds a value, "" at first.
var register = model("", func(value string, s step) (string, bool) {
	switch s.f {
	case get:
		return value, value == s.value
	case set:
		return s.value, true
	default:
		return s.value, value == s.was
	}
})

// register returns the operations of a register. Of those that are unknown it leaves out what
// nobody has read.
func (c clock) register(of []*history.Operation) (ops []porcupine.Operation) {
	by := readBy(of)
	for _, o := range of {
		if o.Outcome == history.Refused || o.Aged {
			continue
		}
		returned := o.Returned
		if o.Outcome == history.Unknown && o.Value != "" {
			first, read := by[o.Value]
			if !read {
				continue
			}
			returned = first
		}
		s := step{proc: o.Proc, value: o.Value}
		switch {
		case o.F == history.Set || o.F == history.Modify && !o.Answered:
			s.f = set // whatever it was
		case o.F == history.Modify && (o.Outcome == history.OK || o.Value != ""):
			s.f, s.was = modify, o.Was
		case (o.F == history.Get || o.F == history.Final) && o.Outcome == history.OK:
			s.f, s.value = get, o.Result
		default:
			continue
		}
		ops = append(ops, c.operation(s, o.Called, returned))
	}
	return ops
}

// readBy returns for each value that was read the first moment at which such a read was
// answered. What an unknown change was made of counts if what it has made was read.
func readBy(of []*history.Operation) map[string]history.Moment {
	by := make(map[string]history.Moment)
	note := func(value string, when history.Moment) bool {
		first, known := by[value]
		if known && !when.Before(first) {
			return false
		}
		by[value] = when
		return true
	}
	for _, o := range of {
		switch {
		case o.Outcome != history.OK || o.Aged:
		case o.F == history.Get || o.F == history.Final:
			note(o.Result, o.Returned)
		case o.F == history.Modify:
			note(o.Was, o.Returned)
		}
	}
	for more := true; more; {
		more = false
		for _, o := range of {
			if when, read := by[o.Value]; o.F == history.Modify && o.Outcome == history.Unknown && o.Answered && o.Value != "" && read {
				more = note(o.Was, when) || more
			}
		}
	}
	return by
}

// tally is the state of a counter.
type tally struct {
	sum  int64
	used int64 // of the reserve
}

// counter is added to.
var counter = model(tally{}, func(t tally, s step) (tally, bool) {
	surplus := s.sum - s.delta - t.sum
	t.sum, t.used = s.sum, t.used+surplus
	return t, surplus >= 0 && t.used <= s.reserve
})

// counter returns the operations of a counter, none if something was subtracted from it.
func (c clock) counter(of []*history.Operation) (ops []porcupine.Operation) {
	delta := func(o *history.Operation) int64 {
		n, _ := strconv.ParseInt(cmp.Or(o.Value, "0"), 10, 64) // history.Check says if it is none
		return n
	}
	var reserve []*history.Operation
	for _, o := range of {
		if o.F == history.Add && delta(o) < 0 {
			return nil
		}
		if o.F == history.Add && o.Outcome == history.Unknown {
			reserve = append(reserve, o)
		}
	}
	for _, o := range of {
		if o.Outcome != history.OK || o.Aged {
			continue
		}
		s := step{proc: o.Proc}
		switch o.F {
		case history.Add:
			s.f, s.delta = add, delta(o)
		case history.Sum, history.Final:
			s.f = sum
		default:
			continue
		}
		s.sum, _ = strconv.ParseInt(cmp.Or(o.Result, "0"), 10, 64)
		for _, u := range reserve {
			if u.Called.Before(o.Returned) {
				s.reserve += delta(u)
			}
		}
		ops = append(ops, c.operation(s, o.Called, o.Returned))
	}
	return ops
}
