package coord

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// What an error can be. Test for these with [errors.Is].
var (
	// Why a [Hold] or a stream is over.
	ErrReleased  = errors.New("coord: released")                                     // by its owner
	ErrExpired   = errors.New("coord: session expired")                              // by the word of the ensemble, or for want of it
	ErrDeleted   = errors.New("coord: znode deleted by someone else")                // by an operator, or with the session before that was known
	ErrRevoked   = errors.New("coord: revoked by another client")                    // asked to give way
	ErrLocked    = errors.New("coord: locked by someone else")                       // the answer to a try
	ErrClosed    = errors.New("coord: client closed")                                // by Client.Close
	ErrExhausted = errors.New("coord: sequence numbers of the directory used up; " + // no order is left
		"delete it when nobody uses it, and it starts again at zero")

	// ErrUnknown means that a write was sent and its answer is lost for good: it may
	// have been carried out or not. The error says why, too.
	ErrUnknown = errors.New("coord: outcome unknown")

	// Why a request was refused and not carried out. Each but the first is also
	// go-zookeeper's error of the same name, where there is one. ErrNotHeld is its
	// ErrNoNode, and not the one below.
	ErrInvalidPath                   = zkpath.ErrInvalid // not sent
	ErrTooLarge                error = &refusal{"coord: request too large", nil}
	ErrNoNode                  error = &refusal{"coord: znode does not exist", zk.ErrNoNode}
	ErrNodeExists              error = &refusal{"coord: znode exists", zk.ErrNodeExists}
	ErrBadVersion              error = &refusal{"coord: znode has another version", zk.ErrBadVersion}
	ErrNotEmpty                error = &refusal{"coord: znode has children", zk.ErrNotEmpty}
	ErrNoChildrenForEphemerals error = &refusal{"coord: an ephemeral znode cannot have children", zk.ErrNoChildrenForEphemerals}
	ErrNoAuth                  error = &refusal{"coord: access denied", zk.ErrNoAuth}
	ErrAuthFailed              error = &refusal{"coord: authentication failed", zk.ErrAuthFailed}
	ErrInvalidACL              error = &refusal{"coord: invalid access list", zk.ErrInvalidACL}
	ErrNotHeld                 error = &refusal{"coord: not held", zk.ErrNoNode} // what the guard of a Hold says
	ErrQuotaExceeded           error = &refusal{"coord: quota exceeded", nil}
	ErrUnimplemented           error = &refusal{"coord: request unknown to the server", nil}
)

// IsLost reports whether err says that something that was held, or sought, was
// lost against its owner's will: with its session, by the deletion of its znode, or
// by a revocation. To acquire it again makes sense.
func IsLost(err error) bool {
	return errors.Is(err, ErrExpired) || errors.Is(err, ErrDeleted) || errors.Is(err, ErrRevoked)
}

// errEnsemble is the ErrExpired that the ensemble declares.
var errEnsemble = fmt.Errorf("%w by ZooKeeper", ErrExpired)

// errExited is what a function of the program has come to that did not return.
var errExited = errors.New("coord: function ended its goroutine instead of returning")

// An Error says which operation failed, and on what path.
type Error struct {
	Op   string // "acquire", "watch", "dial"
	Path string // as the caller wrote it; empty for operations on no znode
	Err  error
}

func (e *Error) Error() string {
	if e.Path == "" {
		return e.Op + ": " + e.Err.Error()
	}
	return e.Op + " " + e.Path + ": " + e.Err.Error()
}

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// A refusal is an error that means that a request was not carried out and never
// will be.
type refusal struct {
	text string // "": that of err
	err  error  // of go-zookeeper; nil if it has none
}

func (r *refusal) Error() string {
	if r.text == "" {
		return r.err.Error()
	}
	return r.text
}

// Unwrap returns go-zookeeper's error.
func (r *refusal) Unwrap() error { return r.err }

// answers are the errors by which the ensemble says that it has understood a
// request and not carried it out, and those with which go-zookeeper refuses to
// send one.
var answers = []error{
	zk.ErrNoNode, zk.ErrNodeExists, zk.ErrBadVersion, zk.ErrNotEmpty, zk.ErrNoAuth, zk.ErrInvalidACL,
	zk.ErrNoChildrenForEphemerals, zk.ErrBadArguments, zk.ErrAPIError, zk.ErrReconfigDisabled,
	zk.ErrInvalidPath, zk.ErrInvalidFlags, zk.ErrShortBuffer, zk.ErrAuthFailed, ErrInvalidPath,
}

// How go-zookeeper words answers for which it has no error value. Of the other
// nameless codes some may follow a request that was carried out, and some mean "try
// again".
const (
	unimplemented = "unknown error: -6"
	quotaExceeded = "unknown error: -125"
)

// translate returns err, which is go-zookeeper's, as the error of this package that
// means the same, if there is one. All answers to requests pass through it.
func translate(err error) error {
	if err == nil {
		return nil
	}
	for _, ours := range []error{
		ErrNoNode, ErrNodeExists, ErrBadVersion, ErrNotEmpty, ErrNoChildrenForEphemerals, ErrNoAuth, ErrAuthFailed, ErrInvalidACL,
	} {
		if errors.Unwrap(ours) == err {
			return ours
		}
	}
	switch err.Error() {
	case unimplemented:
		return ErrUnimplemented
	case quotaExceeded:
		return ErrQuotaExceeded
	}
	return err
}

// Refused reports whether err, from a request of s or of its client, means that the
// ensemble or the client has refused the request: it was not carried out, and to repeat
// it as it is makes no sense.
//
// Any other error says only why there is no answer. Of a request that is made once,
// which is [Session.Multi] or a write of a [Client], it is [ErrUnknown] if the request
// may have been carried out; otherwise the request was not sent. What a Session repeats
// until there is an answer, such as [Session.Set], may have been carried out.
func (*Session) Refused(err error) bool { return refused(err) }

// refused is Refused.
func refused(err error) bool {
	switch {
	case err == nil, errors.Is(err, ErrUnknown), errors.As(err, new(ctxError)), errors.As(err, new(turnedAway)):
		return false
	case errors.As(err, new(*refusal)):
		return true
	}
	return named(err) || err.Error() == unimplemented || err.Error() == quotaExceeded
}

// ctxErr returns the cause of ctx's end, wrapped where necessary so that refused does
// not mistake it for an answer of the ensemble: errors.Is and errors.As find the cause
// and what it wraps, but no refusal.
func ctxErr(ctx context.Context) error {
	cause := context.Cause(ctx)
	if refused(cause) {
		return ctxError{cause}
	}
	return cause
}

// A ctxError is the cause of a ctx's end that must not be mistaken for an answer.
type ctxError struct{ cause error }

func (e ctxError) Error() string { return e.cause.Error() }

// Is is what errors.Is asks.
func (e ctxError) Is(target error) bool {
	_, ours := target.(*refusal)
	return !ours && !slices.Contains(answers, target) && errors.Is(e.cause, target)
}

// As is what errors.As asks.
func (e ctxError) As(target any) bool { return errors.As(e.cause, target) }

// named reports whether err is one of answers.
func named(err error) bool {
	return slices.ContainsFunc(answers, func(a error) bool { return errors.Is(err, a) })
}
