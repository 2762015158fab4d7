package main

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	"github.com/anishathalye/porcupine"

	"github.com/zkcoord/zkcoord/internal/history"
)

// A part is what happened at one path.
type part struct {
	name, path string
	model      porcupine.Model
	ops        []porcupine.Operation
}

// parts returns those of a history that a model describes.
func parts(events []history.Event, opts ...history.Option) (all []part) {
	c := clock(events)
	holds := make(map[[2]string][]*history.Hold)
	for _, h := range history.Holds(events, opts...) {
		holds[[2]string{h.Recipe, h.Path}] = append(holds[[2]string{h.Recipe, h.Path}], h)
	}
	for at, of := range holds {
		p := part{name: at[0], path: at[1]}
		switch at[0] {
		case history.Lock, history.Unqueued, history.Leader, history.Members:
			p.model, p.ops = mutex, c.exclusive(of)
		case history.RWLock:
			p.model, p.ops = shared, c.shared(of)
		case history.Semaphore:
			p.model, p.ops = semaphore, c.permits(of)
		default:
			continue
		}
		all = append(all, p)
	}
	ops := make(map[string][]*history.Operation)
	for _, o := range history.Operations(events, opts...) {
		ops[o.Path] = append(ops[o.Path], o)
	}
	for path, of := range ops {
		uses := func(f string) bool {
			return slices.ContainsFunc(of, func(o *history.Operation) bool { return o.F == f })
		}
		switch {
		case uses(history.Add):
			all = append(all, part{"counter", path, counter, c.counter(of)})
		case uses(history.Set), uses(history.Modify):
			all = append(all, part{"register", path, register, c.register(of)})
		}
	}
	slices.SortFunc(all, func(a, b part) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.path, b.path)) })
	for i := range all {
		lanes(all[i].ops)
	}
	return all
}

// A clock gives each moment a number of its own, in their order. What happens at one time,
// as in a bubble, is in the order of the lines.
type clock []history.Event

func (c clock) at(m history.Moment) int64 {
	switch {
	case m == history.Forever:
		return int64(2 * len(c))
	case m.I < 0: // before all of its time
		return int64(2*sort.Search(len(c), func(i int) bool { return c[i].At >= m.At }) - 1)
	}
	return int64(2 * m.I)
}

// lanes gives operations that overlap different clients, as the picture needs it. The Input of
// each is a step.
func lanes(ops []porcupine.Operation) {
	slices.SortStableFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	busy := make(map[string]map[int]int64) // until when, by process and client
	clients := 0
	for i := range ops {
		proc := ops[i].Input.(step).proc
		if busy[proc] == nil {
			busy[proc] = make(map[int]int64)
		}
		lane := -1
		for _, client := range slices.Sorted(maps.Keys(busy[proc])) {
			if busy[proc][client] < ops[i].Call {
				lane = client
				break
			}
		}
		if lane < 0 {
			lane = clients
			clients++
		}
		busy[proc][lane] = ops[i].Return
		ops[i].ClientId = lane
	}
}
