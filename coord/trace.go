package coord

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"time"
)

// A Trace is a set of functions to run at certain moments of a [Client], in the
// manner of net/http/httptrace. Any of them may be nil. They are called one at a
// time, in order, on a goroutine of the client's that does nothing else: one
// that blocks holds up later ones, and [Client.Close], but no lock.
type Trace struct {
	// DialFailed is called when a server could not be reached or did not give
	// us a session.
	DialFailed func(server string, err error)
	// Connected is called when server has opened or resumed a session, which it
	// keeps for timeout without hearing from us.
	Connected func(server string, session int64, timeout time.Duration)
	// Suspended is called when the connection to server is lost, while the
	// session may live on.
	Suspended func(server string, session int64)
	// Expired is called when a session is over, with everything held in it.
	Expired func(session int64, err error)
	// Acquired, Lost and Done are called when the moments of the same names
	// come for a [Hold]. Op and path are those of its [Error].
	Acquired func(op, path string, token Token)
	Lost     func(op, path string, err error)
	Done     func(op, path string, err error)
}

// A reporter runs trace functions and log handlers, which are the program's and
// may block, away from the goroutines that must not.
type reporter struct {
	trace   Trace
	handler slog.Handler // nil: discard

	mu     sync.Mutex
	queue  []func()
	closed bool
	told   map[complaint]time.Time // when last; since a session was last established or resumed
	wake   chan struct{}
	done   chan struct{}
}

// A complaint is what the log hears of a server, whatever the words, once a
// minute at the most.
type complaint struct {
	server string
	final  bool
}

func newReporter(opts *Options) *reporter {
	r := &reporter{told: make(map[complaint]time.Time), wake: make(chan struct{}, 1), done: make(chan struct{})}
	if opts.Logger != nil {
		r.handler = opts.Logger.Handler()
	}
	if opts.Trace != nil {
		r.trace = *opts.Trace
	}
	go r.run()
	return r
}

func (r *reporter) run() {
	over := false
	defer func() {
		if over {
			close(r.done)
		} else { // the program's function has ended the goroutine
			go r.run()
		}
	}()
	for !over {
		r.mu.Lock()
		var f func()
		if len(r.queue) > 0 {
			f, r.queue[0] = r.queue[0], nil
			r.queue = r.queue[1:]
		}
		closed := r.closed
		r.mu.Unlock()
		switch {
		case f != nil:
			f()
		case closed:
			over = true
		default:
			<-r.wake
		}
	}
}

// do has f called after all that was given to do before.
func (r *reporter) do(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.queue = append(r.queue, f)
	r.signal()
}

func (r *reporter) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// close waits until all has been reported.
func (r *reporter) close() {
	r.mu.Lock()
	r.closed = true
	r.signal()
	r.mu.Unlock()
	<-r.done
}

func (r *reporter) log(level slog.Level, msg string, args ...any) {
	if r.handler == nil {
		return
	}
	var pcs [1]uintptr
	runtime.Callers(2, pcs[:])
	rec := slog.NewRecord(time.Now(), level, msg, pcs[0])
	rec.Add(args...)
	r.do(func() {
		ctx := context.Background()
		if r.handler.Enabled(ctx, level) {
			// A handler that fails has nobody to tell: as in log/slog itself.
			_ = r.handler.Handle(ctx, rec)
		}
	})
}

func (r *reporter) chatter(msg string) {
	r.log(slog.LevelDebug, msg)
}

func (r *reporter) dialFailed(server string, err error) {
	if r.complain(complaint{server, final(err)}) {
		r.log(slog.LevelInfo, "no session from server", "server", server, "err", err)
	}
	if f := r.trace.DialFailed; f != nil {
		r.do(func() { f(server, err) })
	}
}

// complain reports whether it is time to say so.
func (r *reporter) complain(of complaint) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, ok := r.told[of]; ok && time.Since(last) < time.Minute {
		return false
	}
	r.told[of] = time.Now()
	return true
}

func (r *reporter) connected(server string, session int64, timeout time.Duration) {
	r.mu.Lock()
	clear(r.told)
	r.mu.Unlock()
	r.log(slog.LevelInfo, "connected", "server", server, "session", session, "timeout", timeout)
	if f := r.trace.Connected; f != nil {
		r.do(func() { f(server, session, timeout) })
	}
}

func (r *reporter) suspended(server string, session int64) {
	r.log(slog.LevelWarn, "connection lost", "server", server, "session", session)
	if f := r.trace.Suspended; f != nil {
		r.do(func() { f(server, session) })
	}
}

func (r *reporter) expired(session int64, err error) {
	r.log(slog.LevelWarn, "session over", "session", session, "err", err)
	if f := r.trace.Expired; f != nil {
		r.do(func() { f(session, err) })
	}
}

func (r *reporter) acquired(op, path string, token Token) {
	r.log(slog.LevelDebug, "acquired", "op", op, "path", path, "token", token)
	if f := r.trace.Acquired; f != nil {
		r.do(func() { f(op, path, token) })
	}
}

func (r *reporter) hold(f func(op, path string, err error), level slog.Level, what, op, path string, err error) {
	r.log(level, what, "op", op, "path", path, "err", err)
	if f != nil {
		r.do(func() { f(op, path, err) })
	}
}
