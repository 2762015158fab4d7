package coord

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A reporter calls trace functions and log handlers, which are the program's and
// may block, on a goroutine of its own.
type reporter struct {
	trace   Trace
	handler slog.Handler    // nil: discard
	ctx     context.Context // for what belongs to no operation
	active  bool            // there is something to call

	mu     sync.Mutex
	queue  []func()
	closed bool
	runner string                  // the goroutine of run
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

func newReporter(ctx context.Context, opts *Options) *reporter {
	r := &reporter{
		ctx:    context.WithoutCancel(ctx),
		active: opts.Logger != nil || opts.Trace != nil,
		told:   make(map[complaint]time.Time),
		wake:   make(chan struct{}, 1),
		done:   make(chan struct{}),
	}
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
	r.mu.Lock()
	r.runner = goroutine()
	r.mu.Unlock()
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

// do queues f behind all that was given to do before.
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

// close lets run end when all has been reported.
func (r *reporter) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.signal()
}

// wait waits until all has been reported. A function of the program that closes the
// client is itself a report: for it, wait returns at once.
func (r *reporter) wait() {
	r.mu.Lock()
	own := r.runner == goroutine()
	r.mu.Unlock()
	if !own {
		<-r.done
	}
}

// goroutine returns the number of the calling goroutine. There is no better way to
// learn whether a function is called by one that is waiting for it.
func goroutine() string {
	var buf [64]byte
	stack := bytes.TrimPrefix(buf[:runtime.Stack(buf[:], false)], []byte("goroutine "))
	n, _, _ := bytes.Cut(stack, []byte(" "))
	return string(n)
}

// log queues a record. It is called by the methods below, whose callers it names.
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
			// A handler that fails has nobody to tell: as in log/slog itself.
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

// hold queues a call of hook, unless that is nil. Who holds h.mu from the moment
// itself until hold returns has its hooks called in order.
func (r *reporter) hold(hook func(context.Context, HoldInfo), ctx context.Context, i HoldInfo) {
	if hook != nil {
		ctx = context.WithoutCancel(ctx)
		r.do(func() { hook(ctx, i) })
	}
}

// chatter passes on what go-zookeeper says of itself.
func (r *reporter) chatter(format string, args ...any) {
	if r.handler != nil {
		r.log(r.ctx, slog.LevelDebug, "go-zookeeper: "+fmt.Sprintf(format, args...))
	}
}

func (r *reporter) dialFailed(i SessionInfo) {
	if r.complain(complaint{i.Server, final(i.Err)}) {
		r.log(r.ctx, slog.LevelInfo, "no session from zookeeper server", "server", i.Server, "err", i.Err)
	}
	r.session(r.trace.DialFailed, i)
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

func (r *reporter) connected(i SessionInfo) {
	r.mu.Lock()
	clear(r.told)
	r.mu.Unlock()
	r.log(r.ctx, slog.LevelInfo, "zookeeper connected", "server", i.Server, "session", sessionID(i.ID), "timeout", i.Timeout)
	r.session(r.trace.Connected, i)
}

func (r *reporter) suspended(i SessionInfo) {
	r.log(r.ctx, slog.LevelWarn, "zookeeper connection lost", "server", i.Server, "session", sessionID(i.ID))
	r.session(r.trace.SuspendBegin, i)
}

func (r *reporter) expired(i SessionInfo) {
	r.log(r.ctx, slog.LevelWarn, "zookeeper session lost", "server", i.Server, "session", sessionID(i.ID), "err", i.Err)
	r.session(r.trace.Expired, i)
}

// asked reports that h is asked for. It is called before anything else can happen to h.
func (r *reporter) asked(h *Hold) {
	if !r.active {
		return
	}
	h.info = HoldInfo{ID: holds.Add(1), Op: h.op, Path: h.path, Asked: time.Now()}
	r.hold(r.trace.WaitBegin, h.ctx, h.info)
}

// holds counts the holds of the program, for their IDs.
var holds atomic.Uint64

// acquired reports that h is held. It is called with h.mu held.
func (r *reporter) acquired(h *Hold) {
	if !r.active {
		return
	}
	i := &h.info
	i.Acquired, i.Token, i.Session = time.Now(), h.token, h.session.id
	r.log(h.ctx, slog.LevelDebug, "zookeeper hold acquired", "op", i.Op, "path", i.Path, "hold", i.ID, "token", i.Token, "session", sessionID(i.Session))
	r.hold(r.trace.WaitEnd, h.ctx, *i)
	r.hold(r.trace.HoldBegin, h.ctx, *i)
}

// ended reports that h is not held any longer, or will not be. It is called with
// h.mu held.
func (r *reporter) ended(h *Hold, cause error) {
	if !r.active || !h.counted {
		return
	}
	i := &h.info
	i.Ended, i.Err = time.Now(), cause
	switch {
	case i.Acquired.IsZero():
		r.hold(r.trace.WaitEnd, h.ctx, *i)
		return
	case cause != ErrReleased:
		r.log(h.ctx, slog.LevelWarn, "zookeeper hold lost", "op", i.Op, "path", i.Path, "hold", i.ID, "session", sessionID(i.Session), "err", cause)
	}
	r.hold(r.trace.HoldEnd, h.ctx, *i)
}

// gone reports that nothing is left of h. It is called with h.mu held.
func (r *reporter) gone(h *Hold) {
	if !r.active || !h.counted {
		return
	}
	i := &h.info
	i.Done = time.Now()
	r.log(h.ctx, slog.LevelDebug, "zookeeper hold done", "op", i.Op, "path", i.Path, "hold", i.ID, "err", i.Err)
	r.hold(r.trace.Done, h.ctx, *i)
}

// notRemoved reports that the znode of h stays.
func (r *reporter) notRemoved(h *Hold, err error) {
	r.log(h.ctx, slog.LevelWarn, "zookeeper znode left behind until the session ends", "op", h.op, "path", h.path, "hold", h.info.ID, "err", err)
}

// A sessionID is logged as it is in ZooKeeper's logs.
type sessionID int64

// LogValue implements [slog.LogValuer].
func (id sessionID) LogValue() slog.Value { return slog.StringValue(fmt.Sprintf("%#x", uint64(id))) }
