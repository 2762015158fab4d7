package coord

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkcoord/zkcoord/internal/backoff"
	"github.com/zkcoord/zkcoord/internal/jute"
)

// once makes a request that must not be made twice. The error is Refused, or is
// ErrUnknown, or otherwise means that the request was not sent and never will be.
func (s *Session) once(ctx context.Context, p purpose, frame []byte) answer {
	return s.orUnknown(ctx, s.ask(ctx, p, frame))
}

// orUnknown returns a with what its error means for a write that is not repeated.
func (s *Session) orUnknown(ctx context.Context, a answer) answer {
	if a.err == nil || refused(a.err) || !a.sent {
		return a
	}
	if over := s.Err(); over != nil && ctx.Err() == nil {
		a.err = over // says more than that the connection was closed
	}
	a.err = fmt.Errorf("%w: %w", ErrUnknown, a.err)
	return a
}

// untilAnswered makes a request until it is answered, with success or a refusal. An
// answer that comes when s is over counts as none: what it says of the znodes of s may not
// be true any more.
func (s *Session) untilAnswered(ctx context.Context, p purpose, frame []byte) (a answer) {
	a.err = s.Retry(ctx, func() error {
		a = s.ask(ctx, p, frame)
		if over := s.Err(); over != nil {
			return over
		}
		return a.err
	})
	return a
}

// parse returns what the answer a says, as read takes it from there.
func parse[T any](a answer, read func(*jute.Decoder) T) (v T, err error) {
	if a.err != nil {
		return v, a.err
	}
	d := jute.NewDecoder(a.body)
	if v = read(d); d.Bad() {
		return v, fmt.Errorf("%w: %w: answer of %d bytes", ErrUnknown, errMangled, len(a.body))
	}
	return v, nil
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
	frame, err := s.c.txnFrame(ops, results)
	if err != nil {
		return results, err
	}
	a := s.once(ctx, txnPurpose(s.c, ops), frame)
	return results, a.transaction(s.c, ops, results)
}

func txnPurpose(c *Client, ops []Op) purpose {
	if len(ops) == 0 {
		return purpose{"txn", ""}
	}
	return purpose{"txn", ops[0].below(c)}
}

// txnFrame returns the frame of a transaction, or what is wrong with it, which is then also
// in the result of the op that is to blame.
func (c *Client) txnFrame(ops []Op, results []OpResult) ([]byte, error) {
	all, of := flat(ops)
	requests := make([]any, len(all))
	for i, op := range all {
		var err error
		if requests[i], err = op.request(c); err != nil {
			results[of.at(i)].Err = err
			return nil, err
		}
	}
	if err := checkMulti(requests...); err != nil {
		return nil, err
	}
	return multiFrame(requests...), nil
}

// transaction fills in the results of ops from the answer a, and returns the error of the
// transaction as a whole. If the ensemble says of each op that it was not carried out,
// the first one with an error is why.
func (a answer) transaction(c *Client, ops []Op, results []OpResult) error {
	if a.err != nil && len(a.body) == 0 {
		return a.err
	}
	all, of := flat(ops)
	d, bad := jute.NewDecoder(a.body), -1
	for i := range all {
		switch h := d.MultiHeader(); {
		case h.Done:
			d.Fail()
		case h.Op == jute.OpCreate:
			results[of.at(i)].Path = c.relative(d.String())
		case h.Op == jute.OpSetData:
			results[of.at(i)].Stat = Stat(d.Stat())
		case h.Op == jute.OpError:
			if code := jute.Code(d.Int32()); code != jute.OK && bad < 0 {
				bad = i
			}
		}
	}
	switch whole := d.MultiHeader().Done && !d.Bad(); {
	case whole && bad >= 0 && a.err != nil:
		guard := ops[of.at(bad)]
		switch {
		case guard.hold == "" || !errors.Is(a.err, ErrNoNode):
		case guard.also == nil:
			a.err = ErrNotHeld
		default:
			a.err = notHeld{all[bad].hold}
		}
		results[of.at(bad)].Err = a.err
	case a.err == nil && (!whole || bad >= 0):
		clear(results)
		return fmt.Errorf("%w: answer to another transaction", ErrUnknown)
	}
	return a.err
}
