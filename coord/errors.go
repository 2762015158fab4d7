package coord

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/jute"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// What an error can be. Test for these with [errors.Is].
var (
	// Why a [Hold] or a stream is over.
	ErrReleased  = errors.New("coord: released")                                     // by its owner
	ErrExpired   = errors.New("coord: session expired")                              // the ensemble said so, or was not heard in time
	ErrDeleted   = errors.New("coord: znode deleted by someone else")                // by hand, or by the ensemble before the client knew that its session had expired
	ErrRevoked   = errors.New("coord: revoked by another client")                    // which asked the holder to give way
	ErrLocked    = errors.New("coord: locked by someone else")                       // the answer to a try
	ErrClosed    = errors.New("coord: client closed")                                // by Client.Close
	ErrForeign   = errors.New("coord: directory of another recipe")                  // whose participants do not look at ours: nothing is acquired there
	ErrExhausted = errors.New("coord: sequence numbers of the directory used up; " + // so its children have no order any more
		"delete it when nobody uses it, and it starts again at zero")

	// ErrUnknown means that a write was sent and its answer is lost for good: it may
	// have been carried out or not. The error also has the reason.
	ErrUnknown = errors.New("coord: outcome unknown")

	// Why a request was refused, and so not carried out. For [errors.Is], each but the
	// first is also go-zookeeper's error of the same name, if there is one. ErrNotHeld is
	// its ErrNoNode, and not the one below.
	ErrInvalidPath                   = zkpath.ErrInvalid // refused by the client
	ErrTooLarge                error = &refusal{"coord: request too large", nil}
	ErrNoNode                  error = &refusal{"coord: znode does not exist", zk.ErrNoNode}
	ErrNodeExists              error = &refusal{"coord: znode exists", zk.ErrNodeExists}
	ErrBadVersion              error = &refusal{"coord: znode has another version", zk.ErrBadVersion}
	ErrNotEmpty                error = &refusal{"coord: znode has children", zk.ErrNotEmpty}
	ErrNoChildrenForEphemerals error = &refusal{"coord: an ephemeral znode cannot have children", zk.ErrNoChildrenForEphemerals}
	ErrNoAuth                  error = &refusal{"coord: access denied", zk.ErrNoAuth}
	ErrAuthFailed              error = &refusal{"coord: authentication failed", zk.ErrAuthFailed}
	ErrInvalidACL              error = &refusal{"coord: invalid access list", zk.ErrInvalidACL}
	ErrNotHeld                 error = &refusal{"coord: not held", zk.ErrNoNode} // the answer to the Guard of a Hold
	ErrQuotaExceeded           error = &refusal{"coord: quota exceeded", nil}
	ErrUnimplemented           error = &refusal{"coord: request unknown to the server", nil}
)

// IsLost reports whether err means that a [Hold] has ended, held or not yet, because its
// session expired, its znode was deleted, or it was revoked. It then makes sense to
// acquire it again.
func IsLost(err error) bool {
	return errors.Is(err, ErrExpired) || errors.Is(err, ErrDeleted) || errors.Is(err, ErrRevoked)
}

// errEnsemble is the ErrExpired of a session that the ensemble itself has ended.
var errEnsemble = fmt.Errorf("%w by ZooKeeper", ErrExpired)

// errExited stands for the result of a function of the program that did not return, but
// called runtime.Goexit, as the FailNow of a test does.
var errExited = errors.New("coord: function ended its goroutine instead of returning")

// An Error says which operation failed, on which path, and why.
type Error struct {
	// Op is, in lower case, the name of the function or method that was called:
	//
	//   - of this package: dial, get, exists, children, sync, create, set, delete, txn, watch;
	//   - of the locks: acquire, acquireall, tryacquire, acquireread, tryacquireread, acquirewrite,
	//     tryacquirewrite, downgrade, resize, contenders, holder, watch;
	//   - of lock/leader: campaign, keep, publish, resign, leader, contenders, watch;
	//   - of members: join, keep, setdata, leave, members, find, follow, await, awaitn, watch;
	//   - of members/barrier: enter, watch, close, open, wait;
	//   - of config: read, watch, modify, store, delete, publish, add, get.
	//
	// Of a [Hold] it is "release" if that was released, and "lost" if it was lost. Other
	// recipes have verbs of their own.
	Op   string
	Path string // as the caller wrote it; empty if the operation has none
	Err  error  // the cause
}

// Error returns the operation, the path and the cause.
func (e *Error) Error() string {
	what, why := e.Op, "no cause given"
	if e.Path != "" {
		what += " " + e.Path
	}
	if e.Err != nil {
		why = e.Err.Error()
	}
	return what + ": " + why
}

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// A refusal is an error that means that a request was not carried out and never
// will be.
type refusal struct {
	text string // "": that of err
	err  error  // of go-zookeeper; nil if it has none
}

// Error returns the text, which is this package's if it has one.
func (r *refusal) Error() string {
	if r.text == "" {
		return r.err.Error()
	}
	return r.text
}

// Unwrap returns go-zookeeper's error, so that programs that test for that find it.
func (r *refusal) Unwrap() error { return r.err }

// answers are the errors by which the ensemble says that it has understood a
// request and not carried it out, and those with which go-zookeeper refuses to
// send one.
var answers = []error{
	zk.ErrNoNode, zk.ErrNodeExists, zk.ErrBadVersion, zk.ErrNotEmpty, zk.ErrNoAuth, zk.ErrInvalidACL,
	zk.ErrNoChildrenForEphemerals, zk.ErrBadArguments, zk.ErrAPIError, zk.ErrReconfigDisabled,
	zk.ErrInvalidPath, zk.ErrInvalidFlags, zk.ErrAuthFailed, ErrInvalidPath,
}

// The texts of answers for which go-zookeeper has no error value. The other codes that it
// does not name are no refusals: some may come although the request was carried out, and
// some mean "try again".
const (
	unimplemented = "unknown error: -6"
	quotaExceeded = "unknown error: -125"
)

// coded returns what an answer with this code says: nil, or one of the errors above, or
// go-zookeeper's of that name, or else one that is worded as there.
func coded(code jute.Code) error {
	switch code {
	case jute.OK:
		return nil
	case jute.CodeNoNode:
		return ErrNoNode
	case jute.CodeNodeExists:
		return ErrNodeExists
	case jute.CodeBadVersion:
		return ErrBadVersion
	case jute.CodeNotEmpty:
		return ErrNotEmpty
	case jute.CodeNoChildrenEphemerals:
		return ErrNoChildrenForEphemerals
	case jute.CodeNoAuth:
		return ErrNoAuth
	case jute.CodeAuthFailed:
		return ErrAuthFailed
	case jute.CodeInvalidACL:
		return ErrInvalidACL
	case jute.CodeUnimplemented:
		return ErrUnimplemented
	case jute.CodeQuotaExceeded:
		return ErrQuotaExceeded
	case jute.CodeAPIError:
		return zk.ErrAPIError
	case jute.CodeBadArguments:
		return zk.ErrBadArguments
	case jute.CodeReconfigDisabled:
		return zk.ErrReconfigDisabled
	case jute.CodeSessionExpired:
		return zk.ErrSessionExpired
	case jute.CodeSessionMoved:
		return zk.ErrSessionMoved
	case jute.CodeClosing:
		return zk.ErrClosing
	case jute.CodeNothing:
		return zk.ErrNothing
	}
	// Of the nameless codes some may follow a request that was carried out, and some mean
	// "try again".
	return fmt.Errorf("unknown error: %d", code)
}

// Refused reports whether err, from a request of s or of its client, means that the
// ensemble or the client refused the request: it was not carried out, and to repeat it as
// it is makes no sense.
//
// Any other error says only why there is no answer. Of a request that is made once,
// which is [Session.Txn] or a write of a [Client], it is [ErrUnknown] if the request
// may have been carried out; otherwise the request was not sent. What a Session repeats
// until there is an answer, such as [Session.Set], may have been carried out.
func (*Session) Refused(err error) bool { return refused(err) }

// refused is Refused.
func refused(err error) bool {
	switch {
	// An error can be several things at once: what a server said of the client, say,
	// stands beside the end of a ctx. So what leaves the outcome open is asked first.
	case err == nil, errors.Is(err, ErrUnknown), errors.As(err, new(ctxError)), errors.As(err, new(turnedAway)):
		return false
	case errors.As(err, new(*refusal)):
		return true
	}
	return isAnswer(err) || err.Error() == unimplemented || err.Error() == quotaExceeded
}

// ctxCause returns the cause of ctx's end, wrapped where necessary so that refused does
// not mistake it for an answer of the ensemble: a program may cancel a ctx with the error
// of another request. errors.Is and errors.As find the cause and what it wraps, but no
// refusal.
func ctxCause(ctx context.Context) error {
	cause := context.Cause(ctx)
	if refused(cause) {
		return ctxError{cause}
	}
	return cause
}

// A ctxError is the cause of a ctx's end that must not be mistaken for an answer.
type ctxError struct{ cause error }

// Error returns the text of the cause.
func (e ctxError) Error() string { return e.cause.Error() }

// Is is for errors.Is, which cannot reach the cause otherwise. It finds all that is in the
// cause except refusals.
func (e ctxError) Is(target error) bool {
	_, ours := target.(*refusal)
	return !ours && !slices.Contains(answers, target) && errors.Is(e.cause, target)
}

// As is for errors.As, which cannot reach the cause otherwise.
func (e ctxError) As(target any) bool { return errors.As(e.cause, target) }

// isAnswer reports whether err is one of answers.
func isAnswer(err error) bool {
	return slices.ContainsFunc(answers, func(a error) bool { return errors.Is(err, a) })
}
