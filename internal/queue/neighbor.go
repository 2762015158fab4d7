package queue

// A neighbor is a contender as the others of its session see it. One that waits for a
// neighbor does not watch it: it is told how the neighbor has left.
type neighbor struct {
	mode Mode          // of its znode
	left chan struct{} // closed when it has left; nil as long as nobody waits for that
	how  departure     // set before left is closed
}

// add adds the contender id, which has a znode of mode m, or will have.
func (n *neighborhood) add(id string, m Mode) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.by[id] = &neighbor{mode: m}
}

// depart says how the contender id has left, if it has. Only the first word counts.
func (n *neighborhood) depart(id string, how departure) {
	if how == present {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	me := n.by[id]
	if me == nil {
		return
	}
	delete(n.by, id)
	if me.how = how; me.left != nil {
		close(me.left)
	}
}

// find returns the neighbor whose znode has the name, with left to wait for; nil if it is
// none. A write that has become a read in the same place is none any more.
func (n *neighborhood) find(name string) *neighbor {
	c, _ := parse(name)
	n.mu.Lock()
	defer n.mu.Unlock()
	other := n.by[c.id]
	if other == nil || other.mode != c.mode {
		return nil
	}
	if other.left == nil {
		other.left = make(chan struct{})
	}
	return other
}
