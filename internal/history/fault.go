package history

import (
	"slices"
	"sort"
	"strings"
	"time"
)

// A fault is from Fault to Healed.
type fault struct {
	Event
	began  Moment
	healed time.Duration // when; if never, the time of began, or of a pause the end of time
	open   bool          // it was not healed
	within time.Duration // of healed, in which its victim hears of what it has done
	reach  time.Duration // the latest healed plus within, of this and all before
}

// faults are those of a history, by their beginning.
type faults struct {
	all      []*fault
	excusing []*fault // those of which a holder cannot know in time
	aging    []*fault // those during which what is read may be old
	unhealed map[faultKey]*fault
	byKind   map[string]int
	end      time.Duration // of the history
}

type faultKey struct {
	proc  string
	op    int64
	f     string
	value string
}

// add takes a Fault or a Healed, and reports whether it makes sense.
func (fs *faults) add(i int, e Event) bool {
	if fs.unhealed == nil {
		fs.unhealed, fs.byKind = make(map[faultKey]*fault), make(map[string]int)
	}
	key := faultKey{e.Proc, e.Op, e.F, e.Value}
	if e.Kind == Healed {
		f := fs.unhealed[key]
		if f != nil {
			f.healed, f.open = e.At, false
			delete(fs.unhealed, key)
		}
		return f != nil
	}
	f := &fault{Event: e, began: Moment{e.At, i}, healed: e.At, open: true}
	fs.all = append(fs.all, f)
	fs.unhealed[key] = f
	fs.byKind[e.F]++
	return true
}

// reckon finds out which faults excuse what.
func (fs *faults) reckon(o *options, end time.Duration) {
	fs.end = end
	var reach time.Duration
	for _, f := range fs.all {
		if f.open && f.F == Pause {
			f.healed = end
		}
		if within, ok := o.grace[f.F]; ok {
			f.within = within
			reach = max(reach, f.healed+within)
			f.reach = reach
			fs.excusing = append(fs.excusing, f)
		}
		if after, ok := o.stale[f.F]; ok {
			if f.open {
				f.healed = end
			}
			f.within = max(f.within, after)
			fs.aging = append(fs.aging, f)
		}
	}
}

// of reports whether f is one of proc, or of the process that proc is an actor of.
func (f *fault) of(proc string) bool {
	return f.Value == proc || f.Value != "" && strings.HasPrefix(proc, f.Value+"/")
}

// hits reports whether f concerns h.
func (f *fault) hits(h *Hold) bool {
	if f.Token != 0 {
		return f.Token == h.Token
	}
	return (f.Value == "" || f.of(h.Proc)) &&
		(f.Path == "" || f.Path == h.Path || strings.HasPrefix(h.Path, strings.TrimSuffix(f.Path, "/")+"/"))
}

// excuse makes the certain end of h that of the fault on account of which h was told too
// late, if there is one.
func (fs *faults) excuse(h *Hold) {
	told := min(h.Told.At, fs.end)
	n := sort.Search(len(fs.excusing), func(i int) bool { return fs.excusing[i].began.At > told })
	for _, f := range slices.Backward(fs.excusing[:n]) {
		if f.reach < h.From.At {
			return // nor does any before it
		}
		if !f.hits(h) || told > f.healed+f.within || !f.began.Before(h.Until) {
			continue
		}
		h.Excuse = f.F
		h.Until = f.began
		if h.Until.Before(h.From) {
			h.Until = h.From
		}
	}
}

// recent is how long a fault that is over counts as the reason of a loss.
const recent = time.Minute

// cause returns the name of the fault that is the likely reason of what happened to proc at
// the time m: the last that was in force and has hit proc, or was in force, or is over.
func (fs *faults) cause(m time.Duration, proc string) string {
	n := sort.Search(len(fs.all), func(i int) bool { return fs.all[i].At > m })
	best, rank := "no fault", 0
	for i := n - 1; i >= 0 && i > n-200; i-- {
		f := fs.all[i]
		inForce, its := f.healed >= m, f.of(proc)
		r := 0
		switch {
		case its && inForce:
			r = 4
		case its && m-f.healed < recent:
			r = 3
		case inForce:
			r = 2
		case m-f.healed < recent:
			r = 1
		}
		if r > rank {
			best, rank = f.F, r
		}
	}
	return best
}

// age reports whether a fault was in force during the time given, or so short a time before,
// that what was read then may be old.
func (fs *faults) age(from, to time.Duration) bool {
	return slices.ContainsFunc(fs.aging, func(f *fault) bool { return f.At <= to && from <= f.healed+f.within })
}
