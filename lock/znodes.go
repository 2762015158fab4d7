package lock

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	claim "github.com/zkcoord/zkcoord/internal/oldclaim"
	"github.com/zkcoord/zkcoord/internal/queue"
)

// An answer is what became of a request.
type answer struct {
	token int64 // of the transaction that made what is there; zero if nothing is, or nothing of ours
	err   error // why it was refused, or could not be made any more
}

// background is the context of what ends otherwise.
var background = context.Background()

// claim returns what an attempt in session s begins with: no znodes yet.
func (u *Unqueued) claim(s *coord.Session) *claim.Claim {
	path := u.c.FullPath(u.name)
	return claim.New(u.c, s, path, path+claim.Suffix, []byte(u.label))
}

// take makes our two znodes, unless another's is at the path, and returns their
// token.
func (a *attempt) take() answer {
	for {
		former := queue.Stakes(a.c, a.name) // before the asking: what is over by then is not in the way
		err := a.znodes.Take(a.k.Context(), []byte(a.label), nil)
		switch {
		case errors.Is(err, zk.ErrNodeExists) && a.try && a.yielded(former):
			continue // it may have been theirs
		case errors.Is(err, zk.ErrNodeExists):
			err = nil
		case err == nil && a.znodes.Token() != 0:
			err = a.s.Renew(background, a.name) // at once unless the answer was lost
		}
		return answer{a.znodes.Token(), err}
	}
}

// yielded waits until one of former, which are our own client's, is over, if any
// is about to be, and reports whether one is.
func (a *attempt) yielded(former []*queue.Stake) bool {
	return slices.ContainsFunc(former, func(s *queue.Stake) bool { return s.Yields(a.k, a.s) })
}

// remove deletes our znodes, or only our own name if the path is known not to be
// ours any more.
func (a *attempt) remove(robbed bool) answer {
	err := a.znodes.Remove(robbed)
	if coord.Refused(err) {
		a.k.Leftover(err)
	}
	return answer{err: err}
}

// inspect asks what is at the path.
func (a *attempt) inspect() answer {
	stat, err := a.znodes.Look()
	if stat == nil {
		return answer{err: err}
	}
	return answer{token: stat.Czxid}
}
