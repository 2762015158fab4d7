package coord

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"
)

// log queues a record. It is called by the methods below, and the record has the line that
// called them. The time is that of the call, and not when the handler comes to it.
func (r *reporter) log(ctx context.Context, level slog.Level, msg string, args ...any) {
	if r.handler == nil {
		return
	}
	var pcs [1]uintptr
	runtime.Callers(3, pcs[:])
	rec := slog.NewRecord(time.Now(), level, msg, pcs[0])
	rec.Add(args...)
	ctx = context.WithoutCancel(ctx)
	r.do(func() {
		if r.handler.Enabled(ctx, level) {
			// There is nobody to tell that a handler has failed, as in log/slog itself.
			_ = r.handler.Handle(ctx, rec)
		}
	})
}

// session queues a call of hook, unless that is nil.
func (r *reporter) session(hook func(context.Context, SessionInfo), i SessionInfo) {
	if hook != nil {
		r.do(func() { hook(r.ctx, i) })
	}
}

// hold queues a call of hook, unless that is nil. The mutex of the Hold must be held from
// the moment that is reported until hold returns, so that reports come in order.
func (r *reporter) hold(hook func(context.Context, HoldInfo), ctx context.Context, i HoldInfo) {
	if hook != nil {
		ctx = context.WithoutCancel(ctx)
		r.do(func() { hook(ctx, i) })
	}
}

// A requestReport collects what is to be reported of a request; nil if nobody listens.
type requestReport struct {
	r    *reporter
	ctx  context.Context
	info RequestInfo
}

// request returns the report of a request that begins now.
func (r *reporter) request(ctx context.Context, p purpose) *requestReport {
	if r.trace.Request == nil {
		return nil
	}
	return &requestReport{r, context.WithoutCancel(ctx), RequestInfo{Op: p.op, Path: p.path, Begin: time.Now()}}
}

// sent notes that the request is handed to the connection of s. It is called with
// s.c.mu held.
func (q *requestReport) sent(s *Session) {
	if q != nil {
		q.info.Sent, q.info.Session = time.Now(), s.id
	}
}

// ended queues the report.
func (q *requestReport) ended(err error) {
	if q != nil {
		q.info.End, q.info.Err = time.Now(), err
		q.r.do(func() { q.r.trace.Request(q.ctx, q.info) })
	}
}

// zkLog logs what go-zookeeper logs. At level Debug, because it tells of each connection
// that the client has dropped on purpose as of a failure.
func (r *reporter) zkLog(format string, args ...any) {
	if r.handler != nil {
		r.log(r.ctx, slog.LevelDebug, "go-zookeeper: "+fmt.Sprintf(format, args...))
	}
}

// dialFailed reports that a server has given no session.
func (r *reporter) dialFailed(i SessionInfo) {
	if r.complain(complaint{i.Server, final(i.Err)}) {
		r.log(r.ctx, slog.LevelInfo, "no session from zookeeper server", "server", i.Server, "err", i.Err)
	}
	r.session(r.trace.DialFailed, i)
}

// A complaint is what is logged of a server at most once a minute, however it is
// worded: that it gave no session, or that it will not give one until somebody changes
// something.
type complaint struct {
	server string
	final  bool
}

// complain reports whether it is time to log a complaint, and notes that it is logged.
func (r *reporter) complain(of complaint) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, ok := r.lastLogged[of]; ok && time.Since(last) < time.Minute {
		return false
	}
	r.lastLogged[of] = time.Now()
	return true
}

// waiting reports that there is no first session yet. Without a logger it goes to the
// program's default one.
func (r *reporter) waiting(why error) {
	const msg = "no zookeeper session yet"
	if r.handler == nil {
		slog.WarnContext(r.ctx, msg, "err", why)
		return
	}
	r.log(r.ctx, slog.LevelWarn, msg, "err", why)
}

// unfollowed reports that the ensemble's list of servers cannot be followed.
func (r *reporter) unfollowed(err error) {
	r.log(r.ctx, slog.LevelWarn, "zookeeper servers not followed", "err", err)
}

// connected reports that a server has opened or resumed a session. What was complained of
// before is over, so the next complaint is logged at once.
func (r *reporter) connected(i SessionInfo) {
	r.mu.Lock()
	clear(r.lastLogged)
	r.mu.Unlock()
	r.log(r.ctx, slog.LevelInfo, "zookeeper connected", "server", i.Server, "session", i.ID, "timeout", i.Timeout)
	r.session(r.trace.Connected, i)
}

// suspended reports that the connection is lost, and the session may live on.
func (r *reporter) suspended(i SessionInfo) {
	r.log(r.ctx, slog.LevelWarn, "zookeeper connection lost", "server", i.Server, "session", i.ID)
	r.session(r.trace.SuspendBegin, i)
}

// expired reports that a session is over that had been established.
func (r *reporter) expired(i SessionInfo) {
	r.log(r.ctx, slog.LevelWarn, "zookeeper session lost", "server", i.Server, "session", i.ID, "err", i.Err)
	r.session(r.trace.Expired, i)
}

// asked reports that h is asked for. It is called before anything else can happen to h, so
// without h.mu.
func (r *reporter) asked(h *Hold) {
	if !r.active {
		return
	}
	h.info = &HoldInfo{ID: h.id, Op: h.op, Path: h.path, Asked: time.Now()}
	r.hold(r.trace.WaitBegin, h.ctx, *h.info)
}

// holds counts the holds of the program, of all clients, for their IDs: a program may give
// several clients the same Trace.
var holds atomic.Uint64

// acquired reports that h is held. It is called with h.mu held.
func (r *reporter) acquired(h *Hold) {
	if !r.active {
		return
	}
	i := h.info
	i.Acquired, i.Token, i.Session = time.Now(), h.token, h.session.id
	r.log(h.ctx, slog.LevelDebug, "zookeeper hold acquired", "op", i.Op, "path", i.Path, "hold", i.ID, "token", i.Token, "session", i.Session)
	r.hold(r.trace.WaitEnd, h.ctx, *i)
	r.hold(r.trace.HoldBegin, h.ctx, *i)
}

// ended reports that h is not held any longer, or will not be. What was not counted,
// because the client was closed already, has no begin, and so has no end. It is called
// with h.mu held.
func (r *reporter) ended(h *Hold, cause error) {
	if !r.active || !h.counted {
		return
	}
	i := h.info
	i.Ended, i.Err = time.Now(), cause
	switch {
	case i.Acquired.IsZero():
		r.hold(r.trace.WaitEnd, h.ctx, *i)
		return
	case cause != ErrReleased:
		r.log(h.ctx, slog.LevelWarn, "zookeeper hold lost", "op", i.Op, "path", i.Path, "hold", i.ID, "session", i.Session, "err", cause)
	}
	r.hold(r.trace.HoldEnd, h.ctx, *i)
}

// gone reports that nothing is left of h. It is called with h.mu held.
func (r *reporter) gone(h *Hold) {
	if !r.active || !h.counted {
		return
	}
	i := h.info
	i.Done = time.Now()
	r.log(h.ctx, slog.LevelDebug, "zookeeper hold done", "op", i.Op, "path", i.Path, "hold", i.ID, "err", i.Err)
	r.hold(r.trace.HoldDone, h.ctx, *i)
}

// notRemoved reports that the znode of h stays.
func (r *reporter) notRemoved(h *Hold, err error) {
	r.log(h.ctx, slog.LevelWarn, "zookeeper znode left behind until the session ends", "op", h.op, "path", h.path, "hold", h.id, "err", err)
}
