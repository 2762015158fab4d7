package coord

import (
	"time"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// A request is one that was written.
type request struct {
	xid     int32
	at      moment
	before  moment           // when the newest request was written that had been answered by then
	size    int              // in bytes
	writes  bool             // it is a transaction
	skipped moment           // when a later one was answered; zero if none has been
	watches *jute.SetWatches // nil for other requests
}

// largeRequest is what goes out in an instant on any line worth a session.
const largeRequest = 64 << 10

// A debt is what a connection owes answers for. Servers answer in order.
type debt struct {
	any     bool          // anything
	large   bool          // the answer to a request so large that it may still be on its way
	skipped time.Duration // for how long an answer has been owed though a later request has had its
	stuck   time.Duration // for how long a transaction has, while no answer came to what was before it
}

// debt returns what the connection owes, when no answer has come for silent.
func (t *tap) debt(silent time.Duration) debt {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := debt{any: len(t.sent) > 0}
	if d.any && !t.sent[0].skipped.at.IsZero() {
		d.skipped = t.sent[0].skipped.age()
	}
	for _, r := range t.sent {
		d.large = d.large || r.size > largeRequest
		if r.writes && d.stuck == 0 {
			d.stuck = r.at.age()
			if r.skipped.at.IsZero() {
				d.stuck = min(d.stuck, silent)
			}
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
			if t.sent[j].skipped.at.IsZero() {
				t.sent[j].skipped = now()
			}
		}
		copy(t.sent[1:i+1], t.sent[:i])
		t.sent[0] = request{} // it may hold on to many paths
		t.sent = t.sent[1:]
		return r
	}
	return request{} // nobody asked
}

// expiredWithin reports whether what follows the header of an answer is that of a
// Multi which a server refused because it knows the session no more. It says so op by
// op.
func expiredWithin(d *jute.Decoder) bool {
	for {
		h := d.MultiHeader()
		if h.Op != jute.OpError || h.Done || d.Bad() {
			return false
		}
		if h.Code == jute.CodeSessionExpired {
			return true
		}
		d.Int32() // the code again
	}
}
