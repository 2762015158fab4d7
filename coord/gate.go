package coord

import "slices"

// maxCalls is how many requests of the program may be with go-zookeeper at a time. Its
// queue takes 16: while there is room, Close can enqueue the request that ends the
// session, and the lease its own.
const maxCalls = 8

// A gate admits requests to a connection: while it is open, in the order in which they
// were made, and maxCalls at a time. It is a value that its owner guards.
//
// Requests wait here and not in go-zookeeper's queue. From there they cannot be taken
// back, and would be sent after their ctx has ended; and while it is full nothing else
// gets in, not even the request with which Close ends the session.
type gate struct {
	// open says that requests are admitted, unless the gate is shut for good.
	open, shut bool
	// inside is how many requests have been admitted and are not over.
	inside int
	// waiting are the tickets of requests that have not been admitted, in their order.
	waiting []chan struct{}
	// drained is closed when the gate is shut and nothing is inside.
	drained chan struct{}
}

// enter asks for admission. The channel is closed when the request is admitted.
func (g *gate) enter() chan struct{} {
	ticket := make(chan struct{})
	g.waiting = append(g.waiting, ticket)
	g.admit()
	return ticket
}

// cancel takes back what enter asked for, even if the request has been admitted
// meanwhile: a select may find both the ticket and the end of a ctx ready.
func (g *gate) cancel(ticket chan struct{}) {
	if i := slices.Index(g.waiting, ticket); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
		return
	}
	g.exit()
}

// pass admits a request that does not wait for others: a lease must not run out because
// the program makes many requests.
func (g *gate) pass() { g.inside++ }

// exit notes that a request that was admitted is over.
func (g *gate) exit() {
	if g.inside--; g.shut && g.inside == 0 {
		close(g.drained)
	}
	g.admit()
}

// set opens or closes the gate. What is inside stays there.
func (g *gate) set(open bool) {
	g.open = open
	g.admit()
}

// close shuts the gate for good. It is called once. Requests that wait are not told: the
// owner does that by other means, the end of the session.
func (g *gate) close() {
	if g.shut = true; g.inside == 0 {
		close(g.drained)
	}
}

// admit admits those that wait, as far as there is room.
func (g *gate) admit() {
	for g.open && !g.shut && g.inside < maxCalls && len(g.waiting) > 0 {
		close(g.waiting[0])
		g.waiting = g.waiting[1:]
		g.inside++
	}
}
