package semaphore

import "slices"

func (w *world) do(what happening, i int8) {
	c := &w.clients[min(i, curator-1)]
	switch what {
	case begin:
		c.started = true
		w.enqueue(i)
	case arrive:
		c.arrived = true
		w.tell(c, input{kind: entered})
	case block:
		c.blocked = true
		w.tell(c, input{kind: blocked})
	case word:
		c.expelled = true
		w.tell(c, input{kind: gateLost, err: errExpelled})
	case serve:
		c.phase, c.reply = answered, w.serve(i, c)
		if c.over || c.m.state == done {
			c.phase, c.req, c.reply = idle, action{}, input{}
		}
	case lag:
		w.budget.stale--
		w.lagged = true
		c.phase, c.reply = answered, w.serve(i, c)
		c.reply.view.leases--
		c.known-- // so that what it has not seen is news
	case decline:
		w.budget.refuse--
		c.tainted = true
		c.phase, c.reply = answered, input{kind: refused, err: errDenied}
	case answer:
		in := c.reply
		c.phase, c.reply, c.req = idle, input{}, action{}
		w.tell(c, in)
	case hear:
		c.known = w.pzxid
		w.tell(c, input{kind: seen, view: view{int(c.number), int32(c.version), w.count()}})
	case tell:
		c.told = true
		w.tell(c, input{kind: gone})
	case warn:
		c.warned = true
		w.tell(c, input{kind: revokeAsked})
	case free:
		c.freed = true
		w.leave(i)
	case lose:
		w.budget.loss--
		w.lose(c)
	case mend:
		c.up = true
	case cancel:
		w.budget.cancel--
		c.quit = true
		w.tell(c, input{kind: quit, err: errCanceled})
	case release:
		c.quit = true
		w.tell(c, input{kind: quit, err: errReleased})
	case expire:
		w.budget.expire--
		c.over = true
		w.tell(c, input{kind: expired, err: errExpired})
	case bury:
		c.ended = true
		c.phase, c.req, c.reply = idle, action{}, input{}
		w.leave(i)
		w.drop(i)
	case operate:
		w.budget.delete--
		c.harmed = true
		w.drop(i)
	case expel:
		w.budget.expel--
		w.leave(i)
	case mark:
		w.budget.mark--
		w.leaseOf(i).marked = true
	case grow, shrink:
		w.resize(what == grow)
	case peerActs:
		w.peerActs()
	case peerQuits:
		w.drop(curator)
		w.leave(curator)
		w.peer = donePeer
	}
}

// resize changes the number in force by one. The leases change with it.
func (w *world) resize(larger bool) {
	if w.version++; larger {
		w.budget.grow--
		w.number++
	} else {
		w.budget.shrink--
		w.number--
	}
	w.largest = max(w.largest, w.number)
	w.zxid++
	w.pzxid = w.zxid
}

// lose breaks the link of c. Its driver asks again for what can be asked twice, and cannot
// know what became of a create.
func (w *world) lose(c *client) {
	c.up = false
	switch {
	case c.phase != idle && c.req.verb == create && c.reply.kind != refused:
		c.phase, c.reply = answered, input{kind: unknown}
	case c.phase == answered && c.reply.kind != refused:
		c.phase, c.reply = sent, input{}
	}
}

// serve carries out the request of client i.
func (w *world) serve(i int8, c *client) input {
	switch c.req.verb {
	case read:
		c.known, c.number, c.version = w.pzxid, w.number, w.version
		return input{kind: seen, view: view{int(w.number), int32(w.version), w.count()}}
	case create:
		switch {
		case w.place(i) < 0:
			return input{kind: shut}
		case int32(w.version) != c.req.version:
			return input{kind: outdated}
		case w.place(i) > 0:
			w.fault = "makes a lease out of its turn"
		}
		if c.req.write {
			w.number = int8(c.m.permits)
			w.largest = max(w.largest, w.number)
			w.version++
		}
		w.add(i)
		c.wrote = true
		if w.rule.mute {
			return input{kind: created}
		}
		return input{kind: created, token: int64(w.zxid), view: view{leases: w.count()}}
	case look:
		c.wrote = true
		if l := w.leaseOf(i); l != nil {
			return input{kind: found, token: int64(l.czxid), view: view{leases: w.count()}}
		}
		return input{kind: absent}
	case remove:
		c.wrote = true
		w.drop(i)
		return input{kind: removed}
	}
	panic("no such request")
}

// tell hands in to the machine of c, and does what its driver does then.
func (w *world) tell(c *client, in input) {
	was := c.m.state
	a := w.step(&c.m, in)
	if a.verb != nothing && a.verb != follow {
		if c.phase != idle {
			w.fault = "two requests in flight"
		}
		c.req, c.phase, c.reply = a, sent, input{}
		if c.asks++; int(c.asks) > w.rule.most() {
			w.fault = "asks without end"
		}
	}
	now := c.m.state
	c.follows = a.verb == follow || c.follows && now <= waiting
	if now == done && was != done && c.m.cause == modelCauses.locked && (in.kind != seen || in.view.leases < c.m.permits) {
		w.fault = "gives up though a permit is free"
	}
	if now == held && was != held && c.quit {
		w.fault = "granted to one that had been given up"
	}
	if now == done && (c.phase != sent || !c.up || c.req.verb == read || c.req.verb == look) {
		c.phase, c.req, c.reply = idle, action{}, input{} // of a request that is void only some leave a trace
	}
}

func (w *world) enqueue(i int8) { w.places[slices.Index(w.places[:], 0)] = i + 1 }

// place returns how many are before i in the queue, -1 if it is not there.
func (w *world) place(i int8) int { return slices.Index(w.places[:], i+1) }

func (w *world) leave(i int8) {
	at := w.place(i)
	if at < 0 {
		return
	}
	copy(w.places[at:], w.places[at+1:])
	w.places[len(w.places)-1] = 0
}

func (w *world) leaseOf(i int8) *lease {
	for k := range w.leases {
		if l := &w.leases[k]; l.czxid != 0 && l.owner == i {
			return l
		}
	}
	return nil
}

func (w *world) count() (n int) {
	for _, l := range w.leases {
		if l.czxid != 0 {
			n++
		}
	}
	return n
}

func (w *world) add(i int8) {
	w.zxid++
	w.pzxid = w.zxid
	k := slices.IndexFunc(w.leases[:], func(l lease) bool { return l.czxid == 0 })
	w.leases[k] = lease{czxid: w.zxid, owner: i}
}

func (w *world) drop(i int8) {
	if l := w.leaseOf(i); l != nil {
		*l = lease{}
		w.zxid++
		w.pzxid = w.zxid
	}
}

// peerCan reports whether the contender of Curator can do something. At the gate it makes
// its lease first, and then waits until there are no more than it knows permits.
func (w *world) peerCan() bool {
	switch w.peer {
	case absentPeer:
		return w.rule.peer
	case queuedPeer:
		return w.place(curator) == 0
	case leasedPeer:
		return w.count() <= w.rule.permits
	}
	return w.peer != donePeer
}

func (w *world) peerActs() {
	switch w.peer {
	case absentPeer:
		w.enqueue(curator)
	case queuedPeer:
		w.add(curator)
	case holdingPeer:
		w.leave(curator)
	case freePeer:
		w.drop(curator)
	}
	w.peer++
}
