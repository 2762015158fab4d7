package unqueued

import (
	"context"
	"errors"
	"slices"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/claim"
	"github.com/zkcoord/zkcoord/internal/queue"
)

// An answer is what became of a request.
type answer struct {
	token int64 // of the transaction that created what is there; zero if nothing is, or nothing of ours
	err   error // why it was refused, or could not be made any more
}

// background is the context of requests. They end with the session.
var background = context.Background()

// claim returns what an attempt in session s begins with: no znodes yet.
func (l Lock) claim(s *coord.Session) *claim.Claim {
	path := l.C.FullPath(l.Path)
	return claim.New(l.C, s, path, path+claim.Suffix, []byte(l.Label))
}

// create creates our two znodes, unless another's is at the path, and returns their
// token.
func (a *attempt) create() answer {
	for {
		ours := queue.Stakes(a.C, a.Path) // before the request: what is over by then is not in the way
		err := a.znodes.Take(a.k.Context(), []byte(a.Label), nil)
		switch {
		case errors.Is(err, coord.ErrNodeExists) && a.try && a.yielded(ours):
			continue // it may have been theirs
		case errors.Is(err, coord.ErrNodeExists):
			err = nil
		case err == nil && a.znodes.Token() != 0:
			err = a.s.Renew(background, a.Path) // at once unless the answer was lost
		}
		return answer{a.znodes.Token(), err}
	}
}

// yielded waits until one of ours, which are our own client's, is over, if any
// is about to be, and reports whether one is.
func (a *attempt) yielded(ours []*queue.Stake) bool {
	return slices.ContainsFunc(ours, func(s *queue.Stake) bool { return s.Yields(a.k, a.s) })
}

// remove deletes our znodes, or only the guard if the znode at the path is known not
// to be ours any more.
func (a *attempt) remove(displaced bool) answer {
	err := a.znodes.Remove(displaced)
	if coord.Refused(err) {
		a.k.NotRemoved(err)
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
