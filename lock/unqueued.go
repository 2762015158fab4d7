package lock

import (
	"context"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/queue"
	"github.com/zkcoord/zkcoord/internal/unqueued"
)

// An Unqueued is a lock in its oldest form: the client that creates the one ephemeral
// znode at its path holds it, and the others watch that znode and try again when it is
// deleted.
//
// A [Mutex] is the better lock wherever the choice is free. An Unqueued is right
// where the path is shared with programs that know only this form; where people
// or scripts tell by one znode, there or not, which program is in charge; and where many
// stand by for what seldom changes hands, since one that waits costs the
// ensemble one watch for each client, and no znode.
//
// The price: waiters are not ordered and may be overtaken indefinitely, and each
// release wakes all of them (the herd effect): one gets the lock, the others make a
// request each in vain, and each of their clients asks for another watch. With n waiting
// clients, handing the lock on takes the ensemble work that grows with n, where a Mutex
// wakes one.
//
// A [coord.Hold] of an Unqueued promises what one of a Mutex does. A name that is
// used again and again cannot tell one holder from the next, so a holder has a
// second ephemeral znode, with a name of its own, in a directory beside the first
// whose name is the path's with "-guard" appended. The two come and go in one
// transaction. The second is what [coord.Hold.Guard] checks, and the release
// checks it too; and no Unqueued is held before those of earlier holders are
// gone. So even if somebody deletes the znode at the path by hand, to hand the
// lock on, the guarded writes of the former holder are rejected from the moment
// the next one holds, and its release, however long it is under way, does not
// remove the next one's znode.
//
// Programs with their own code for this form do not look into the directory: to hand
// the lock on to one of those, delete the znode there first, or the former holder's
// guarded writes still pass, and its release may remove what the program has at the
// path, until it hears of its loss. A holder whose znode in the directory alone is
// deleted is not told, though its guarded writes are rejected. A client that may create
// znodes in the directory and not delete them leaves its own there until its session
// ends, which [coord.Hold.Release] reports; until then it is refused the lock, as is
// any other that may not delete there, since the earlier guard is in force.
//
// An Unqueued must come from [NewUnqueued]. Like a Mutex it is only a name:
// every call to Acquire is a contender of its own.
type Unqueued struct{ l unqueued.Lock }

// NewUnqueued returns the lock whose holder has the znode at path. The directory
// beside it, and what is missing above, are created when first needed, as
// containers, which the server removes some time after they were last used; it
// belongs to the lock, which may overwrite its data. Any use of an Unqueued whose path
// cannot be one ends with [coord.ErrInvalidPath].
//
// A znode at path, of any kind, keeps everyone out for as long as it is there. That
// includes a znode of no session, which an operator may put there to have nobody
// hold the lock for a while; and a znode with a purpose of its own, if path is
// mistaken for a directory of locks: nobody will ever get that lock. In both
// cases [Unqueued.Holder] shows a Contender whose Session is zero.
func NewUnqueued(c *coord.Client, path string, opts ...Option) *Unqueued {
	return &Unqueued{unqueued.Lock{C: c, Path: path, Label: queue.Apply(opts).Label}}
}

// Acquire seeks to hold u and returns at once.
//
// ctx bounds the seeking and not the holding, as it does in [Mutex.Acquire], and a
// contender belongs to one session, as it does there. The Hold must be released.
func (u *Unqueued) Acquire(ctx context.Context) *coord.Hold {
	return u.enter(ctx, "acquire", false)
}

// TryAcquire is like [Unqueued.Acquire], but ends with [coord.ErrLocked] if the
// znode is there. It is decided by the ensemble's answer and not by time, as
// [Mutex.TryAcquire] is.
func (u *Unqueued) TryAcquire(ctx context.Context) *coord.Hold {
	return u.enter(ctx, "tryacquire", true)
}

func (u *Unqueued) enter(ctx context.Context, op string, try bool) *coord.Hold {
	if u.l.C.Kit().Nested(ctx, u.l.Path) {
		return nested(ctx, u.l.C, op, u.l.Path)
	}
	return u.l.Acquire(ctx, op, try)
}

// Do acquires u, calls f, and releases u, as [Mutex.Do] does.
func (u *Unqueued) Do(ctx context.Context, f func(ctx context.Context, h *coord.Hold) error) error {
	return queue.Do(ctx, u.Acquire(ctx), f)
}

// Run calls f each time that u is held, as [Mutex.Run] does.
func (u *Unqueued) Run(ctx context.Context, f func(ctx context.Context, h *coord.Hold) error) error {
	return queue.Run(ctx, u.Acquire, f)
}

// Holder returns the holder of u, and whether there is one. Those that wait are known
// to nobody. The answer comes from one server, which may be a little behind the
// others.
//
// The error is a [*coord.Error]: the cause of ctx's end, if that comes first,
// [coord.ErrClosed], [coord.ErrInvalidPath], or the ensemble's refusal.
func (u *Unqueued) Holder(ctx context.Context) (coord.Contender, bool, error) {
	return u.l.Holder(ctx)
}

// Watch follows the holder of u until ctx ends. The stream has one contender, or none
// while nobody holds u, and says Suspended while the connection is down: the holder
// that it names may have gone by then. The label of a holder that has been revoked is
// known nevertheless: its second znode has it too.
//
// The stream ends with a [*coord.Error]: the cause of ctx's end, [coord.ErrClosed],
// [coord.ErrInvalidPath], or the ensemble's refusal to show the znode.
func (u *Unqueued) Watch(ctx context.Context) *event.Stream[coord.Contention] {
	return u.l.Watch(ctx)
}
