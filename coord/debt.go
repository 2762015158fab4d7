package coord

import "time"

// A request is one that was written.
type request struct {
	xid     int32
	at      moment
	writes  bool         // it is a transaction
	skipped bool         // a later one has been answered
	watches *[3][]string // of a SetWatches: the paths for data, existence and children
}

// writes reports whether requests of kind op are transactions.
func writes(op int32) bool {
	switch op {
	case opCreate, opDelete, opSetData, opSetACL, opMulti, opCreateContainer, opCreateTTL:
		return true
	}
	return false
}

// A debt is what a connection owes answers for. Servers answer in order.
type debt struct {
	any     bool          // anything
	skipped time.Duration // for how long the oldest request has been owed its answer, if a later one has been answered
	stuck   time.Duration // for how long a transaction has, while no answer came to what was before it
}

// debt returns what the connection owes, when no answer has come for silent.
func (t *tap) debt(silent time.Duration) debt {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := debt{any: len(t.sent) > 0}
	if d.any && t.sent[0].skipped {
		d.skipped = t.sent[0].at.age()
	}
	for _, r := range t.sent {
		if r.writes {
			d.stuck = r.at.age()
			if !r.skipped {
				d.stuck = min(d.stuck, silent)
			}
			break
		}
	}
	return d
}

// answer returns the request that an answer with this xid is to, and forgets it.
// Those before it have been skipped: servers answer in the order in which they
// were asked, but for a refusal that they give by themselves.
func (t *tap) answer(xid int32) request {
	for i, r := range t.sent {
		if r.xid != xid {
			continue
		}
		for j := range t.sent[:i] {
			t.sent[j].skipped = true
		}
		copy(t.sent[1:i+1], t.sent[:i])
		t.sent[0] = request{} // it may hold on to many paths
		t.sent = t.sent[1:]
		return r
	}
	return request{} // nobody asked
}
