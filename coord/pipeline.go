package coord

import (
	"time"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// A request is what the tap notes of a request when that is written.
type request struct {
	xid int32
	op  jute.Op
	// call is the session's own that was written; nil if it is go-zookeeper's request,
	// which then has the number theirs for it.
	call   *call
	theirs int32
	// at is when it was written, and acked is the lease's acked at that moment.
	at, acked moment
	// size is how many bytes it has.
	size int
	// writes says that it is a transaction, which needs a quorum.
	writes bool
	// overtaken is when a later request was first answered; zero if none has been.
	overtaken moment
}

// largeRequest is how many bytes a request must have to be given time to arrive. Fewer are
// gone in an instant on every line that can keep a session.
const largeRequest = 64 << 10

// A pipeline has the requests on one connection that have not been answered, oldest
// first. Servers answer in order, except that a refusal which needs no quorum may come
// earlier. So a request that was overtaken may still be answered, but if the answer does
// not come soon, it is lost.
type pipeline []request

// answered returns the request that an answer with this xid answers, and forgets it. It
// returns the zero request if there is none, as for an event.
func (p *pipeline) answered(now moment, xid int32) request {
	for i, r := range *p {
		if r.xid != xid {
			continue
		}
		for j := range (*p)[:i] {
			if (*p)[j].overtaken.never() {
				(*p)[j].overtaken = now
			}
		}
		// Most often i is zero, so to move what is before r is cheaper than what is behind.
		copy((*p)[1:i+1], (*p)[:i])
		_, *p = pop(*p)
		return r
	}
	return request{}
}

// A backlog is what a connection still has to answer.
type backlog struct {
	// unanswered says that there is a request which has not been answered.
	unanswered bool
	// large says that one of them is so large that it may still be on its way.
	large bool
	// overtaken is how long ago a request later than the oldest one was first answered.
	overtaken time.Duration
	// stuck is for how long a transaction has waited while nothing before it was
	// answered.
	stuck time.Duration
}

// backlog returns what there is to answer, when nothing has been heard for silent.
//
// A transaction is not stuck while the server works on the requests before it. As long as
// the transaction has not been overtaken, each answer shows that it was not its turn
// before. So it has been stuck for no longer than the silence.
func (p pipeline) backlog(now moment, silent time.Duration) backlog {
	b := backlog{unanswered: len(p) > 0}
	if b.unanswered && !p[0].overtaken.never() {
		b.overtaken = now.since(p[0].overtaken)
	}
	for _, r := range p {
		b.large = b.large || r.size > largeRequest
		if r.writes && b.stuck == 0 {
			b.stuck = now.since(r.at)
			if r.overtaken.never() {
				b.stuck = min(b.stuck, silent)
			}
		}
	}
	return b
}
