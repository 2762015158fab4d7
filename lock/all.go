package lock

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/queue"
)

// All joins the queues for all of ms, one after the other, and returns at once. The Hold is
// held when all of them are.
//
// They are acquired in the order of their full paths, whatever the order of the arguments.
// So two callers of All never wait for each other, as long as neither of them holds another
// lock, outside of All, that comes later in that order. While All waits for one, it holds
// those before it.
//
// ctx bounds the waiting and not the holding, as in [Mutex.Acquire]. If one cannot be had,
// the Hold ends with the reason and the path of that one, and the others are released. So it
// does if one that was acquired is lost while the others are waited for.
//
// The Hold is lost as soon as one of them is, with the cause and the path of that one. The
// others are then still held, so that nobody has them while the work stops: the Hold must be
// released. Release releases all, and waits for all.
//
// [coord.Hold.Guard] is a condition for all of them, and still one op. [coord.Hold.Tokens]
// has their tokens, in the order of the arguments. A store compares the token of that Mutex
// which protects it, and never the greatest of several: that may be less for a later holder.
// Somebody may hold B and C with the tokens 5 and 20, because it waited for B first. The
// next to hold B may have joined its queue early, for A and B, with the tokens 3 and 8.
//
// The Mutexes must be of one client. None of them may be nil or held by the caller, and none
// may be given twice: that is [ErrNested]. The reason is then in the Hold, which is over at
// once. To a [coord.Trace] the Hold is one, named acquireall, and each Mutex another.
func All(ctx context.Context, ms ...*Mutex) *coord.Hold {
	const op = "acquireall"
	if len(ms) == 0 {
		return coord.EndedHold(op, "", errors.New("lock: All of no Mutex"))
	}
	parts := make([]coord.Part, len(ms))
	seen := make(map[string]bool)
	for i, m := range ms {
		if m == nil || m.c == nil {
			return coord.EndedHold(op, "", fmt.Errorf("lock: Mutex %d of %d is nil, or did not come from New", i+1, len(ms)))
		}
		var err error
		switch {
		case m.c != ms[0].c:
			err = fmt.Errorf("lock: of another client than %s", ms[0].dir)
		case seen[m.dir]:
			err = fmt.Errorf("%w: given twice", ErrNested)
		case m.c.Kit().Nested(ctx, m.dir):
			err = ErrNested
		default:
			err = queue.Entry{Dir: m.dir, Label: m.opts.Label}.Check()
		}
		if err != nil {
			return coord.EndedHold(op, m.dir, err)
		}
		seen[m.dir] = true
		parts[i] = coord.Part{Path: m.dir, Acquire: m.Acquire}
	}
	return ms[0].c.Kit().HoldAll(ctx, op, parts...)
}
