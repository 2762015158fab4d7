package coord

import (
	"context"
	"sync"
	"time"
)

// A Hold is something held in the ensemble, such as a lock or a membership. It exists
// from the moment it is asked for, before it is held, until its znode is gone.
//
// Its channels carry no values: each is closed at most once. Its methods are safe for
// concurrent use and may be called at any time. A Hold is used once: when it is over,
// acquire again, which returns another.
type Hold struct {
	c        *Client
	id       uint64
	op, path string
	ctx      context.Context // of the operation, for its values
	counted  bool            // the client has it among its holds
	joint    *joint          // of a Hold with parts; else nil
	acquired chan struct{}
	release  chan struct{}     // closed by Release
	work     context.Context   // ends, with Err as cause, when err is set
	stop     func(cause error) // ends work

	// Guarded by mu. Once err is set, session and token stay as they are: a Hold that has
	// ended is not acquired any more.
	mu         sync.Mutex
	lost, done chan struct{} // see channel
	session    *Session      // in which it is held; nil until acquired
	node       string        // the full path of the znode that its Guard checks; "" if there is none
	token      Token
	err        error     // the one cause; set once
	notRemoved error     // why the znode could not be removed
	released   bool      // release is closed
	whole      *Hold     // of which it is a part; nil if of none
	info       *HoldInfo // as reported, nil if nobody listens; guarded by mu once others know h
}

// ID returns a number that tells the holds of a program apart, also in a [HoldInfo] and in
// the log.
func (h *Hold) ID() uint64 { return h.id }

// Acquired returns a channel that is closed when h is held.
func (h *Hold) Acquired() <-chan struct{} { return h.acquired }

// Lost returns a channel that is closed when h was held, was not released, and can no
// longer be relied on. Stop the work then.
//
// If the connection breaks, or the ensemble falls apart, Lost is closed before the
// ensemble can give what h held to anybody else. Three cases are out of reach: a process
// that is not running, because it is stopped or its machine sleeps; somebody who deletes
// the znode or closes the session by hand; and an ensemble whose session timeouts are
// lowered, see [Options]. Then the next holder may be the first to know. Use
// [Hold.Token] or [Hold.Guard] to reject what the former one still writes.
//
// That the machine has slept is noticed by the clock: on Linux by one that counts sleep,
// elsewhere by the wall clock. So elsewhere setting the clock forward ends what is held.
//
// A Hold that is released first is never lost. Done closes soon after Lost: once h is
// acquired, select on Lost and not on Done.
func (h *Hold) Lost() <-chan struct{} { return h.channel(&h.lost) }

// Done returns a channel that is closed when h is over: the client does nothing more
// about it, and its znode is gone, or goes when the ensemble ends the session.
func (h *Hold) Done() <-chan struct{} { return h.channel(&h.done) }

// closed is what a channel is that is closed before anybody asks for it.
var closed = func() chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}()

// channel returns ch of h, which is made when it is first asked for: there may be many
// holds, of which nobody asks for it while they wait.
func (h *Hold) channel(ch *chan struct{}) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if *ch == nil {
		*ch = make(chan struct{})
	}
	return *ch
}

// shut closes ch of h. It is called with h.mu held.
func (h *Hold) shut(ch *chan struct{}) {
	if *ch == nil {
		*ch = closed
		return
	}
	close(*ch)
}

// Err returns nil while h is being acquired or is held, and from then on the [*Error] that
// says why it no longer is. Its Op is "release" if h was released, "lost" if it was held
// and is lost, and otherwise what was asked for, such as "acquire". Its cause is
// [ErrReleased], [ErrExpired], [ErrDeleted], [ErrRevoked], [ErrLocked], [ErrForeign],
// [ErrExhausted], [ErrClosed], the cause of the ctx that ended before h was acquired, or the ensemble's
// refusal. If h holds several things, the path is that of the one which has ended it.
//
// Servers that refuse the client do not end h, since another may serve it, or the same
// one later. But if h ends meanwhile without having been held, Err has what they said.
//
// Err itself looks at the clock. So after the program has been stopped for a while, a
// loss is noticed by this call at the latest.
func (h *Hold) Err() error {
	h.mu.Lock()
	s, err := h.session, h.err
	h.mu.Unlock()
	if err == nil && s != nil {
		// Not under h.mu, which the end of a session takes for each of its holds.
		if over := s.check(); over != nil {
			err = h.end(over)
		}
	}
	return err
}

// Wait waits until h is held or over, and returns Err. Nil means held.
func (h *Hold) Wait() error {
	select {
	case <-h.acquired:
	case <-h.work.Done():
	}
	return h.Err()
}

// Until returns the time until which h can be relied on even if nothing more is heard
// from the ensemble. Every transaction of the session that is answered, the program's or
// the client's own, extends it. It is zero until h is acquired.
func (h *Hold) Until() time.Time {
	h.mu.Lock()
	s := h.session
	h.mu.Unlock()
	if s == nil {
		return time.Time{}
	}
	return s.until()
}

// Context returns a copy of parent that is also canceled when h is lost or released, or
// ends without having been held; the cause is then Err. The copy is freed when parent or
// h ends: call Context once for each piece of work.
func (h *Hold) Context(parent context.Context) context.Context {
	for _, path := range h.paths() {
		outer, _ := parent.Value(contextKey{h.c, path}).(*enclosing)
		parent = context.WithValue(parent, contextKey{h.c, path}, &enclosing{h, outer})
	}
	ctx, cancel := context.WithCancelCause(parent)
	if h.work.Err() != nil { // AfterFunc would cancel it only later, on a goroutine
		cancel(context.Cause(h.work))
		return ctx
	}
	stop := context.AfterFunc(h.work, func() { cancel(context.Cause(h.work)) })
	context.AfterFunc(ctx, func() { stop() }) // so that h forgets it when parent ends
	return ctx
}

// A contextKey is the key under which a context of a Hold has what it comes from. It is
// made of what identifies a lock, so that two objects for one lock know of each other.
type contextKey struct {
	c    *Client
	path string
}

// enclosing are the Holds on one path that a context comes from, the innermost first.
// The innermost may be over, and one around it not: see [Kit.Nested].
type enclosing struct {
	h     *Hold
	outer *enclosing
}

// Release gives h up, held or not, and waits until its znode is gone. If ctx ends first,
// Release returns ctx's cause; the release goes on in the background. If the ensemble
// refuses to remove the znode, which then stays until the session ends, Release returns
// the refusal. Otherwise it returns nil, even if h was over already. It may be called at
// any time, and more than once.
func (h *Hold) Release(ctx context.Context) error {
	h.giveUp(ErrReleased)
	over := h.Done()
	select {
	case <-over: // goes before the end of ctx
	default:
		select {
		case <-over:
		case <-ctx.Done():
			return &Error{"release", h.path, context.Cause(ctx)}
		}
	}
	return h.leftover()
}

// leftover returns why a znode of h could not be removed.
func (h *Hold) leftover() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err, ok := h.notRemoved.(*Error); ok { // of a part
		return err
	}
	if h.notRemoved != nil {
		return &Error{"release", h.path, h.notRemoved}
	}
	return nil
}

// end sets the one cause, if there is none yet, and returns it. If h was held, and the
// cause is not its release, h is lost by this.
func (h *Hold) end(cause error) error {
	h.mu.Lock()
	whole := h.endLocked(h.path, cause)
	err := h.err
	h.mu.Unlock()
	whole.partEnded(err)
	return err
}

// endLocked does the work of end, for a cause that concerns path, but for what h is a part
// of. It returns that, nil if there is nothing to tell it. It is called with h.mu held.
func (h *Hold) endLocked(path string, cause error) (whole *Hold) {
	if h.err != nil {
		return nil
	}
	if cause == nil {
		cause = errNoCause
	}
	op := h.op
	switch {
	case cause == ErrReleased:
		op = "release"
	case h.session != nil:
		op = "lost"
	}
	if h.session == nil {
		cause = h.c.withRefusals(cause)
	}
	h.err = &Error{op, path, cause}
	h.stop(h.err) // before Lost, so that the recipe knows what its owner knows
	if h.session != nil && cause != ErrReleased {
		h.shut(&h.lost)
	}
	h.c.report.ended(h, cause)
	return h.whole
}
