package coord

import (
	"context"
	"time"
)

// A Trace is a set of functions to call at certain moments of a [Client], for
// metrics and spans. Any of them may be nil.
//
// They are called one at a time, in the order of the moments, on a goroutine of the
// client's that does nothing else. One that blocks delays the next ones, and
// [Client.Close], but no lock and no request. What there is to report meanwhile is
// queued without a bound, and none of it is dropped, so that counters stay exact. The
// handler of [Options.Logger] is called in the same way, on the same goroutine.
//
// They may use the client, and close it: a Close that is called on that goroutine
// does not wait for what is still to be reported. They must not wait for another
// goroutine that calls Close.
//
// The context has the values of the one that was given to the operation, such as
// an Acquire, and is never canceled. Sessions, and requests of the client's own, belong
// to no operation: there the values are those of the context given to [Dial].
//
// What has a Begin has one End, and what has no Begin has none. So a gauge that one
// raises and the other lowers is exact, and it is zero when Close has returned. What is
// asked for after Close is not reported.
type Trace struct {
	// DialFailed is called when a server could not be reached or gave no session.
	DialFailed func(context.Context, SessionInfo)
	// Connected is called when a server has opened or resumed a session.
	Connected func(context.Context, SessionInfo)
	// SuspendBegin is called when the connection is lost while the session may live
	// on, and SuspendEnd when the session is resumed, or over: its Err is nil, or
	// says why the session is over.
	SuspendBegin, SuspendEnd func(context.Context, SessionInfo)
	// Expired is called when a session is over, with everything held in it.
	Expired func(context.Context, SessionInfo)

	// Request is called when a request has been answered or given up. A write that is
	// repeated until it is answered is several requests. What the program asks for by
	// [Client.Conn] is not among them.
	Request func(context.Context, RequestInfo)

	// WaitBegin is called when a [Hold] is asked for, and WaitEnd when it is held or
	// not waited for any longer: its Err is nil, or says why it was not acquired.
	WaitBegin, WaitEnd func(context.Context, HoldInfo)
	// HoldBegin is called when a Hold is acquired, after WaitEnd, and HoldEnd when it
	// is released or lost: its Err is [ErrReleased], or the cause of the loss.
	HoldBegin, HoldEnd func(context.Context, HoldInfo)
	// HoldDone is called once for each Hold, last, when [Hold.Done] is closed.
	HoldDone func(context.Context, HoldInfo)
}

// A HoldInfo describes a [Hold] to the functions of a [Trace], as of the moment that
// they are called for. Times of what has not happened are zero.
type HoldInfo struct {
	ID       uint64    // tells the holds of a program apart
	Op, Path string    // what was asked for, such as "acquire", and of what
	Token    Token     // zero until acquired
	Session  SessionID // in which it is held; zero until acquired
	Asked    time.Time // when it was asked for
	Acquired time.Time // when it was acquired
	Ended    time.Time // when the waiting ended in vain, or the holding ended
	Done     time.Time // when nothing of it was left
	Err      error     // why it ended, without Op and Path; nil until then
}

// Waited returns how long the Hold was waited for, in vain or not, zero until that
// has ended.
func (i HoldInfo) Waited() time.Duration {
	switch {
	case !i.Acquired.IsZero():
		return i.Acquired.Sub(i.Asked)
	case !i.Ended.IsZero():
		return i.Ended.Sub(i.Asked)
	}
	return 0
}

// Held returns how long the Hold was held, zero until that has ended, and if it was
// not.
func (i HoldInfo) Held() time.Duration {
	if i.Acquired.IsZero() || i.Ended.IsZero() {
		return 0
	}
	return i.Ended.Sub(i.Acquired)
}

// A RequestInfo describes a request to the functions of a [Trace].
type RequestInfo struct {
	// Op is the lower-case name of a method of [Session], such as "get" or "multi";
	// or "watch", for one reading of what a stream follows; or "renew", for the
	// transactions that keep holds good.
	Op      string
	Path    string    // of a transaction, the first; empty if it is not known
	Session SessionID // zero if it was not sent
	Begin   time.Time // when it was asked for
	Sent    time.Time // when it was handed to the connection; zero if it was not
	End     time.Time // when it was answered or given up
	Err     error     // nil, or [Refused], or no answer has come
}

// A SessionInfo describes a session, or an attempt to have one, to the functions of a
// [Trace]. Between Begin and End lie, for DialFailed and Connected, the attempt to
// connect; for SuspendEnd, the time without a connection; for Expired, the life of the
// session. For SuspendBegin both are the moment itself.
type SessionInfo struct {
	ID         SessionID     // zero if there is no session yet
	Server     string        // the one dialed; when the connection or the session ends, the last one
	Timeout    time.Duration // how long the ensemble keeps the session without hearing from the client
	Begin, End time.Time
	Err        error // what went wrong; nil if nothing did
}
