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

// A reporter calls the functions of a Trace and a log handler. They are the program's:
// they may block, or call the client. So they are called on a goroutine of the reporter's
// own, with no lock held. What happens meanwhile waits in an inbox that has no bound,
// because to drop a report would falsify counters, and to wait would hold up the session.
type reporter struct {
	trace   Trace
	handler slog.Handler    // nil: discard
	ctx     context.Context // for what belongs to no operation
	active  bool            // there is something to call

	inbox *inbox.Inbox[func()]
	done  chan struct{} // closed when run has ended

	// Owned by run. They are fields because a function of the program may end the
	// goroutine of run, and the next one goes on with what is left.
	batch  []func() // taken out of the inbox, and not called yet
	closed bool     // no more will come

	mu         sync.Mutex
	runner     string                  // the goroutine of run
	lastLogged map[complaint]time.Time // since a session was last established or resumed
}

func newReporter(ctx context.Context, opts *Options) *reporter {
	r := &reporter{
		ctx:    context.WithoutCancel(ctx),
		active: opts.Logger != nil || opts.Trace != nil,
		inbox:  inbox.New[func()](),
		done:   make(chan struct{}),

		lastLogged: make(map[complaint]time.Time),
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

// run calls what is in the inbox, in order, until the reporter is closed and all has been
// called.
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
		for len(r.batch) > 0 {
			f := r.batch[0]
			r.batch[0] = nil
			r.batch = r.batch[1:]
			f()
		}
		if r.closed {
			over = true
			return
		}
		<-r.inbox.Ready()
		var err error
		r.batch, err = r.inbox.Take()
		r.closed = err != nil
	}
}

// do queues f behind all that was queued before. After close it does nothing.
func (r *reporter) do(f func()) { _ = r.inbox.Put(f) }

// close lets run end when all has been reported.
func (r *reporter) close() { r.inbox.Close(ErrClosed) }

// wait waits until all has been reported. A function of the program may close the client
// while it is called by run, which would then wait for itself: for it wait returns at once.
func (r *reporter) wait() {
	r.mu.Lock()
	own := r.runner == goroutine()
	r.mu.Unlock()
	if !own {
		<-r.done
	}
}

// goroutine returns the number of the calling goroutine. There is no better way to learn
// that: Close has no context by which a call from a function of the program could be
// told from others.
func goroutine() string {
	var buf [64]byte
	stack := bytes.TrimPrefix(buf[:runtime.Stack(buf[:], false)], []byte("goroutine "))
	n, _, _ := bytes.Cut(stack, []byte(" "))
	return string(n)
}
