package queue

// An order is a queue in which many look for their places: each then finds its own without
// a look at all others.
type order struct {
	all    []contender    // head first
	at     map[string]int // by id
	unsure []bool         // by place: the number does not tell the place of this contender
	alone  []int          // by place: the last one before it that does not share, or -1
	before []int          // by place: how many of those are before it
	sound  bool           // the numbers of all are in range

	foreign string // a child that is of another recipe; empty if there is none
}

func newOrder(children []string) *order {
	o := &order{all: inOrder(children), sound: true}
	n := len(o.all)
	o.at = make(map[string]int, n)
	if n < len(children) {
		o.foreign = firstForeign(children)
	}
	o.unsure, o.alone, o.before = make([]bool, n), make([]int, n), make([]int, n)
	last, count := -1, 0
	for i, c := range o.all {
		o.at[c.id] = i
		o.sound = o.sound && inRange(c)
		if i > 0 && o.all[i-1].number == c.number {
			o.unsure[i-1], o.unsure[i] = true, true
		}
		if o.alone[i], o.before[i] = last, count; c.mode != Read {
			last, count = i, count+1
		}
	}
	return o
}

// place returns what [placeOf] does.
func (o *order) place(id string) (p place) {
	i, ok := o.at[id]
	if !ok {
		return p
	}
	p = place{found: true, me: o.all[i], ordered: o.sound && !o.unsure[i], blocked: i, foreign: o.foreign}
	last := i - 1
	if p.me.mode == Read {
		p.blocked, last = o.before[i], o.alone[i]
	}
	if p.blocked > 0 {
		p.nearest = o.all[last]
	}
	return p
}
