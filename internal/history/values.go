package history

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
)

// sums checks that each addition counted once, of the operations of one path.
func (c *checker) sums(ops []*Operation) {
	var all []*addition
	positive, counts := true, false
	for _, o := range ops {
		counts = counts || o.F == Add
		if o.F == Add && o.Outcome != Refused {
			delta, err := strconv.ParseInt(o.Value, 10, 64)
			if err != nil {
				c.violation("malformed", err.Error(), o.Called.I)
				continue
			}
			all = append(all, &addition{o, delta})
			positive = positive && delta > 0
		}
	}
	if !counts {
		return
	}
	called, returned := newPrefix(all, func(a *addition) Moment { return a.Called }), newPrefix(all, func(a *addition) Moment { return a.Returned })
	sums := make(map[string]*Operation)
	for _, o := range ops {
		if o.Outcome != OK || o.F != Add && o.F != Sum && o.F != Final {
			continue
		}
		got, err := strconv.ParseInt(cmp.Or(o.Result, "0"), 10, 64)
		if err != nil {
			c.violation("malformed", err.Error(), o.end)
			continue
		}
		// What had been answered counts, and what had been asked for may.
		doneUp, doneDown := returned.upTo(o.Called)
		askedUp, askedDown := called.upTo(o.Returned)
		least, most := doneUp+askedDown, doneDown+askedUp
		if o.F == Add {
			delta, _ := strconv.ParseInt(o.Value, 10, 64) // read above
			least, most = least+max(delta, 0), most+min(delta, 0)
			if before := sums[o.Result]; positive && before != nil {
				c.violation("sums", fmt.Sprintf("two additions to %s have the sum %s", o.Path, o.Result), before.Called.I, before.end, o.Called.I, o.end)
			}
			sums[o.Result] = o
		}
		if o.Aged {
			continue
		}
		if got < least || got > most {
			c.violation("sums", fmt.Sprintf("%s is %d, and not from %d to %d", o.Path, got, least, most), o.Called.I, o.end)
		}
	}
}

type addition struct {
	*Operation
	delta int64
}

// A prefix has the sums of the first of some additions, in the order of a moment of each.
type prefix struct {
	when     []Moment
	up, down []int64 // of those that are positive, and of those that are not
}

func newPrefix(all []*addition, when func(*addition) Moment) prefix {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b *addition) int {
		return cmp.Or(cmp.Compare(when(a).At, when(b).At), cmp.Compare(when(a).I, when(b).I))
	})
	p := prefix{up: []int64{0}, down: []int64{0}}
	for i, a := range all {
		p.when = append(p.when, when(a))
		p.up = append(p.up, p.up[i]+max(a.delta, 0))
		p.down = append(p.down, p.down[i]+min(a.delta, 0))
	}
	return p
}

// upTo returns the sums of those at m or before.
func (p prefix) upTo(m Moment) (up, down int64) {
	n := sort.Search(len(p.when), func(i int) bool { return m.Before(p.when[i]) })
	return p.up[n], p.down[n]
}

// values checks that what was read had been written, and that no change was made of a value
// that another had been made of, of the operations of one path. Every value is written once.
func (c *checker) values(ops []*Operation) {
	written := make(map[string]*Operation)
	replaced := make(map[string]*Operation)
	for _, o := range ops {
		if o.F != Set && o.F != Modify || o.Outcome == Refused {
			continue
		}
		if before := written[o.Value]; before != nil && o.Value != "" {
			c.violation("malformed", fmt.Sprintf("two writes of the value %q to %s", o.Value, o.Path), before.Called.I, o.Called.I)
		}
		written[o.Value] = o
		if o.F == Modify && o.Outcome == OK && o.Was != "" {
			if before := replaced[o.Was]; before != nil {
				c.violation("values", fmt.Sprintf("%s was changed twice from %q: one of the changes is lost", o.Path, o.Was), before.Called.I, before.end, o.Called.I, o.end)
			}
			replaced[o.Was] = o
		}
	}
	if len(written) == 0 {
		return
	}
	check := func(value string, by Moment, shown ...int) {
		if w := written[value]; value != "" && (w == nil || by.Before(w.Called)) {
			c.violation("values", fmt.Sprintf("%q was read from %s, and not written before", value, ops[0].Path), shown...)
		}
	}
	for _, o := range ops {
		switch {
		case o.Outcome == OK && (o.F == Get || o.F == Final):
			check(o.Result, o.Returned, o.Called.I, o.end)
		case o.Outcome == OK && o.F == Modify:
			check(o.Was, o.Returned, o.Called.I, o.end)
		}
	}
	for i, e := range c.events {
		if e.Kind == Seen && e.Path == ops[0].Path {
			check(e.Value, Moment{e.At, i}, i)
		}
	}
}

// items checks that the work of each item of a queue was done once, of the operations of one
// path: never twice, and in the end not too seldom.
func (c *checker) items(ops []*Operation) {
	type item struct {
		put, done *Operation // the first
		may       bool       // it may have been done by an operation whose outcome is unknown
	}
	items := make(map[string]*item)
	var names []string
	of := func(o *Operation) *item {
		if items[o.Value] == nil {
			items[o.Value] = new(item)
			names = append(names, o.Value)
		}
		return items[o.Value]
	}
	var final *Operation
	for _, o := range ops {
		switch {
		case o.F == Final && o.Outcome == OK:
			final = o
		case o.F == Put && o.Outcome != Refused:
			if x := of(o); x.put == nil || o.Outcome == OK {
				x.put = o
			}
		case o.F == Done && o.Outcome == Unknown:
			of(o).may = true
		case o.F == Done && o.Outcome == OK:
			x := of(o)
			if x.done != nil {
				c.violation("items", fmt.Sprintf("%q of %s is done twice", o.Value, o.Path), x.done.Called.I, x.done.end, o.Called.I, o.end)
			}
			x.done = o
		}
	}
	for _, name := range names {
		switch x := items[name]; {
		case x.put == nil && x.done != nil:
			c.violation("items", fmt.Sprintf("%q is done, and was never put", name), x.done.Called.I, x.done.end)
		case x.put != nil && x.done != nil && x.done.Returned.Before(x.put.Called):
			c.violation("items", fmt.Sprintf("%q is done before it was put", name), x.done.end, x.put.Called.I)
		case final != nil && x.put != nil && x.put.Outcome == OK && x.done == nil && !x.may:
			c.violation("items", fmt.Sprintf("%q was put, and is not done in the end", name), x.put.Called.I, x.put.end, final.Called.I)
		}
	}
}
