package barrier

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/zkpath"
	"github.com/zkcoord/zkcoord/members"
)

const (
	ready       = "ready"   // the child of the directory that is there while a round is open
	suffix      = "-guard"  // of the directory of guards, which is beside
	guardPrefix = "member-" // of the names of guards
)

// errCount is the answer to a barrier for nobody.
var errCount = errors.New("barrier: n must be at least 1")

// A Barrier is a double barrier: n programs enter it, go on when all are in, and leave it
// when all are done.
//
// A Barrier must come from [New]. It is only a name and may be shared: every call to Enter
// is somebody else that enters.
type Barrier struct {
	c   *coord.Client
	dir string
	n   int
}

// New returns the barrier in the directory dir, for n. The directory and what is missing
// above it are created when first needed, as containers, which the server removes some
// time after they were last used. It belongs to the barrier, which overwrites its data.
// So does the directory beside it, whose name is dir's with "-guard" appended. Any use of a
// Barrier whose dir cannot be one ends with [coord.ErrInvalidPath], and any Enter ends with
// an error if n is less than 1.
//
// All must use the same n. If they do not, the least n opens a round for everybody who is
// in by then. A round needs one transaction that names n members: with short paths up to
// about 10,000, or the one that would open the round ends with [coord.ErrTooLarge].
func New(c *coord.Client, dir string, n int) *Barrier { return &Barrier{c, dir, n} }

// Enter enters b and returns at once. The Hold is acquired when at least n are in, for all
// of them: also for one that hears of it late, when others have left already.
// [coord.Hold.Release] leaves, and waits until all of the round have left.
//
// The id is that of a member, as in package members, but not "ready". If another is in
// with it, the Hold ends with [members.ErrTaken]. What an earlier session of this client
// has left behind is replaced.
//
// While a round is open, Enter waits for its end, and enters then.
//
// The ctx bounds the entering only: if it ends before the Hold is acquired, its cause ends
// the Hold, and it does not count any more. So the Hold must be released. One that is
// released, or has ended, without having been acquired waits for nobody.
//
// If the ctx of Release ends first, the leaving goes on: the Hold's Done is closed when all
// have left. Until then the id may be taken still. A Hold that is lost, with
// [coord.ErrExpired] or [coord.ErrDeleted], has left at once; those inside are not told, but
// can follow [Barrier.Watch].
func (b *Barrier) Enter(ctx context.Context, id string) *coord.Hold {
	return b.c.Kit().NewHold(ctx, "enter", b.dir, func(k *coord.Keeper) error {
		if err := b.check(id); err != nil {
			return err
		}
		s, err := k.Await(ctx)
		if err != nil {
			return err
		}
		d := &driver{Barrier: b, k: k, s: s, m: machine{id: id, n: b.n, lost: coord.ErrDeleted}}
		return d.run(ctx)
	})
}

// Watch follows the members that are in until ctx ends: those that wait, those that have
// been let in, and while others leave the lowest, which leaves last. It is
// [members.Group.Watch], which says what it costs and how it ends.
func (b *Barrier) Watch(ctx context.Context) *event.Stream[members.View] {
	return members.New(b.c, b.dir).Watch(ctx)
}

func (b *Barrier) path(name string) string { return zkpath.Join(b.dir, name) }

func (b *Barrier) guards() string { return b.dir + suffix }

// check reports why nobody can enter b as id.
func (b *Barrier) check(id string) error {
	switch {
	case b.n < 1:
		return errCount
	case b.dir == "/":
		return fmt.Errorf("%w %q: a barrier needs a directory of its own", coord.ErrInvalidPath, b.dir)
	case id == "", id == ready, strings.Contains(id, "/"):
		return fmt.Errorf("%w: member ID %q", coord.ErrInvalidPath, id)
	}
	return zkpath.Check(b.path(id))
}
