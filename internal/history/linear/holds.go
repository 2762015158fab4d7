package main

import (
	"fmt"

	"github.com/anishathalye/porcupine"

	"github.com/zkcoord/zkcoord/internal/history"
)

// A step is what an operation asks for, and what came of it: no operation of a model has an
// Output of its own.
type step struct {
	proc string
	f    function

	n          int    // of acquire: the permits
	value, was string // of a register
	delta, sum int64  // of a counter
	reserve    int64  // of a counter: how much the unknown additions before may have added
}

type function string

const (
	acquire     function = "acquire"
	release     function = "release"
	acquireRead function = "acquire for reading"
	releaseRead function = "release for reading"
	downgrade   function = "downgrade"
	get         function = "get"
	set         function = "set"
	modify      function = "modify"
	add         function = "add"
	sum         function = "sum"
)

// exclusive returns the operations of holds each of which excludes all others.
func (c clock) exclusive(holds []*history.Hold) (ops []porcupine.Operation) {
	for _, h := range holds {
		if !h.From.Before(h.Until) {
			continue // it is not certain that it held at any time
		}
		ops = append(ops, c.operation(step{proc: h.Proc, f: acquire}, h.Asked, h.From))
		if h.Until != history.Forever {
			ops = append(ops, c.operation(step{proc: h.Proc, f: release}, h.Until, h.Left))
		}
	}
	return ops
}

// shared returns the operations of readers and writers.
func (c clock) shared(holds []*history.Hold) (ops []porcupine.Operation) {
	for _, h := range holds {
		if !h.From.Before(h.Until) {
			continue
		}
		in, out := acquire, release
		if h.F == history.Reading {
			in, out = acquireRead, releaseRead
		}
		ops = append(ops, c.operation(step{proc: h.Proc, f: in}, h.Asked, h.From))
		if in == acquire && h.Shared.Before(h.Until) {
			// At once, as a release of those that share.
			ops = append(ops, c.operation(step{proc: h.Proc, f: downgrade}, h.Shared, h.Shared))
			out = releaseRead
		}
		if h.Until != history.Forever {
			ops = append(ops, c.operation(step{proc: h.Proc, f: out}, h.Until, left(h, out == releaseRead)))
		}
	}
	return ops
}

// permits returns the operations of those that hold permits.
func (c clock) permits(holds []*history.Hold) (ops []porcupine.Operation) {
	for _, h := range holds {
		if !h.From.Before(h.Until) {
			continue
		}
		ops = append(ops, c.operation(step{proc: h.Proc, f: acquire, n: h.N}, h.Asked, h.From))
		if h.Until != history.Forever {
			ops = append(ops, c.operation(step{proc: h.Proc, f: release}, h.Until, left(h, true)))
		}
	}
	return ops
}

// left returns the moment by which the ensemble has released h: see the package comment.
func left(h *history.Hold, shares bool) history.Moment {
	if shares && h.Left == history.Forever {
		return h.Until
	}
	return h.Left
}

func (c clock) operation(s step, from, to history.Moment) porcupine.Operation {
	return porcupine.Operation{Input: s, Call: c.at(from), Return: c.at(to)}
}

// mutex is held by one at a time. Its state is who.
var mutex = model("", func(holder string, s step) (string, bool) {
	switch s.f {
	case acquire:
		return s.proc, holder == ""
	default:
		return "", holder == s.proc
	}
})

// inside are those that share a lock.
type inside struct {
	writer  string
	readers int
}

// shared is held by one for writing, or by any number for reading.
var shared = model(inside{}, func(in inside, s step) (inside, bool) {
	switch s.f {
	case acquire:
		return inside{writer: s.proc}, in == inside{}
	case release:
		return inside{}, in.writer == s.proc
	case downgrade:
		return inside{readers: 1}, in.writer == s.proc
	case acquireRead:
		return inside{readers: in.readers + 1}, in.writer == ""
	default:
		return inside{readers: in.readers - 1}, in.readers > 0
	}
})

// semaphore has permits. Its state is how many are taken.
var semaphore = model(0, func(taken int, s step) (int, bool) {
	if s.f == acquire {
		return taken + 1, taken < s.n
	}
	return taken - 1, taken > 0
})

// model returns the model that begins in the state given. next returns the state after s, and
// whether s is possible.
func model[S comparable](begin S, next func(S, step) (S, bool)) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return begin },
		Step: func(state, input, _ any) (bool, any) {
			after, ok := next(state.(S), input.(step))
			return ok, after
		},
		Equal:             func(a, b any) bool { return a == b },
		DescribeOperation: func(input, _ any) string { return input.(step).String() },
		DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
	}
}

// String returns s for the picture.
func (s step) String() string {
	text := fmt.Sprintf("%s: %s", s.proc, s.f)
	switch s.f {
	case get, set:
		text += fmt.Sprintf(" %q", s.value)
	case modify:
		text += fmt.Sprintf(" %q to %q", s.was, s.value)
	case add:
		text += fmt.Sprintf(" %d: %d", s.delta, s.sum)
	case sum:
		text += fmt.Sprintf(": %d", s.sum)
	}
	return text
}
