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

	queue *inbox.Inbox[func()]
	batch []func() // taken from the queue; owned by run
	done  chan struct{}

	mu     sync.Mutex
	runner string                  // the goroutine of run
	told   map[complaint]time.Time // when last; since a session was last established or resumed
}

func newReporter(ctx context.Context, opts *Options) *reporter {
	r := &reporter{
		ctx:    context.WithoutCancel(ctx),
		active: opts.Logger != nil || opts.Trace != nil,
		queue:  inbox.New[func()](),
		done:   make(chan struct{}),
		told:   make(map[complaint]time.Time),
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
		r.queue.Close(ErrClosed)
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
		var closed error
		if len(r.batch) == 0 {
			r.batch, closed = r.queue.Take()
		}
		switch {
		case len(r.batch) > 0:
			f := r.batch[0]
			r.batch[0], r.batch = nil, r.batch[1:]
			f()
		case closed != nil:
			over = true
		default:
			<-r.queue.Ready()
		}
	}
}

// do queues f behind all that was given to do before. After close it does nothing.
func (r *reporter) do(f func()) { _ = r.queue.Put(f) }

// close lets run end when all has been reported.
func (r *reporter) close() { r.queue.Close(ErrClosed) }

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
