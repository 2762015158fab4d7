package lock

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	claim "github.com/zkcoord/zkcoord/internal/oldclaim"
	"github.com/zkcoord/zkcoord/internal/queue"
)

// An Unqueued is a lock in its oldest form: who succeeds in creating the one
// ephemeral znode at its path holds it, and the others watch that znode and try
// again when it goes.
//
// A [Mutex] is the better lock wherever the choice is free. An Unqueued is right
// where the path is shared with programs that know only this form; where people
// or scripts tell by one znode, there or not, who is in charge; and where many
// stand by for what seldom changes hands, since one that waits costs the
// ensemble one watch for each client, and no znode.
//
// What it costs: there is no order, so who waits may be overtaken any number of
// times; and each release wakes all who wait, of whom one gets the lock and each
// of the others has made three requests for nothing. With n waiting clients
// handing the lock on takes the ensemble work that grows with n, where a Mutex
// wakes one.
//
// A [coord.Hold] of an Unqueued promises what one of a Mutex does. A name that is
// used again and again can not tell one holder from the next, so a holder has a
// second ephemeral znode, with a name of its own, in a directory beside the first
// whose name is the path's with "-guard" appended. The two come and go in one
// transaction. The second is what [coord.Hold.Guard] checks, and the release
// checks it too; and no Unqueued is held before those of earlier holders are
// gone. So even if somebody deletes the znode at the path by hand, to hand the
// lock on, the guarded writes of the former holder are refused from the moment
// the next one holds, and its release, however long it is under way, does not
// remove the next one's znode. Programs with their own code for this form do not
// look into the directory: to hand the lock on to one of those, delete the znode
// there first, or the former holder's guarded writes still pass, and its release
// may remove what the program has at the path, until it hears of its loss. A
// holder whose znode in the directory alone is deleted is not told, though its
// guarded writes are refused. Who may make znodes in the directory and not delete
// them leaves its own there until its session ends, of which [coord.Hold.Release]
// tells; and for that long it is refused the lock, as is any other who may not
// delete there, since the earlier guard is in force.
//
// An Unqueued must come from [NewUnqueued]. Like a Mutex it is only a name:
// every call to Acquire is a contender of its own.
type Unqueued struct {
	c     *coord.Client
	name  string // its path
	label string
}

// NewUnqueued returns the lock whose holder has the znode at path. The directory
// beside it, and what is missing above, are created when first needed, as
// containers, which the server removes some time after they were last used; it
// belongs to the lock, which may overwrite its data. A path that can not be one is reported by whatever is done with the Unqueued.
//
// Whatever stands at path keeps everyone out for as long as it is there. That
// includes a znode of no session, which an operator may put there to have nobody
// hold the lock for a while; and a znode with a purpose of its own, if path is
// mistaken for a directory of locks: nobody will ever get that lock. In both
// cases [Unqueued.Holder] shows a Contender whose Session is zero.
func NewUnqueued(c *coord.Client, path string, opts ...Option) *Unqueued {
	return &Unqueued{c: c, name: path, label: New(c, path, opts...).label}
}

// Acquire seeks to hold u and returns at once.
//
// ctx governs the seeking, not the holding, as it does in [Mutex.Acquire], and a
// contender belongs to one session, as it does there. The Hold must be released.
func (u *Unqueued) Acquire(ctx context.Context) *coord.Hold {
	return u.enter(ctx, "acquire", false)
}

// TryAcquire is like [Unqueued.Acquire], but ends with [coord.ErrLocked] if the
// znode is there. It goes by the ensemble's answer and not by time, as
// [Mutex.TryAcquire] does.
func (u *Unqueued) TryAcquire(ctx context.Context) *coord.Hold {
	return u.enter(ctx, "try to acquire", true)
}

// Do acquires u, calls f, and releases u, in the way of [Mutex.Do].
func (u *Unqueued) Do(ctx context.Context, f func(context.Context, coord.Token) error) error {
	return queue.Do(ctx, u.Acquire(ctx), f)
}

// Holder returns who holds u, and whether anyone does. Who waits is known to
// nobody. The answer comes from one server, which may be a little behind the
// others. It ends when ctx does.
func (u *Unqueued) Holder(ctx context.Context) (Contender, bool, error) {
	fail := func(err error) (Contender, bool, error) {
		return Contender{}, false, &coord.Error{Op: "look for the holder of", Path: u.name, Err: err}
	}
	if err := u.check(); err != nil {
		return fail(err)
	}
	n, err := u.get(ctx, u.c.FullPath(u.name))
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return Contender{}, false, nil
	case err != nil:
		return fail(err)
	}
	who := u.contender(n.data, *n.stat)
	if who.Revoked {
		if who.Label, err = u.labelOf(ctx, who.Token); err != nil {
			return fail(err)
		}
	}
	return who, true, nil
}

// labelOf returns the label of the holder with this token, which its second znode
// has too, empty if there is none to be read.
func (u *Unqueued) labelOf(ctx context.Context, token coord.Token) (string, error) {
	dir := u.c.FullPath(u.name) + claim.Suffix
	names, err := coord.Read(ctx, u.c, func(conn *zk.Conn) ([]string, error) {
		names, _, err := conn.Children(dir)
		return names, err
	})
	if err != nil && !coord.Refused(err) {
		return "", err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, claim.Prefix) {
			continue
		}
		n, err := u.get(ctx, dir+"/"+name)
		switch {
		case err == nil && n.stat.Czxid == int64(token):
			return string(n.data), nil
		case err != nil && !coord.Refused(err):
			return "", err
		}
	}
	return "", nil
}

// A znode is what get reads.
type znode struct {
	data []byte
	stat *zk.Stat
}

func (u *Unqueued) get(ctx context.Context, full string) (znode, error) {
	return coord.Read(ctx, u.c, func(conn *zk.Conn) (znode, error) {
		data, stat, err := conn.Get(full)
		return znode{data, stat}, err
	})
}

// Watch follows who holds u until ctx ends. While nobody does it yields the zero
// Contender. While the connection is down the stream says nothing new. The label of
// a holder that has been revoked is known all the same: its second znode has it too.
func (u *Unqueued) Watch(ctx context.Context) *event.Stream[Contender] {
	out, p := event.NewStream[Contender]()
	end := func(err error) { p.Close(&coord.Error{Op: "watch the holder of", Path: u.name, Err: err}) }
	if err := u.check(); err != nil {
		end(err)
		return out
	}
	ok := u.c.Go(func(context.Context) {
		var last Contender
		first := true
		nodes := u.c.Watch(ctx, u.name, event.Data) // ends with ctx, and with the client
		for snap := range nodes.All() {
			if snap.Suspended {
				continue
			}
			var now Contender
			if snap.Exists {
				now = u.contender(snap.Data, snap.Stat)
			}
			if now.Revoked && now.Token == last.Token {
				now.Label = last.Label
			} else if now.Revoked {
				now.Label, _ = u.labelOf(ctx, now.Token) // an error is the end of ctx or of u.c, which ends nodes too
			}
			if first || now != last {
				p.Publish(now)
			}
			first, last = false, now
		}
		end(errors.Unwrap(nodes.Err()))
	})
	if !ok {
		end(coord.ErrClosed)
	}
	return out
}

func (u *Unqueued) contender(data []byte, stat zk.Stat) Contender {
	label, revoked := string(data), string(data) == queue.Revocation
	if revoked {
		label = ""
	}
	return Contender{
		Label:   label,
		Revoked: revoked,
		Node:    path.Base(u.name),
		Session: stat.EphemeralOwner,
		Token:   coord.Token(stat.Czxid),
		Since:   time.UnixMilli(stat.Ctime),
	}
}

// check reports what is wrong with u.
func (u *Unqueued) check() error {
	switch err := coord.CheckPath(u.name); {
	case err != nil:
		return err
	case u.name == "/":
		return fmt.Errorf("%w %q: a lock needs a path of its own", coord.ErrInvalidPath, u.name)
	}
	return queue.CheckLabel(u.label)
}
