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

// A purpose says what a request is for, in the words of a [RequestInfo].
type purpose struct{ op, path string }

// exchange makes one request in session s: it calls f with the session's connection, once
// a server serves the session, and returns what f does. It returns ctx's cause as soon as
// ctx ends, and s's Err as soon as s is over. Because go-zookeeper's methods know no
// contexts, f runs on a goroutine of its own, which may outlive the call; it ends with
// the session's connection at the latest.
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
			// The caller comes last. If the answer is that the session has expired, the
			// holds know of their loss before the request returns with that.
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
		err = s.c.ctxErr(ctx)
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

// once makes a request that must not be made twice. The error is Refused, or is
// ErrUnknown, or otherwise means that the request was not sent and never will be.
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

// retry makes a request until it is answered, with success or a refusal. An answer that
// comes when s is over counts as none: what it says of the znodes of s may not be true
// any more.
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

// Retry calls f until f returns nil or an error that is [Session.Refused], with pauses
// in between that grow from 5 ms to 1 s. It ends with ctx's cause when ctx ends, and
// with s's Err when s is over, but not while f runs. The requests of f must do no harm
// when they are carried out more than once.
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
			return s.c.ctxErr(ctx)
		case s.Err() != nil:
			return s.Err()
		}
	}
}

// Txn makes a transaction of ops, once: all of them are carried out, in order, or
// none. There is one result for each op.
//
// If the error is [Session.Refused], nothing was carried out. If that is because of one
// of the ops, its result has the error as well; otherwise it is because of the
// transaction as a whole, which may be too large, for instance. If the error is
// [ErrUnknown], the transaction was sent and may have been carried out, but no answer
// came before ctx or s ended or the connection was lost. Any other error, ctx's cause
// or s's Err, means that it was not sent and never will be.
//
// An answer is returned even if ctx or s has ended meanwhile.
func (s *Session) Txn(ctx context.Context, ops ...Op) ([]OpResult, error) {
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
	answers, err := once(ctx, s, purpose{"txn", first}, func(conn *zk.Conn) ([]zk.MultiResponse, error) { return multi(conn, requests) })
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

// multi makes a transaction on conn. If the answer has an error for the ops, the
// transaction was not carried out, and the error is Refused, even if its code is one that
// leaves the outcome of other requests open. There are then as many answers as requests,
// and the first one with an error says why.
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
	failed := func(r zk.MultiResponse) bool { return r.Error != nil }
	if err = translate(err); !refused(err) && slices.ContainsFunc(answers, failed) {
		err = &refusal{"", err}
	}
	return answers, err
}
