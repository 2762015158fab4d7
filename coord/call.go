package coord

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/go-zookeeper/zk"
)

// Call makes one request in session s: f, called on a goroutine of its own with
// the session's connection once that is established. It returns what f returns;
// or ctx's cause as soon as ctx ends, or s's Err as soon as s is over, and the
// outcome of f is then lost. Paths must be full ones; see [Client.FullPath].
//
// An error that is not [Refused] leaves open whether the request was carried
// out. f must make one request, and make it through its argument. If f panics,
// that ends the program, as on any goroutine. If f ends its goroutine instead of
// returning, as [testing.T.FailNow] does, Call returns an error.
func Call[T any](ctx context.Context, s *Session, f func(*zk.Conn) (T, error)) (T, error) {
	return call(ctx, s, purpose{op: "other"}, f)
}

// call is Call for a purpose that is known.
func call[T any](ctx context.Context, s *Session, p purpose, f func(*zk.Conn) (T, error)) (T, error) {
	v, _, err := exchange(ctx, s, p, f)
	if over := s.Err(); over != nil && ctx.Err() == nil {
		var zero T
		return zero, over
	}
	return v, err
}

// Retry makes a request in session s as [Call] does, again and again until it
// has been answered, with success or with an error that is [Refused], or f has not
// returned. So f must do no harm when it is carried out more than once, and its
// request must be small enough: see [CheckSize].
func Retry[T any](ctx context.Context, s *Session, f func(*zk.Conn) (T, error)) (T, error) {
	return retry(ctx, s, purpose{op: "other"}, f)
}

// Transact makes a transaction of ops, for use within [Call] and [Retry]. It
// differs from conn.Multi in its errors: whatever the ensemble says of a
// transaction, if it says so of each op, the transaction was not carried out, and
// the error is [Refused]. And it sends nothing that fails [CheckSize].
func Transact(conn *zk.Conn, ops ...any) ([]zk.MultiResponse, error) {
	if err := CheckSize(ops...); err != nil {
		return nil, err
	}
	return multi(conn, ops)
}

// Read makes a request as [Retry] does, in the present session and, should that
// end, in the next: for requests that do not depend on a session. It ends with
// an error only if the request is refused, ctx ends, or c is closed.
func Read[T any](ctx context.Context, c *Client, f func(*zk.Conn) (T, error)) (T, error) {
	for {
		s := c.present()
		v, err := Retry(ctx, s, f)
		if err == nil || !errors.Is(s.Err(), ErrExpired) || ctx.Err() != nil {
			return v, err
		}
	}
}

// pause waits for about d, jittered.
func (s *Session) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d/2 + rand.N(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return s.c.givenUp(ctx)
	case <-s.Done():
		return s.Err()
	}
}
