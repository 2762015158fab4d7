package claim

// breakLink takes the link from c. Its driver asks again for what can be asked
// twice, and cannot know what became of a create.
func (w *world) breakLink(c *client, lose bool) {
	c.up = false
	if lose {
		c.words, c.nword = [4]kind{}, 0
		if c.phase == answered && c.reply.kind != unknown {
			c.lags = c.lags || c.reply.kind == created
			c.phase, c.reply = sent, input{}
		}
	}
	if c.phase == sent && c.req.action == create {
		c.phase, c.reply = answered, input{kind: unknown}
	}
	c.follows = idle
}

// serve carries out the request of client i.
func (w *world) serve(i int8, c *client) input {
	switch c.req.action {
	case create:
		c.lags = false // a server that refuses it has all that is in the way
		if at := c.req.at; at.czxid != 0 {
			if w.path.czxid == 0 || int32(w.path.version) != at.version {
				return input{kind: exists}
			}
			if p := w.path; int64(p.czxid) == at.czxid && p.owner != w.session(i) && p.owner != past+i {
				w.fault = "replaces another's znode"
			}
			w.harm(w.path.claim) // a delete cannot be bound to an owner
			w.unlink()
		}
		if c.m.guarded && w.guard(c.own) != nil {
			return input{kind: exists}
		}
		if w.path.czxid != 0 {
			if w.rule.strict {
				return input{kind: seen, whose: another, at: w.path.znode(), err: errTaken}
			}
			return input{kind: exists}
		}
		w.zxid++
		w.path = node{czxid: w.zxid, version: 1, owner: w.session(i), claim: i, data: c.sent}
		alone := w.rule.noDir
		if c.m.guarded {
			w.add(i, c.own)
			alone = w.count() == 1
		}
		return input{kind: created, at: w.path.znode(), alone: alone}
	case look:
		c.lags = c.lags && !c.req.sync
		if c.req.guard {
			if g := w.guard(c.own); g != nil && !c.lags {
				return input{kind: seen, whose: mine, at: znode{czxid: int64(g.czxid), version: ourVersion}}
			}
			return input{kind: seen, whose: nobody}
		}
		p := w.path
		if c.lags && p.claim == i {
			p = node{}
		}
		in := input{kind: seen, whose: another, at: p.znode(), err: errTaken}
		switch {
		case p.czxid == 0:
			in.whose = nobody
		case c.m.token != 0 && int64(p.czxid) == c.m.token, c.m.token == 0 && c.req.sync && p.owner == w.session(i):
			in.whose = mine
		case c.m.token == 0 && (p.owner == w.session(i) || p.owner == past+i):
			in.whose = former
		}
		if in.whose != another {
			in.err = nil
		}
		return in
	case clear:
		for k, g := range w.guards {
			if g.czxid != 0 && int64(g.czxid) < c.m.token {
				w.guards[k] = node{}
			}
		}
		return input{kind: cleared}
	case renew:
		return input{kind: renewed}
	case write:
		switch p := &w.path; {
		case p.czxid == 0:
			return input{kind: missing}
		case int32(p.version) != c.req.at.version:
			return input{kind: outdated}
		default:
			if p.claim != i {
				w.harm(p.claim)
			}
			p.version++
			p.data, p.marked = c.sent, false
			return input{kind: written, at: p.znode()}
		}
	case remove:
		g, p := w.guard(c.own), w.path
		switch {
		case c.m.guarded && g == nil, p.czxid == 0:
			return input{kind: missing}
		case c.m.guarded && c.detained && !c.req.keep:
			return input{kind: kept, err: errDenied}
		case int32(p.version) != c.req.at.version:
			return input{kind: outdated}
		}
		bare := int(i) >= w.rule.n-w.rule.bare || c.tainted && !c.detained
		if p.claim != i && p.claim < past && !bare {
			if v := &w.clients[p.claim]; v.m.token == int64(p.czxid) && (v.m.state == renewing || holds(&v.m)) {
				w.fault = "a release has removed another's znode"
			}
		}
		if p.claim != i && bare {
			w.harm(p.claim)
		}
		w.unlink()
		if c.m.guarded && !c.req.keep {
			*g = node{}
		}
		return input{kind: removed}
	case rename:
		if w.guard(c.own) == nil {
			w.zxid++
			w.add(i, c.own)
		}
		return input{kind: renamed}
	case drop:
		if g := w.guard(c.own); g != nil {
			if c.detained {
				return input{kind: refused, err: errDenied}
			}
			*g = node{}
		}
		return input{kind: removed}
	}
	panic("no such request")
}

func (n node) znode() znode { return znode{czxid: int64(n.czxid), version: int32(n.version)} }

// guard returns the guard of this name, nil if it is not there.
func (w *world) guard(name int8) *node {
	for k := range w.guards {
		if g := &w.guards[k]; g.czxid != 0 && g.guard == name {
			return g
		}
	}
	return nil
}

// add makes client i a guard.
func (w *world) add(i, name int8) {
	for k := range w.guards {
		if w.guards[k].czxid == 0 {
			w.guards[k] = node{czxid: w.zxid, owner: w.session(i), claim: i, guard: name}
			return
		}
	}
	panic("too many guards")
}

func (w *world) count() (n int) {
	for _, g := range w.guards {
		if g.czxid != 0 {
			n++
		}
	}
	return n
}

// unlink removes what is at the path, and the watches on it fire.
func (w *world) unlink() {
	w.path = node{}
	w.fire(gone)
}

// fire has the watches on the path tell that.
func (w *world) fire(k kind) {
	for i := range w.clients {
		c := &w.clients[i]
		switch {
		case c.follows != answered:
		case k == gone && c.m.state == taken:
			c.follows = idle
			c.push(freed)
		case k == gone:
			c.follows = idle
			c.push(gone)
		case c.m.state != taken:
			c.push(k)
		}
	}
}

// harm notes that something of a claim is removed by others.
func (w *world) harm(claim int8) {
	if claim < past {
		w.clients[claim].harmed = true
	}
}

// bury removes all that belongs to a session.
func (w *world) bury(session int8) {
	for k, g := range w.guards {
		if g.czxid != 0 && g.owner == session {
			w.guards[k] = node{}
		}
	}
	if w.path.czxid != 0 && w.path.owner == session {
		w.unlink()
	}
}

func (w *world) anyOf(session int8) bool {
	for _, g := range w.guards {
		if g.czxid != 0 && g.owner == session {
			return true
		}
	}
	return w.path.czxid != 0 && w.path.owner == session
}

func (c *client) push(k kind) {
	c.words[c.nword] = k
	c.nword++
}

// tell hands in to the machine of c, and does what its driver does then.
func (w *world) tell(c *client, in input) {
	was := c.m.state
	switch {
	case in.kind == gone || in.kind == missing && was == writing:
		c.told = true
	case in.kind == marked && was == held:
		c.warned = true
	case in.kind == seen && was == looking && in.whose == mine && c.m.guarded:
		c.acked = c.sent
	case in.kind == written && in.at.czxid == c.m.token, in.kind == refused && was == writing:
		c.acked = c.sent // refused: its owner has been told
	}
	do := w.step(&c.m, in)
	switch do.action {
	case nothing:
	case watch:
		c.follows, c.at = sent, int8(do.at.czxid)
	default:
		if c.phase != idle {
			w.fault = "two requests in flight"
		}
		if do.action == create || do.action == write {
			c.sent = c.newest
		}
		if do.action == rename {
			w.names++
			c.own = w.names
		}
		c.req, c.phase = do, sent
		if c.asks++; int(c.asks) > w.rule.most() {
			w.fault = "asks without end"
		}
	}
	switch now := c.m.state; {
	case in.kind == created:
		c.acked = c.sent
	case now == held && was == renewing:
		w.grant(c)
		c.follows, c.at = sent, int8(c.m.token)
	case was == taken && now != taken, now == leaving, now == dropping, now == checking:
		c.unfollow()
	}
	if c.m.state != done {
		return
	}
	// A request that is void may be carried out all the same. Of those only some
	// leave a trace.
	if c.phase != sent || !c.up || c.req.action == look || c.req.action == renew {
		c.phase, c.req, c.reply = idle, op{}, input{}
	}
	c.unfollow()
	c.up, c.lags = true, false
}

func (c *client) unfollow() {
	c.follows, c.at, c.words, c.nword = idle, 0, [4]kind{}, 0
}
