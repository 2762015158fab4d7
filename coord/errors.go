package coord

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"
)

// Why a [Hold] or a stream is over. Test for these with [errors.Is].
var (
	ErrReleased  = errors.New("coord: released")                                     // by its owner
	ErrExpired   = errors.New("coord: session over")                                 // by the word of the ensemble, or for want of it
	ErrDeleted   = errors.New("coord: znode deleted by someone else")                // by an operator, or with the session before that was known
	ErrRevoked   = errors.New("coord: revoked by another client")                    // asked to give way
	ErrLocked    = errors.New("coord: locked by someone else")                       // the answer to a try
	ErrClosed    = errors.New("coord: client closed")                                // by Client.Close
	ErrExhausted = errors.New("coord: sequence numbers of the directory used up; " + // no order is left
		"delete it when nobody uses it, and it starts again at zero")
)

// errEnsemble is the ErrExpired that the ensemble declares.
var errEnsemble = fmt.Errorf("%w: expired by the ensemble", ErrExpired)

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

// answers are the errors by which the ensemble says that it has understood a
// request and not carried it out, and those with which go-zookeeper refuses to
// send one.
var answers = []error{
	zk.ErrNoNode, zk.ErrNodeExists, zk.ErrBadVersion, zk.ErrNotEmpty, zk.ErrNoAuth, zk.ErrInvalidACL,
	zk.ErrNoChildrenForEphemerals, zk.ErrBadArguments, zk.ErrAPIError, zk.ErrReconfigDisabled,
	zk.ErrInvalidPath, zk.ErrInvalidFlags, zk.ErrShortBuffer, zk.ErrAuthFailed,
}

// notImplemented is how go-zookeeper words the answer of a server that does not
// know a request, a code for which it has no error value. Of the other nameless
// codes some may follow a request that was carried out, and some mean "try again".
const notImplemented = "unknown error: -6"

// Refused reports whether err, from a request made through [Call], means that
// the request was certainly not carried out because the ensemble or the client
// library refused it, so that repeating it makes no sense as it is. Any other
// error leaves the outcome open: the request may have been carried out, and its
// reply lost.
func Refused(err error) bool {
	return err != nil && !errors.As(err, new(givenUp)) && !errors.As(err, new(turnedAway)) && (named(err) || err.Error() == notImplemented || errors.As(err, new(refusal)))
}

// A refusal is an error that is known to be one, though its code may have no name.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// GivenUp returns the cause of the end of ctx as an error that is never [Refused],
// though a cause can be anything, and be an answer of the ensemble to something
// else. errors.Is and errors.As find the cause and what it wraps, but no error of
// go-zookeeper's. It is for those who write recipes.
func GivenUp(ctx context.Context) error {
	cause := context.Cause(ctx)
	if Refused(cause) {
		return givenUp{cause}
	}
	return cause
}

// A givenUp is a cause that must not be mistaken for an answer.
type givenUp struct{ cause error }

func (g givenUp) Error() string { return g.cause.Error() }

// Is is what errors.Is asks.
func (g givenUp) Is(target error) bool {
	return !slices.Contains(answers, target) && errors.Is(g.cause, target)
}

// As is what errors.As asks.
func (g givenUp) As(target any) bool { return errors.As(g.cause, target) }

// named reports whether err is one of answers.
func named(err error) bool {
	return slices.ContainsFunc(answers, func(a error) bool { return errors.Is(err, a) })
}
