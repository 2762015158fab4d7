package claim

import (
	"context"
	"crypto/rand"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/async"
	"github.com/zkcoord/zkcoord/internal/following"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// Suffix makes of the path of a znode, or of a directory of such, the path of the
// directory beside it that is for guards.
const Suffix = "-guard"

// Prefix begins the names of guards in a directory for such. Other children of the
// directory are left alone.
const Prefix = "holder-"

// A Claim says what is claimed and how.
type Claim struct {
	Client  *coord.Client
	Session *coord.Session // in which it is claimed
	Path    string         // of the znode
	Guards  string         // the directory of the path's guards; "" if there can be none
	Guarded bool           // whether the znode is to have a guard; only with Guards
	Label   []byte         // the data of the guard
	Data    *Data          // of the znode
	Wait    bool           // follow a znode that is in the way until it is gone, rather than give up

	// Lock makes the claim that of a lock. It has a guard or is not acquired, and is not
	// acquired before earlier guards are gone. Any znode at the path is in the way. The
	// data Revocation, written to its znode by others, make it give way.
	//
	// Without Lock, what an earlier session of the client left behind is replaced, and
	// the path is claimed even if the guard is refused or an earlier one cannot be removed.
	Lock       bool
	Revocation string

	// Taken returns why the path cannot be claimed while the znode at it belongs to a
	// session, which is zero for a znode of no session.
	Taken func(session coord.SessionID) error

	// Retry, if not nil, is called before each try to make the znode. If another's is in
	// the way, what it returns is called, and reports whether to try again.
	Retry func() (again func() bool)

	// Status, if not nil, is called with how the claim stands whenever that may have
	// changed, and so perhaps with the same Status again.
	Status func(Status)
}

// A Status says how a claim stands.
type Status struct {
	Held      bool
	Token     coord.Token // of the znode, while held
	Suspended bool        // the connection is down, and Held is what was last known
	Err       error       // why it is not held: what Taken returned, or the cause of its end
}

// Run makes the claim for the Hold that k moves, and returns the cause of its end when
// nothing of it is left. If ctx ends before the claim is held, that is its end.
func (c *Claim) Run(ctx context.Context, k *coord.Keeper) error {
	d := &driver{Claim: c, k: k, guard: c.newGuard(), has: -1}
	d.m = machine{
		guarded: c.Guarded,
		strict:  c.Lock,
		wait:    c.Wait,
		causes:  causes{coord.ErrDeleted, coord.ErrRevoked},
	}
	return d.run(ctx)
}

func (c *Claim) newGuard() string {
	if !c.Guarded {
		return ""
	}
	return zkpath.Join(c.Guards, Prefix+rand.Text())
}

// A driver feeds one machine with what happens, and does what it says. One goroutine
// owns it.
type driver struct {
	*Claim
	k     *coord.Keeper
	m     machine
	guard string // the path of our guard; nobody else ever has it

	reply    <-chan input     // of the one request in flight
	followed *following.Znode // the znode at the path, or the directory, while it is followed
	listed   bool             // it is the directory
	awaited  znode            // the one that is followed in taken
	theirs   error            // what Taken returned of that
	granted  bool             // the Hold was acquired
	blind    bool             // what is known of the znode may be out of date

	asked int // the generation of the data in the request in flight
	has   int // the one that our znode has, or that was refused; -1: not known
}

// run makes the claim, and returns the cause of its end.
func (d *driver) run(ctx context.Context) error {
	defer func() {
		d.followed.End()
		if d.m.left != nil {
			d.k.NotRemoved(d.m.left)
		}
	}()
	d.do(op{action: create})
	canceled, released := ctx.Done(), d.k.Released()
	for d.m.state != done {
		if _, gen := d.Data.Newest(); d.m.state == held && gen != d.has {
			d.step(input{kind: fresh})
			continue
		}
		state, changed := d.Client.State()
		if state == coord.Suspended && d.granted && !d.blind {
			d.blind = true // until word comes of the znode
			d.tell()
		}
		select {
		case <-changed:
		case in := <-d.reply:
			d.reply = nil
			d.step(in)
		case snap := <-d.followed.Updates():
			d.hear(snap)
		case <-d.followed.Done():
			d.unfollowed()
		case <-d.Data.Changed(): // see above
		case <-d.Session.Done():
			d.step(input{}) // finds out why
		case <-canceled:
			canceled = nil
			if cause := context.Cause(ctx); d.k.GiveUp(cause) {
				d.step(input{kind: quit, err: cause})
			}
		case <-released:
			released = nil
			d.step(input{kind: quit, err: coord.ErrReleased})
		}
	}
	return d.m.cause
}

// step moves the machine on, tells the owner, and does what the machine says.
func (d *driver) step(in input) {
	if err := d.Session.Err(); err != nil { // goes before all else that is due
		in = input{kind: expired, err: err}
	}
	was := d.m.state
	o := d.m.step(in)
	if d.m.cause != nil {
		d.k.End(d.m.cause)
	}
	d.note(was, in)
	switch d.m.state {
	case taken, held, writing, revoked:
	default:
		d.followed.End()
		d.followed = nil
	}
	d.do(o)
	if was == renewing && d.m.state == held {
		d.grant()
	}
	d.tell()
}

// grant tells the owner that it holds the path.
func (d *driver) grant() {
	if err := d.k.Acquired(d.Session, d.guardOf(), coord.Token(d.m.token)); err != nil {
		if e, ok := err.(*coord.Error); ok {
			err = e.Err
		}
		d.step(input{kind: quit, err: err})
		return
	}
	d.granted = true
	if d.has >= 0 {
		d.Data.Acknowledge(d.has, nil)
	}
	d.follow()
}

// guardOf returns the path of our guard, "" if we have none.
func (d *driver) guardOf() string {
	if !d.m.guarded {
		return ""
	}
	return d.guard
}

// note takes what in, which the machine was told in state was, says of the data and of the
// znode that is waited for.
func (d *driver) note(was state, in input) {
	switch {
	case in.kind == created, in.kind == seen && was == looking && in.whose == mine && d.m.guarded:
		d.has = d.asked // in the second case the guard tells that the create was carried out
	case in.kind == written && in.at.czxid == d.m.token:
		d.has = d.asked
		d.Data.Acknowledge(d.has, nil)
	case in.kind == refused && was == writing:
		d.has = d.asked
		d.Data.Acknowledge(d.has, in.err)
	case in.kind == seen && was == looking && in.whose == another:
		d.theirs = in.err
	}
}

// tell tells how the claim stands.
func (d *driver) tell() {
	s := Status{Token: coord.Token(d.m.token), Err: d.m.cause}
	switch {
	case d.Status == nil:
		return
	case s.Err != nil:
	case d.granted:
		s.Held, s.Suspended = true, d.blind
	case d.m.state == taken:
		s.Err = d.theirs
	default:
		return
	}
	d.Status(s)
}

// do does o, elsewhere if it is a request.
func (d *driver) do(o op) {
	var request func() input
	m := d.m // as it is now
	switch o.action {
	case nothing:
		return
	case watch:
		d.awaited = o.at
		d.follow()
		return
	case create:
		data, gen := d.Data.Newest()
		d.asked = gen
		request = func() input { return d.create(o, m.guarded, data) }
	case look:
		request = func() input { return d.look(o, m.token) }
	case clear:
		request = func() input { return d.clear(m.token) }
	case renew:
		request = d.renew
	case write:
		data, gen := d.Data.Newest()
		d.asked = gen
		request = func() input { return d.write(o, data) }
	case remove:
		request = func() input { return d.remove(o, m.guarded) }
	case rename:
		d.guard = d.newGuard()
		request = d.rename
	case drop:
		request = d.drop
	}
	d.reply = async.Go(d.Client.Kit().Go, func(context.Context) input { return request() })
}
