package coord

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/backoff"
)

// A purpose says of a request what is asked for, in the words of a [RequestInfo].
type purpose struct{ op, path string }

// exchange makes one request in session s: it calls f, on a goroutine of its own,
// with the session's connection once that is established, and returns what f does.
// It returns ctx's cause as soon as ctx ends, and s's Err as soon as s is over.
//
// sent reports whether f was called. If it was, and the error is not [Session.Refused], the
// request may be carried out, now or later. An answer that is there counts, even if
// ctx or s has ended as well.
func exchange[T any](ctx context.Context, s *Session, p purpose, f func(*zk.Conn) (T, error)) (v T, sent bool, err error) {
	report := s.c.report.request(ctx, p)
	if err := s.admit(ctx); err != nil {
		report.ended(err)
		return v, false, err
	}
	report.sent(s)
	type answer struct {
		v   T
		err error
	}
	answers := make(chan answer, 1) // so that f's goroutine ends even if nobody waits
	go func() {
		a := answer{err: errExited}
		defer func() { // f may not return
			err := a.err
			a.err = translate(err)
			report.ended(a.err)
			s.dismiss(err)
			answers <- a
		}()
		a.v, a.err = f(s.conn)
	}()
	select {
	case a := <-answers:
		return a.v, true, a.err
	case <-ctx.Done():
		err = s.c.givenUp(ctx)
	case <-s.Done():
		err = s.Err()
	}
	select {
	case a := <-answers: // of several channels that are ready the select takes any
		return a.v, true, a.err
	default:
		return v, true, err
	}
}

// once makes a request that must not be made twice. An error is Refused, or
// ErrUnknown, or else the request has not been sent and never will be.
func once[T any](ctx context.Context, s *Session, p purpose, f func(*zk.Conn) (T, error)) (T, error) {
	v, sent, err := exchange(ctx, s, p, f)
	if err == nil || refused(err) || !sent {
		return v, err
	}
	if over := s.Err(); over != nil && ctx.Err() == nil {
		err = over // says more than that the connection was closed
	}
	return v, fmt.Errorf("%w: %w", ErrUnknown, err)
}

// retry makes a request until it is answered, with success or a refusal. Nothing
// that is answered after the end of s is relied on.
func retry[T any](ctx context.Context, s *Session, p purpose, f func(*zk.Conn) (T, error)) (v T, err error) {
	err = s.Retry(ctx, func() (err error) {
		v, _, err = exchange(ctx, s, p, f)
		if over := s.Err(); over != nil {
			err = over
		}
		return err
	})
	return v, err
}

// Retry calls f until it returns nil or an error that is [Session.Refused], with pauses in
// between that grow from 5 ms to 1 s. It ends with ctx's cause when ctx ends, and
// with s's Err when s is over. What f asks for must do no harm when it is carried
// out more than once.
func (s *Session) Retry(ctx context.Context, f func() error) error {
	pause := backoff.Backoff{Min: 5 * time.Millisecond, Max: time.Second}
	for {
		err := f()
		if err == nil || refused(err) || errors.Is(err, errExited) {
			return err
		}
		pause.Wait(ctx.Done(), s.Done())
		switch {
		case ctx.Err() != nil:
			return s.c.givenUp(ctx)
		case s.Err() != nil:
			return s.Err()
		}
	}
}

// Multi makes a transaction of ops, once: all of them are carried out, in order, or
// none. The results are one for each op.
//
// If the error is [Session.Refused], nothing was carried out. If one of the ops is to blame,
// its result has the error as well; if there is none, it is the transaction as a
// whole, such as one that is too large. If the error is [ErrUnknown], the
// transaction was sent and no answer came before ctx or s ended or the connection
// was lost, and may have been carried out. Any other error, ctx's cause or s's Err,
// means that it was not sent and never will be.
//
// An answer is returned even if ctx or s has ended meanwhile.
func (s *Session) Multi(ctx context.Context, ops ...Op) ([]OpResult, error) {
	results := make([]OpResult, len(ops))
	requests := make([]any, len(ops))
	for i, op := range ops {
		var err error
		if requests[i], err = op.request(s.c); err != nil {
			results[i].Err = err
			return results, err
		}
	}
	if err := checkMulti(requests...); err != nil {
		return results, err
	}
	var first string
	if len(ops) > 0 {
		first = ops[0].below(s.c)
	}
	answers, err := once(ctx, s, purpose{"multi", first}, func(conn *zk.Conn) ([]zk.MultiResponse, error) { return multi(conn, requests) })
	if err != nil {
		bad := slices.IndexFunc(answers, func(r zk.MultiResponse) bool { return r.Error != nil })
		if bad >= 0 {
			if ops[bad].hold != "" && errors.Is(err, ErrNoNode) {
				err = ErrNotHeld
			}
			results[bad].Err = err
		}
		return results, err
	}
	for i, a := range answers {
		if a.Stat != nil {
			results[i].Stat = Stat(*a.Stat)
		}
		if a.String != "" {
			results[i].Path = s.c.relative(a.String)
		}
	}
	return results, nil
}

// multi makes a transaction on conn. Whatever the ensemble says of a transaction, if
// it says so of each op, the transaction was not carried out, and the error is
// Refused. There are then as many answers as requests, and the first one with an
// error says why.
func multi(conn *zk.Conn, requests []any) ([]zk.MultiResponse, error) {
	answers, err := conn.Multi(requests...)
	switch {
	case len(answers) != len(requests):
		if err == nil {
			err = errors.New("coord: answer to another transaction")
		}
		return nil, err
	case err == nil:
		return answers, nil
	}
	if err = translate(err); !refused(err) {
		err = &refusal{"", err}
	}
	return answers, err
}
