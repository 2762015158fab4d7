package history

import "fmt"

// A timeline is a history in which the events that belong together are found.
type timeline struct {
	events []Event
	holds  []*Hold // by Acquired
	asked  []*wait // by Ask
	ops    []*Operation
	faults faults
	faulty []Violation // what makes no sense

	waiting map[string]map[int64]*wait // by Proc and Op
	calling map[string]map[int64]*Operation
}

func newTimeline(events []Event, o *options) *timeline {
	t := &timeline{
		events:  events,
		waiting: make(map[string]map[int64]*wait),
		calling: make(map[string]map[int64]*Operation),
	}
	for i := range events {
		t.add(i)
	}
	if len(events) > 0 {
		t.faults.reckon(o, events[len(events)-1].At)
	}
	for _, h := range t.holds {
		t.faults.excuse(h)
	}
	for _, o := range t.ops {
		o.Aged = (o.F == Get || o.F == Sum) && t.faults.age(o.Called.At, o.Returned.At)
	}
	return t
}

// senseless says that the event i cannot be.
func (t *timeline) senseless(i int, format string, args ...any) {
	t.faulty = append(t.faulty, Violation{"malformed", fmt.Sprintf(format, args...), []Event{t.events[i]}})
}

// add takes the event i.
func (t *timeline) add(i int) {
	e := t.events[i]
	switch e.Kind {
	case Ask, Acquired, Downgrade, Lost, Release, Released, GaveUp:
		t.addHold(i, e)
	case Call, OK, Refused, Unknown:
		t.addOp(i, e)
	case Fault, Healed:
		if !t.faults.add(i, e) {
			t.senseless(i, "what did not begin is healed")
		}
	case Died:
		t.addDeath(i, e)
	case Seen, Suspended:
	default:
		t.senseless(i, "unknown kind %q", e.Kind)
	}
}

func (t *timeline) addHold(i int, e Event) {
	now := Moment{e.At, i}
	if t.waiting[e.Proc] == nil {
		t.waiting[e.Proc] = make(map[int64]*wait)
	}
	w := t.waiting[e.Proc][e.Op]
	if e.Kind == Ask {
		if w != nil && w.open() {
			t.senseless(i, "asks with the number of what has not ended")
		}
		w = &wait{ask: e, asked: now, over: Forever}
		t.waiting[e.Proc][e.Op] = w
		t.asked = append(t.asked, w)
		return
	}
	if w == nil {
		t.senseless(i, "nothing was asked for")
		return
	}
	h := w.hold
	switch e.Kind {
	case Acquired:
		if h != nil {
			t.senseless(i, "acquired twice")
			return
		}
		w.hold = acquired(w, e, now)
		t.holds = append(t.holds, w.hold)
	case Downgrade:
		if h == nil || h.Recipe != RWLock {
			t.senseless(i, "downgrades what is not held for writing")
			return
		}
		if h.Ended == "" && h.Shared == Forever {
			h.Shared = now
		}
	case Lost:
		w.end(now)
		if h != nil && h.Ended == "" {
			// Of events at the time of the loss none was before it: see the package comment.
			h.over(Lost, Moment{e.At, -1}, i)
		}
	case Release:
		w.released = true
		if h != nil && h.Ended == "" {
			h.over(Release, now, i)
		}
	case Released, GaveUp:
		w.end(now)
		if h != nil && h.Ended == "" {
			t.senseless(i, "ends what is held, and was not released")
		}
		if h != nil && h.Ended == Release && e.Err == "" {
			h.Left = now
		}
	}
}

// end says that w is over.
func (w *wait) end(now Moment) {
	if w.over == Forever {
		w.over = now
	}
}

// acquired returns the hold that e begins.
func acquired(w *wait, e Event, now Moment) *Hold {
	h := &Hold{Event: w.ask, Asked: w.asked, From: now, Shared: Forever, Until: Forever, Told: Forever, Left: Forever, end: -1}
	h.At, h.Kind, h.Token, h.Value, h.Err = e.At, e.Kind, e.Token, e.Value, e.Err
	if e.N != 0 {
		h.N = e.N
	}
	if h.Recipe == RWLock && h.F == Reading {
		h.Shared = now
	}
	if w.released {
		h.over(Release, now, now.I) // it does not act as a holder
	}
	return h
}

// over ends h.
func (h *Hold) over(how Kind, when Moment, i int) {
	h.Ended, h.Until, h.Told, h.end = how, when, when, i
	if h.Shared == Forever {
		h.Shared = when
	}
}

func (t *timeline) addOp(i int, e Event) {
	now := Moment{e.At, i}
	if t.calling[e.Proc] == nil {
		t.calling[e.Proc] = make(map[int64]*Operation)
	}
	o := t.calling[e.Proc][e.Op]
	if e.Kind == Call {
		if o != nil {
			t.senseless(i, "calls with the number of what has not returned")
		}
		o = &Operation{Event: e, Called: now, Returned: Forever, Outcome: Unknown, end: -1}
		t.calling[e.Proc][e.Op] = o
		t.ops = append(t.ops, o)
		return
	}
	if o == nil {
		t.senseless(i, "nothing was called")
		return
	}
	delete(t.calling[e.Proc], e.Op)
	o.Answered, o.Outcome, o.Returned, o.end, o.err = true, e.Kind, now, i, e.Err
	switch e.Kind {
	case OK:
		o.Result = e.Value
	case Unknown:
		o.Returned = Forever
	}
	if o.F == Modify { // until then it is not known what is replaced
		o.Value, o.Was = e.Value, e.Was
	}
	if e.Token != 0 {
		o.Token = e.Token
	}
}

func (t *timeline) addDeath(i int, e Event) {
	for _, w := range t.waiting[e.Proc] {
		w.end(Moment{e.At, i})
		if w.hold != nil && w.hold.Ended == "" {
			w.hold.over(Died, Moment{e.At, i}, i)
		}
	}
	delete(t.waiting, e.Proc)
	delete(t.calling, e.Proc) // what they did remains unknown
}
