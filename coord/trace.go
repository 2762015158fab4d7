package coord

import (
	"context"
	"time"
)

// A Trace is a set of functions to call at certain moments of a [Client], for
// metrics and spans. Any of them may be nil.
//
// They are called one at a time, in the order of the moments, on a goroutine of the client
// that does nothing else. One that blocks delays the next ones, and [Client.Close], but no
// lock and no request. Meanwhile reports are queued, without a bound, and none is dropped,
// so that counters stay exact. The handler of [Options.Logger] is called in the same way,
// on the same goroutine.
//
// They may use the client, and close it: a Close that is called by one of them does not
// wait for what is still to be reported. They must not wait for another goroutine that
// calls Close.
//
// The context has the values of the one that was given to the operation, such as an
// Acquire, and is never canceled. Sessions, and requests that the client makes for itself,
// belong to no operation: their context has the values of the one given to [Dial].
//
// Each Begin has one End, and there is no End without a Begin. So a gauge that one raises
// and the other lowers is exact, and is zero once Close has returned. Operations that begin
// after Close are not reported.
type Trace struct {
	// DialFailed is called when a server could not be reached or gave no session.
	DialFailed func(context.Context, SessionInfo)
	// SessionBegin is called when a server has opened a session, and SessionEnd when that is
	// over: its Err is [ErrExpired] or, after Close, [ErrClosed]. A gauge of clients that
	// are connected is raised by SessionBegin and SuspendEnd, and lowered by SuspendBegin
	// and SessionEnd.
	SessionBegin, SessionEnd func(context.Context, SessionInfo)
	// Connected is called when a server has opened or resumed a session.
	Connected func(context.Context, SessionInfo)
	// SuspendBegin is called when the connection is lost and the session may live on, and
	// SuspendEnd when the session is resumed, or over: its Err is nil, or says why the
	// session is over.
	SuspendBegin, SuspendEnd func(context.Context, SessionInfo)
	// Expired is called when a session has expired, with everything held in it, and not
	// by Close.
	Expired func(context.Context, SessionInfo)

	// Request is called when a request has been answered or given up. One that is repeated
	// until it is answered counts each time. Requests that the program makes with
	// [Client.Conn] do not count.
	Request func(context.Context, RequestInfo)

	// WaitBegin is called when a [Hold] is asked for, and WaitEnd when it is held or no
	// longer waited for: its Err is nil, or says why it was not acquired.
	WaitBegin, WaitEnd func(context.Context, HoldInfo)
	// HoldBegin is called when a Hold is acquired, after WaitEnd, and HoldEnd when it
	// is released or lost: its Err is [ErrReleased], or the cause of the loss.
	HoldBegin, HoldEnd func(context.Context, HoldInfo)
	// HoldDone is called once for each Hold, last, when [Hold.Done] is closed.
	HoldDone func(context.Context, HoldInfo)
}

// A HoldInfo describes a [Hold] to the functions of a [Trace], as it was at the moment that
// is reported. The time of what has not happened is zero.
type HoldInfo struct {
	ID       uint64    // that of Hold.ID
	Op, Path string    // as in an Error, such as "acquire" and the path of a lock
	Token    Token     // zero until acquired
	Session  SessionID // the id of the session in which it is held; zero until acquired
	Asked    time.Time // when it was asked for
	Acquired time.Time // when it was acquired
	Ended    time.Time // when it was released or lost, or was given up before it was held
	Done     time.Time // when it was over: see Hold.Done
	Err      error     // why it ended, without Op and Path; nil until then
}

// Waited returns how long the Hold was waited for, in vain or not. It is zero until the
// wait has ended.
func (i HoldInfo) Waited() time.Duration {
	switch {
	case !i.Acquired.IsZero():
		return i.Acquired.Sub(i.Asked)
	case !i.Ended.IsZero():
		return i.Ended.Sub(i.Asked)
	}
	return 0
}

// Held returns how long the Hold was held. It is zero until that has ended, and if the Hold
// was never held.
func (i HoldInfo) Held() time.Duration {
	if i.Acquired.IsZero() || i.Ended.IsZero() {
		return 0
	}
	return i.Ended.Sub(i.Acquired)
}

// A RequestInfo describes a request to the functions of a [Trace].
type RequestInfo struct {
	// Op is the lower-case name of a method of [Session], such as "get" or "txn";
	// or "watch", for one reading of what a stream follows; or "renew", for the
	// transactions that keep holds good.
	Op      string
	Path    string    // the first one of a transaction
	Session SessionID // the session's id; zero if the request was not sent
	Begin   time.Time // when the request was made, and began to wait for a connection
	Sent    time.Time // when it was handed to the connection; zero if it was not
	End     time.Time // when it was answered or given up
	Err     error     // nil if it was answered; [Session.Refused] if it was refused; else why no answer came
}

// A SessionInfo describes a session, or an attempt to open or resume one, to the functions
// of a [Trace]. From Begin to End is, for DialFailed and Connected, the attempt; for
// SuspendEnd, the time without a connection; for Expired and SessionEnd, the life of
// the session. For SessionBegin and SuspendBegin both are the moment itself.
type SessionInfo struct {
	ID         SessionID     // zero if there is no session yet
	Server     string        // the one dialed, such as "zk1:2181", or "zk1/10.0.0.7:2181" if zk1 was looked up; for SuspendEnd and Expired, the last one
	Timeout    time.Duration // how long the ensemble keeps the session without hearing from the client
	Begin, End time.Time
	Err        error // what went wrong; nil if nothing did
}
