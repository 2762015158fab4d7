package coord

import (
	"time"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// A request is what is noted of one when it is written.
type request struct {
	xid int32
	op  jute.Op
	// call is the session's own that was written; nil if it is go-zookeeper's request,
	// which then has the number theirs for it.
	call   *call
	theirs int32
	// at is when it was written, and acked when the newest request was written that had
	// been answered by then.
	at, acked moment
	// size is how many bytes it has.
	size int
	// writes says that it is a transaction.
	writes bool
	// overtaken is when a later one was answered first; zero if none has been.
	overtaken moment
}

// largeRequest is more bytes than go out in an instant on any line worth a session.
const largeRequest = 64 << 10

// A pipeline is the requests on one connection that have not been answered, oldest
// first. Servers answer in order, except for refusals that they give alone. So a request
// that was overtaken may still be answered, though not for long.
type pipeline []request

// answered returns the request to which an answer with this xid belongs, and forgets
// it. It returns the zero request if there is none.
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
		copy((*p)[1:i+1], (*p)[:i])
		_, *p = pop(*p)
		return r
	}
	return request{}
}

// A backlog is what a connection still has to answer.
type backlog struct {
	// any says that there is anything.
	any bool
	// large says that there is a request so large that it may still be on its way.
	large bool
	// overtaken is for how long the oldest request has waited since a later one was
	// answered.
	overtaken time.Duration
	// stuck is for how long a transaction has waited while nothing before it was
	// answered.
	stuck time.Duration
}

// backlog returns what there is to answer, when nothing has been heard for silent.
//
// A transaction is not stuck while the server works on what was asked before it. As long
// as it has not been overtaken, each answer shows that it is not its turn yet, or only
// just.
func (p pipeline) backlog(now moment, silent time.Duration) backlog {
	b := backlog{any: len(p) > 0}
	if b.any && !p[0].overtaken.never() {
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
