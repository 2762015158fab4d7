package coord

import "slices"

// maxCalls is how many requests of the program may be under way at a time. It is more
// than any line needs to be busy all the time, and few enough that a request of the
// lease's own, which is written behind them, is answered soon.
const maxCalls = 64

// A gate admits requests to a connection: while it is open, in the order in which they
// were made, and maxCalls at a time. It is a value that its owner guards.
//
// What waits here can be taken back when its ctx ends, and outlives the connection. And
// when the session is to be closed, there is not much that has to be answered before.
type gate struct {
	// open says that requests are admitted, unless the gate is shut for good.
	open, shut bool
	// inside is how many requests have been admitted and are not over.
	inside int
	// waiting are the requests that have not been admitted, in their order.
	waiting []*call
	// drained is closed when the gate is shut and nothing is inside.
	drained chan struct{}
}

// enter asks for the admission of q.
func (g *gate) enter(q *call) { g.waiting = append(g.waiting, q) }

// next admits the request whose turn it is, and returns it; nil if there is none.
func (g *gate) next() *call {
	if !g.open || g.shut || g.inside >= maxCalls || len(g.waiting) == 0 {
		return nil
	}
	var q *call
	q, g.waiting = pop(g.waiting)
	g.inside++
	return q
}

// pop returns the first of list, and the others. The place of the last one stays, so
// that a list of one at a time is made once.
func pop[T any](list []T) (first T, rest []T) {
	var zero T
	first, list[0] = list[0], zero
	if len(list) == 1 {
		return first, list[:0]
	}
	return first, list[1:]
}

// cancel takes back what enter asked for. It has not been granted yet.
func (g *gate) cancel(q *call) {
	i := slices.Index(g.waiting, q)
	g.waiting = slices.Delete(g.waiting, i, i+1)
}

// exit notes that a request that was admitted is over.
func (g *gate) exit() {
	if g.inside--; g.shut && g.inside == 0 {
		close(g.drained)
	}
}

// readmit takes requests out that were admitted and not written. It is their turn first.
func (g *gate) readmit(list []*call) {
	g.inside -= len(list)
	g.waiting = append(slices.Clip(list), g.waiting...)
}

// close shuts the gate for good, once, and returns the requests that will not be
// admitted any more. What is inside stays there.
func (g *gate) close() []*call {
	if g.shut = true; g.inside == 0 {
		close(g.drained)
	}
	waiting := g.waiting
	g.waiting = nil
	return waiting
}
