package coord

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/zkcoord/zkcoord/internal/inbox"
)

// A reporter calls trace functions and log handlers, which are the program's and
// may block, on a goroutine of its own.
type reporter struct {
	trace   Trace
	handler slog.Handler    // nil: discard
	ctx     context.Context // for what belongs to no operation
	active  bool            // there is something to call

	inbox *inbox.Inbox[func()]
	done  chan struct{} // closed when run has ended

	// Owned by run.
	taken  []func() // out of the inbox, and not called yet
	closed bool     // no more will come

	mu     sync.Mutex
	runner string                  // the goroutine of run
	told   map[complaint]time.Time // when last; since a session was last established or resumed
}

func newReporter(ctx context.Context, opts *Options) *reporter {
	r := &reporter{
		ctx:    context.WithoutCancel(ctx),
		active: opts.Logger != nil || opts.Trace != nil,
		told:   make(map[complaint]time.Time),
		inbox:  inbox.New[func()](),
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
		r.close()
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
	for {
		for len(r.taken) > 0 {
			f := r.taken[0]
			r.taken[0] = nil
			r.taken = r.taken[1:]
			f()
		}
		if r.closed {
			over = true
			return
		}
		<-r.inbox.Ready()
		var err error
		r.taken, err = r.inbox.Take()
		r.closed = err != nil
	}
}

// do queues f behind all that was given to do before.
func (r *reporter) do(f func()) { _ = r.inbox.Put(f) }

// close lets run end when all has been reported.
func (r *reporter) close() { r.inbox.Close(ErrClosed) }

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
