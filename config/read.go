package config

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
)

// Read returns the value at path, no older than the call; see the package's
// comment for what that means. It fails with an [*coord.Error] that is
// [ErrMissing], the decoder's error, the ensemble's refusal, [coord.ErrClosed] or,
// when ctx ends first, its cause. The Update then has the same Err and no Value.
func Read[T any](ctx context.Context, c *coord.Client, path string, decode func([]byte) (T, error)) (Update[T], error) {
	fail := func(err error) (Update[T], error) { return Update[T]{Err: err}, err }
	refuse := func(err error) (Update[T], error) {
		return fail(&coord.Error{Op: "read", Path: path, Err: err})
	}
	if err := coord.CheckPath(path); err != nil {
		return refuse(err)
	}
	if decode == nil {
		return refuse(errNil("decode"))
	}
	for {
		s, err := c.Await(ctx)
		if err != nil {
			return refuse(err)
		}
		// Both requests are made in one session: the next one knows nothing of
		// what the server of this one has caught up with.
		n, err := fetch(ctx, s, c.FullPath(path), true)
		switch {
		case err == errAgain:
			continue
		case err != nil:
			return refuse(err)
		case n.data == nil:
			return refuse(ErrMissing)
		}
		v, err := decoded(path, decode, n.data)
		if err != nil {
			return fail(err)
		}
		return Update[T]{Value: v, Version: n.stat.Version, Mzxid: n.stat.Mzxid, Read: time.Now()}, nil
	}
}

// A znode is one as it was read.
type znode struct {
	data []byte   // nil: no value, as in a directory
	stat *zk.Stat // nil: there is no znode
}

// errAgain says that nothing was changed, and that it makes sense to look and try
// again: the session is over, or something is not as it was.
var errAgain = errors.New("config: look again")

// fetch reads the full path in session s. If sync is set the answer is no older
// than the question, unless a leader gives it that is cut off from the others.
func fetch(ctx context.Context, s *coord.Session, path string, sync bool) (znode, error) {
	if sync {
		if err := catchUp(ctx, s, path); err != nil {
			return znode{}, err
		}
	}
	n, err := coord.Retry(ctx, s, func(conn *zk.Conn) (znode, error) {
		data, stat, err := conn.Get(path)
		return znode{data, stat}, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return znode{}, nil
	}
	return n, reason(ctx, s, err)
}

// catchUp has the server of s catch up with the leader.
func catchUp(ctx context.Context, s *coord.Session, path string) error {
	_, err := coord.Retry(ctx, s, func(conn *zk.Conn) (string, error) { return conn.Sync(path) })
	return reason(ctx, s, err)
}

// reason returns what the caller shall hear of err, from a request in s that was
// to be made until it is answered: the ensemble's refusal, ctx's cause, or
// errAgain if s is over.
func reason(ctx context.Context, s *coord.Session, err error) error {
	switch {
	case err == nil, coord.Refused(err):
		return err
	case ctx.Err() != nil:
		return coord.GivenUp(ctx)
	case s.Err() != nil:
		return errAgain
	}
	return err
}

// A backoff is a pause that grows each time.
type backoff struct{ last time.Duration }

const (
	minPause = time.Millisecond
	maxPause = 100 * time.Millisecond
)

// wait waits for about twice as long as the last time, jittered so that those who
// have met do not meet again. It ends sooner if ctx or s does.
func (b *backoff) wait(ctx context.Context, s *coord.Session) {
	b.last = min(max(2*b.last, minPause), maxPause)
	timer := time.NewTimer(b.last/2 + rand.N(b.last))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-s.Done():
	}
}
