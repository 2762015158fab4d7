package coord

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"sync"
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
	if r.active {
		go r.run()
	} else {
		r.closed = true
		close(r.done)
	}
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
