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
	var zero T
	if err := s.admit(ctx); err != nil {
		return zero, err
	}
	type outcome struct {
		v   T
		err error
	}
	back := make(chan outcome, 1) // so that f's goroutine ends though nobody waits
	go func() {
		o := outcome{err: errExited}
		defer func() { // f may not return
			s.dismiss(o.err)
			back <- o
		}()
		o.v, o.err = f(s.conn)
	}()
	select {
	case o := <-back:
		if err := s.Err(); err != nil {
			return zero, err
		}
		return o.v, o.err
	case <-ctx.Done():
		return zero, s.c.givenUp(ctx)
	case <-s.Done():
		return zero, s.Err()
	}
}

// Retry makes a request in session s as [Call] does, again and again until it
// has been answered, with success or with an error that is [Refused], or f has not
// returned. So f must do no harm when it is carried out more than once, and its
// request must be small enough: see [CheckSize].
func Retry[T any](ctx context.Context, s *Session, f func(*zk.Conn) (T, error)) (T, error) {
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		v, err := Call(ctx, s, f)
		if err == nil || Refused(err) || errors.Is(err, errExited) {
			return v, err
		}
		if over := s.pause(ctx, pause); over != nil {
			return v, over
		}
	}
}

// Transact makes a transaction of ops, for use within [Call] and [Retry]. It
// differs from conn.Multi in its errors: whatever the ensemble says of a
// transaction, if it says so of each op, the transaction was not carried out, and
// the error is [Refused]. And it sends nothing that fails [CheckSize].
func Transact(conn *zk.Conn, ops ...any) ([]zk.MultiResponse, error) {
	if err := CheckSize(ops...); err != nil {
		return nil, err
	}
	res, err := conn.Multi(ops...)
	switch {
	case err == nil && len(res) != len(ops):
		err = errors.New("coord: answer to another transaction")
	case err != nil && len(res) == len(ops):
		err = refusal{err}
	}
	return res, err
}

// Read makes a request as [Retry] does, in the present session and, should that
// end, in the next: for requests that do not depend on a session. It ends with
// an error only if the request is refused, ctx ends, or c is closed.
func Read[T any](ctx context.Context, c *Client, f func(*zk.Conn) (T, error)) (T, error) {
	for {
		s := c.Session()
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
