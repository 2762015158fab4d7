package coord

import (
	"github.com/zkcoord/zkcoord/internal/ask"
	"github.com/zkcoord/zkcoord/internal/jute"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

func init() { ask.Of = func(s any) any { return asker{s.(*Session)} } }

// An asker starts requests of a session for the recipes of this module. It implements
// [ask.Session].
type asker struct{ s *Session }

// Txn implements [ask.Session].
func (a asker) Txn(ops ...Op) *ask.Pending[[]OpResult] {
	results := make([]OpResult, len(ops))
	frame, err := a.s.c.txnFrame(ops, results)
	return pending(a.s, txnPurpose(a.s.c, ops), frame, err, func(got answer) ([]OpResult, error) {
		return results, a.s.orUnknown(a.s.c.report.ctx, got).transaction(a.s.c, ops, results)
	})
}

// Children implements [ask.Session].
func (a asker) Children(path string) *ask.Pending[[]string] {
	const op = jute.OpGetChildren2
	return pending(a.s, purpose{"children", path}, readFrame(op, a.s.c.FullPath(path), false), zkpath.Check(path), func(got answer) ([]string, error) {
		n, err := parse(got, asRead(op))
		return n.names, err
	})
}

// Delete implements [ask.Session].
func (a asker) Delete(path string, version int32) *ask.Pending[struct{}] {
	return pending(a.s, purpose{"delete", path}, a.s.c.deleteFrame(path, version), zkpath.Check(path), noResult)
}

// Sync implements [ask.Session].
func (a asker) Sync(path string) *ask.Pending[struct{}] {
	return pending(a.s, purpose{"sync", path}, syncFrame(a.s.c.FullPath(path)), zkpath.Check(path), noResult)
}

func noResult(got answer) (struct{}, error) { return struct{}{}, got.err }

// pending starts a request, unless it cannot be right because of err.
func pending[T any](s *Session, p purpose, frame []byte, err error, read func(answer) (T, error)) *ask.Pending[T] {
	if err != nil {
		over := make(chan struct{})
		close(over)
		return ask.NewPending(over, func() (T, error) { return read(answer{err: err}) })
	}
	q := s.newCall(s.c.report.ctx, p, frame)
	s.start(q)
	return ask.NewPending(q.over, func() (T, error) { return read(q.answer) })
}
